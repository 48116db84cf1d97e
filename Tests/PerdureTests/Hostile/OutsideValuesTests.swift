import Foundation
import Perdure
import PerdureModel
import Testing

@Suite("Values from outside that fit an attribute, and values that do not")
struct OutsideValuesTests {
  private func context() throws -> ManagedObjectContext {
    let model = try ManagedObjectModel([
      EntityDescription(
        "Thing",
        properties: [
          .date("moment"), .decimal("exact"), .double("real"),
          .toOne("whole", "Thing", inverse: "parts"), .toMany("parts", "Thing", inverse: "whole"),
        ])
    ])
    let container = PersistentContainer(name: "Things", model: model, classes: [], description: .inMemory)
    try container.loadPersistentStores()
    return container.newContext()
  }

  private func request(_ predicate: FetchPredicate) -> FetchRequest<ManagedObject> {
    FetchRequest<ManagedObject>(entityName: "Thing", predicate: predicate)
  }

  @Test("The description of an object with a date that is NaN shows the date")
  func notADate() throws {
    let thing = try context().insertNewObject(forEntityName: "Thing")
    thing["moment"] = Date(timeIntervalSinceReferenceDate: .nan)
    #expect("\(thing)".lowercased().contains("moment = ") && "\(thing)".lowercased().contains("nan"))
  }

  @Test(
    "After a decimal attribute is set to a Double by name, a fetch by the same Double finds the object",
    arguments: [9.99, 0x1p60, 0x1p63, 1e23])
  func foundByItself(_ number: Double) throws {
    let context = try context()
    let thing = context.insertNewObject(forEntityName: "Thing")
    try thing.setCheckedValue(number, forKey: "exact")
    #expect(try context.count(for: request(FetchPredicate(format: "exact == %@", number))) == 1)
  }

  @Test(
    "A Double attribute accepts a decimal that equals a Double exactly",
    arguments: ["9223372036854775808", "99999999999999991611392"])
  func exactDecimal(_ text: String) throws {
    let thing = try context().insertNewObject(forEntityName: "Thing")
    let number = try #require(Decimal(string: text))
    try thing.setCheckedValue(number, forKey: "real")
    #expect(thing["real"] as? Double == Double(text))
  }

  @Test("A printed predicate with a large Double is read back as an equal one", arguments: [0x1p63, 1e23])
  func printed(_ number: Double) throws {
    let predicate = try FetchPredicate(format: "exact == %@", number)
    #expect(try FetchPredicate(format: predicate.predicateFormat) == predicate)
  }

  @Test("An empty text, empty data or an empty dictionary is refused as the value of a to-many relationship")
  func emptyText() throws {
    let context = try context()
    let thing = context.insertNewObject(forEntityName: "Thing")
    let part = context.insertNewObject(forEntityName: "Thing")
    part["whole"] = thing
    for value in ["", Data(), [String: Int]()] as [Any] {
      #expect(throws: PerdureError.self) { try thing.setCheckedValue(value, forKey: "parts") }
      #expect(part["whole"] as? ManagedObject === thing)
    }
  }
}
