import Foundation
import Perdure
import PerdureTestSupport
import Testing

@Suite("Error texts with long values")
struct LongValueTests {
  private static let long = String(repeating: "long ", count: 20_000)

  private let container: PersistentContainer

  init() throws {
    container = try Sandbox(Customer.self, Bill.self, Region.self, Town.self, Mayor.self).container
  }

  /// The text of the error that a body throws, and its text in Foundation's form.
  private func texts(_ body: () throws -> Void) -> [String] {
    do {
      try body()
      return []
    } catch {
      return ["\(error)", "\(error.localizedDescription)"]
    }
  }

  private func expectShort(_ place: Comment, _ body: () throws -> Void) {
    let texts = texts(body)
    #expect(!texts.isEmpty && texts.allSatisfy { $0.count < 1_000 }, place)
  }

  @Test("A conflict about long texts has the whole values, and shows only their beginnings")
  func conflict() throws {
    let (mine, theirs) = (container.newContext(), container.newContext())
    let bill = Bill(context: theirs)
    bill.text = "base " + Self.long
    try theirs.save()
    mine.refreshAllObjects()
    let copy = try #require(try mine.existingObject(with: bill.objectID) as? Bill)
    copy.text = "local " + Self.long
    bill.text = "store " + Self.long
    try theirs.save()
    let error = #expect(throws: PerdureError.self) { try mine.save() }
    let versions = try #require(error?.conflicts.first?.properties.first)
    #expect(versions.local == .string("local " + Self.long))
    #expect(versions.description.contains("\"local long") && versions.description.contains("\"base long"))
    expectShort("conflict") { try mine.save() }
  }

  @Test("An error about a long key is short")
  func keys() throws {
    let context = container.newContext()
    let bill = Bill(context: context)
    bill.customer = Customer(context: context)
    let key = String(repeating: "k", count: 100_000)
    expectShort("setCheckedValue") { try bill.setCheckedValue(1, forKey: key) }
    expectShort("checkedValue") { _ = try bill.checkedValue(forKey: key) }
    expectShort("setCheckedValues") { try bill.setCheckedValues([key: 1]) }
    expectShort("checkedValue(forKeyPath:)") { _ = try bill.checkedValue(forKeyPath: key) }
    expectShort("path") { _ = try bill.checkedValue(forKeyPath: "customer.\(key)") }
    expectShort("operator") { _ = try bill.checkedValue(forKeyPath: "customer.@\(key).a") }
    for format in ["%K == 1", "customer.%K == 1", "SELF[%K] == 1", "ANY customer.bills.%K == 1"] {
      expectShort("\(format)") {
        let predicate = try FetchPredicate(format: format, argumentArray: [key])
        _ = try context.fetch(FetchRequest<Bill>(predicate: predicate))
      }
    }
    expectShort("order") { _ = try context.fetch(FetchRequest<Bill>(sortDescriptors: [FetchOrder(key)])) }
    expectShort("prefetch") {
      var request = FetchRequest<Bill>()
      request.relationshipKeyPathsForPrefetching = [key]
      _ = try context.fetch(request)
    }
    expectShort("entity") { _ = try context.fetch(FetchRequest<ManagedObject>(entityName: key)) }
  }

  @Test("An error about a long value or name in a format string is short")
  func formats() throws {
    let context = container.newContext()
    let long = Self.long
    let formats = [
      "text == '\(long)' AND", "text MATCHES '[\(long)'", "CAST(text, '\(long)') == 1",
      "text + '\(long)' > 1",
      "customer == '\(long)'", "customer == %@", "FUNCTION(text, '\(long)') == 1", "\(long) == 1",
      "text == $\(String(repeating: "v", count: 100_000))",
    ]
    for format in formats {
      expectShort("\(format.prefix(30))") {
        let predicate = try FetchPredicate(format: format, argumentArray: [long])
        _ = try context.fetch(FetchRequest<Bill>(predicate: predicate))
      }
    }
  }

  @Test("A model error shows the beginning of a long default")
  func defaults() throws {
    let long = Self.long
    expectShort("default of another type") {
      _ = try ManagedObjectModel([
        EntityDescription("E", properties: [.attribute("a", .int64, default: .string(long))])
      ])
    }
    let model = try ManagedObjectModel([
      EntityDescription(
        "E",
        properties: [
          .attribute("a", .string, optional: false, default: .string(long), rules: [.maximumLength(3)])
        ])
    ])
    #expect(!model.warnings.isEmpty && model.warnings.allSatisfy { "\($0)".count < 1_000 })
  }
}
