import FoundationEssentials
import Perdure
import PerdureModel
import Testing

/// Tests statements of DEVIATIONS.md that no other suite tests.
@Suite("Deviations from Core Data")
struct DeviationTests {
  final class Word: ManagedObject {
    override class var entityDescription: EntityDescription {
      EntityDescription(
        "Word", properties: [.string("text"), .double("weight")],
        indexes: [.init(on: "weight")])
    }
    override class var _propertyNamesByKeyPath: [AnyKeyPath: String] { [\Word.text: "text"] }

    /// An accessor whose value differs from the stored value.
    var text: String {
      get { (_get(0) as String).uppercased() }
      set { _set(0, newValue) }
    }
    var weight: Double? {
      get { _get(1) }
      set { _set(1, newValue) }
    }
  }

  private func context() throws -> ManagedObjectContext {
    let container = PersistentContainer(
      name: "Words", model: try ManagedObjectModel([Word.entityDescription]), classes: [Word.self],
      description: .inMemory, factory: StoreKind.current.factory)
    try container.loadPersistentStores()
    return container.newContext()
  }

  private func texts(_ context: ManagedObjectContext, _ order: FetchOrder) throws -> [String] {
    let request = FetchRequest<Word>(sortDescriptors: [order])
    return try context.fetch(request).map { $0.value(forKey: "text") as? String ?? "-" }
  }

  @Test("In a class without macros, access by name returns the stored value and calls no accessor")
  func accessors() throws {
    let word = Word(context: try context())
    word.text = "low"
    #expect(word.text == "LOW")
    #expect(word.value(forKey: "text") as? String == "low")
    #expect(word.value(forKeyPath: "text") as? String == "low")
  }

  @Test("The next save reports changes of a removed object once, and a rollback discards them")
  func gone() throws {
    let context = try context()
    let (deleted, forgotten) = (Word(context: context), Word(context: context))
    deleted.text = "deleted"
    try context.save()
    context.delete(deleted)
    try context.save()
    deleted.text = "again"
    #expect(context.hasChanges && deleted.text == "DELETED")
    context.reset()
    #expect(!context.hasChanges)
    forgotten.weight = 1
    forgotten["weight"] = 2.0
    #expect(context.hasChanges)
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .objectNotFound && error?.details.map(\.property) == ["weight", "weight"])
    #expect(error?.objectIDs == [forgotten.objectID] && !context.hasChanges)
    try context.save()
    forgotten.weight = 3
    context.rollback()
    try context.save()
  }

  @Test("The length of text is its number of Swift characters")
  func length() throws {
    let context = try context()
    let word = Word(context: context)
    word.text = "e\u{301}👨‍👩‍👧"
    for _ in 0..<2 {
      let request = FetchRequest<Word>(predicate: try FetchPredicate(format: "length:(text) == 2"))
      #expect(try context.fetch(request) == [word])
      let same = FetchRequest<Word>(predicate: try FetchPredicate(format: "text.length == 2"))
      #expect(try context.fetch(same) == [word])
      try context.save()
    }
  }

  @Test("A comparison with a constant of another type is refused")
  func kinds() throws {
    let context = try context()
    let request = FetchRequest<Word>(predicate: try FetchPredicate(format: "text == 3"))
    let error = #expect(throws: FetchError.self) { try context.fetch(request) }
    #expect(error?.code == .typeMismatch)
  }

  @Test(
    "Text sorts by the code points of its decomposed form, before and after a save")
  func textOrder() throws {
    let context = try context()
    for text in ["f", "\u{E9}", "e", "a", "Z", "e\u{301}b", "zz"] { Word(context: context).text = text }
    let expected = ["Z", "a", "e", "\u{E9}", "e\u{301}b", "f", "zz"]
    #expect(try texts(context, FetchOrder("text")) == expected)
    try context.save()
    #expect(try texts(context, FetchOrder("text")) == expected)
  }

  @Test(
    "NaN sorts before all numbers and after absent values, with an index and without")
  func notANumber() throws {
    let context = try context()
    for (text, weight) in [("two", 2), ("nan", .nan), ("minus", -.infinity), ("none", nil)]
      as [(String, Double?)]
    {
      let word = Word(context: context)
      word.text = text
      word.weight = weight
    }
    let expected = ["none", "nan", "minus", "two"]
    #expect(try texts(context, FetchOrder("weight")) == expected)
    try context.save()
    #expect(try texts(context, FetchOrder("weight")) == expected)
    #expect(try texts(context, FetchOrder("weight", ascending: false)) == expected.reversed())
  }
}
