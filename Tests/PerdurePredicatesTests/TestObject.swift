import Foundation
import PerdurePredicates

/// An object in memory with its properties in dictionaries.
final class TestObject: PropertySource {
  let reference: ObjectReference?
  var values: [String: Value] = [:]
  var toOne: [String: TestObject?] = [:]
  var toMany: [String: [TestObject]] = [:]
  /// The to-many relationships of destination objects that the tests use.
  var manyBehind: Set<String> = ["employees", "tags"]

  init(_ number: UInt64, _ values: [String: Value] = [:]) {
    reference = ObjectReference(rawValue: number)
    self.values = values
  }

  func value(of property: String) throws(PredicateEvaluationError) -> PropertyResult {
    if let value = values[property] { return .value(value) }
    if let destination = toOne[property] { return .toOne(destination) }
    if let destinations = toMany[property] { return .toMany(destinations) }
    return .unknown
  }

  func reachesMany(through relationship: String, then path: ArraySlice<String>) -> Bool {
    path.contains { manyBehind.contains($0) }
  }
}

/// A company with departments and employees.
struct TestCompany {
  let company = TestObject(1, ["name": .string("Über Alles"), "size": .integer(3), "in": .integer(7)])
  let research = TestObject(2, ["name": .string("Research"), "budget": .decimal(100)])
  let sales = TestObject(3, ["name": .string("Sales"), "budget": .null])
  let ada = TestObject(
    11,
    [
      "name": .string("Ada"), "age": .integer(36), "salary": .double(10.5), "nick": .null,
      "isLead": .bool(true),
      "born": .date(.init(timeIntervalSinceReferenceDate: 100)), "marks": .list([.integer(3), .integer(1)]),
    ])
  let bob = TestObject(
    12,
    [
      "name": .string("bob"), "age": .integer(20), "salary": .double(4.5), "nick": .string("Bobby"),
      "isLead": .bool(false), "born": .null, "marks": .list([]),
    ])
  let cy = TestObject(
    13,
    [
      "name": .string("Cÿ"), "age": .null, "salary": .null, "nick": .string(""), "isLead": .null,
      "born": .null,
      "marks": .null,
    ])

  init() {
    company.toMany = ["departments": [research, sales], "employees": [ada, bob, cy]]
    research.toMany = ["employees": [ada, bob]]
    sales.toMany = ["employees": [cy]]
    for department in [research, sales] { department.toOne = ["company": company] }
    ada.toOne = ["company": company, "boss": TestObject?.none, "department": research]
    bob.toOne = ["company": company, "boss": ada, "department": research]
    cy.toOne = ["company": company, "boss": bob, "department": TestObject?.none]
    for person in [ada, bob, cy] { person.toMany = ["tags": []] }
  }
}
