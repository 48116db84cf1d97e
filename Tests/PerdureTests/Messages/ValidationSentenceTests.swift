import Foundation
import Perdure
import PerdureModel
import Testing

@Suite("Validation errors are sentences")
struct ValidationSentenceTests {
  private static let entities = [
    EntityDescription(
      "Ticket",
      properties: [
        .attribute(AttributeDescription("title", .string, rules: [.minimumLength(2), .maximumLength(5)])),
        .attribute(AttributeDescription("priority", .int64, rules: [.minimum(1), .maximum(3)])),
        .attribute(AttributeDescription("code", .string, rules: [.pattern("[A-Z]+")])),
        .attribute(AttributeDescription("seats", .int16, isOptional: false, defaultValue: 1)),
        .toMany("visitors", "Visitor", inverse: "ticket", minCount: 1, maxCount: 2, deleteRule: .deny),
      ]),
    EntityDescription(
      "Visitor", properties: [.toOne("ticket", "Ticket", inverse: "visitors", optional: false)]),
  ]

  private let context: ManagedObjectContext
  private let ticket: ManagedObject

  init() throws {
    let container = PersistentContainer(
      name: "Tickets", model: try ManagedObjectModel(Self.entities), description: .inMemory)
    try container.loadPersistentStores()
    context = container.newContext()
    ticket = context.insertNewObject(forEntityName: "Ticket")
    let visitor = context.insertNewObject(forEntityName: "Visitor")
    visitor.setValue(ticket, forKey: "ticket")
  }

  /// The message of the refused save, without its last part, which names the object.
  private func sentence(of object: ManagedObject? = nil) -> String {
    let error = #expect(throws: PerdureError.self) { try context.save() }
    let end = " Object: \((object ?? ticket).objectID). Nothing was saved."
    let message = error?.message ?? ""
    #expect(message.hasSuffix(end), "\(message)")
    #expect(error?.localizedDescription.contains(message) == true)
    return String(message.dropLast(end.count))
  }

  @Test(
    "The error about a broken rule names the property, the entity, the rule and the value",
    arguments: [
      ("title", "a" as (any Sendable)?, "title of Ticket must have a length of at least 2 (value: \"a\")."),
      ("title", "abcdef", "title of Ticket must have a length of at most 5 (value: \"abcdef\")."),
      ("priority", 0, "priority of Ticket must be at least 1 (value: 0)."),
      ("priority", 9, "priority of Ticket must be at most 3 (value: 9)."),
      ("code", "a1", "code of Ticket must match [A-Z]+ as a whole (value: \"a1\")."),
      (
        "seats", nil,
        "seats of Ticket is required but was never set: set it, or declare it with a default (\"= 0\") or as "
          + "optional (\"Int16?\")."
      ),
    ])
  func rules(_ key: String, _ value: (any Sendable)?, _ expected: String) {
    ticket.setValue(value, forKey: key)
    #expect(sentence() == expected)
  }

  @Test("The error about a removed value does not say that the value was never set")
  func lost() throws {
    try context.save()
    ticket.setValue(nil, forKey: "seats")
    #expect(sentence().hasPrefix("seats of Ticket is required but has no value: set it, or declare it"))
  }

  @Test("The error about a broken count gives the number of objects")
  func counts() throws {
    for _ in 0..<2 {
      context.insertNewObject(forEntityName: "Visitor").setValue(ticket, forKey: "ticket")
    }
    #expect(sentence() == "visitors of Ticket must have at most 2 objects (number of objects: 3).")
    context.rollback()
    let alone = context.insertNewObject(forEntityName: "Visitor")
    #expect(
      sentence(of: alone)
        == "ticket of Visitor is required but has no object: connect one, or make the relationship optional.")
  }

  @Test("The error about a denied deletion gives the remedy")
  func denied() throws {
    try context.save()
    context.delete(ticket)
    #expect(
      sentence()
        == "visitors of Ticket denies the deletion while it has objects: delete or disconnect them first "
        + "(number of objects: 1).")
  }
}
