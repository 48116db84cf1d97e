import FoundationEssentials
import Perdure
import PerdureModel
import Testing

@Suite("Attributes of objects")
struct AttributeTests {
  @Test("A new object has its default values, and zero values for attributes without a default")
  func defaults() throws {
    let sample = Sample(context: try Staff.context())
    #expect(sample.flag)
    #expect(sample.small == -7)
    #expect(sample.middle == 70_000)
    #expect(sample.large == 5_000_000_000)
    #expect(sample.single == 0.5)
    #expect(sample.double == 1.25)
    #expect(sample.exact == Decimal(string: "3.14"))
    #expect(sample.text == "ä")
    #expect(sample.moment == Date(timeIntervalSinceReferenceDate: 60))
    #expect(sample.identifier.uuidString == "00000000-0000-0000-0000-000000000000")
    #expect(sample.bytes.isEmpty)
    #expect(sample.link == nil)
    #expect(sample.number == nil)
  }

  @Test("Values of every type are read back after a save, in this and in another context")
  func roundTrip() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let sample = Sample(context: context)
    let identifier = UUID()
    func check(_ sample: Sample) {
      #expect(!sample.flag)
      #expect(sample.small == .min)
      #expect(sample.middle == .min)
      #expect(sample.large == .min)
      #expect(sample.single == -1.5)
      #expect(sample.double == .infinity)
      #expect(sample.exact == Decimal(string: "-0.001"))
      #expect(sample.text == "long text that does not fit in a word, with ü and 日本")
      #expect(sample.moment == Date(timeIntervalSinceReferenceDate: -1.5))
      #expect(sample.identifier == identifier)
      #expect(sample.bytes == Data([0, 255, 0]))
      #expect(sample.link == URL(string: "https://example.org/a?b=c"))
      #expect(sample.number == 42)
    }
    sample.flag = false
    sample.small = .min
    sample.middle = .min
    sample.large = .min
    sample.single = -1.5
    sample.double = .infinity
    sample.exact = try #require(Decimal(string: "-0.001"))
    sample.text = "long text that does not fit in a word, with ü and 日本"
    sample.moment = Date(timeIntervalSinceReferenceDate: -1.5)
    sample.identifier = identifier
    sample.bytes = Data([0, 255, 0])
    sample.link = URL(string: "https://example.org/a?b=c")
    sample.number = 42
    check(sample)
    try context.save()
    check(sample)
    check(try container.newContext().same(sample))
  }

  @Test("A value can be changed and set to nil")
  func change() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let sample = Sample(context: context)
    sample.number = 1
    sample.text = "one"
    try context.save()
    sample.number = nil
    sample.text = "two"
    #expect(sample.number == nil)
    #expect(sample.text == "two")
    #expect(sample.large == 5_000_000_000)
    try context.save()
    let copy = try container.newContext().same(sample)
    #expect(copy.number == nil)
    #expect(copy.text == "two")
    #expect(copy.large == 5_000_000_000)
  }

  @Test("Access by name and typed access use the same properties")
  func keyValueCoding() throws {
    let context = try Staff.context()
    let sample = Sample(context: context)
    sample["text"] = "by name"
    sample.setValue(12, forKey: "small")
    sample["number"] = Int64(5)
    sample["exact"] = Decimal(2)
    #expect(sample.text == "by name")
    #expect(sample.small == 12)
    #expect(sample.number == 5)
    #expect(sample.value(forKey: "small") as? Int16 == 12)
    #expect(sample["middle"] as? Int32 == 70_000)
    #expect(sample["single"] as? Float == 0.5)
    #expect(sample["exact"] as? Decimal == 2)
    sample["number"] = nil
    #expect(sample["number"] == nil)
    try context.save()
    #expect(sample["text"] as? String == "by name")
  }

  @Test("Access by name and by key path follows relationships")
  func keyPaths() throws {
    let context = try Staff.context()
    let (company, first, second) = (context.company("C"), context.worker("A"), context.worker("B"))
    first["company"] = company
    company["workers"] = Set([first, second])
    #expect(second.company === company)
    #expect(second.value(forKeyPath: "company.name") as? String == "C")
    #expect(company.value(forKeyPath: "workers.@count") as? Int == 2)
    #expect((company.value(forKeyPath: "workers.name") as? [String])?.sorted() == ["A", "B"])
    #expect(company["workers"] as? Set<ManagedObject> == [first, second])
    #expect(company["workerCount"] as? Int == 2)
    first["company"] = nil
    #expect(first.value(forKey: "company") == nil)
    #expect(company.workers.count == 1)
  }

  @Test("A derived count is correct after linking and deleting, before and after a save")
  func derivedCount() throws {
    let context = try Staff.context()
    let (company, first, second) = (context.company("C"), context.worker("A"), context.worker("B"))
    #expect(company.workerCount == 0)
    first.company = company
    second.company = company
    #expect(company.workerCount == 2)
    try context.save()
    #expect(company.workerCount == 2)
    context.delete(first)
    context.processPendingChanges()
    #expect(company.workerCount == 1)
    try context.save()
    #expect(company.workerCount == 1)
  }

  @Test("An object of an entity without a class is accessed by name")
  func withoutClasses() throws {
    let container = PersistentContainer(
      name: "Staff", model: try .init(Staff.entities), classes: [], description: .inMemory,
      factory: StoreKind.naive.factory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let worker = context.insertNewObject(forEntityName: "Employee")
    worker["name"] = "Ada"
    try context.save()
    #expect(type(of: worker) == ManagedObject.self)
    #expect(worker["name"] as? String == "Ada")
    #expect(worker.entity.name == "Employee")
  }
}
