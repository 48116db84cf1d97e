import Testing

@testable import PerdureModel

@Suite("Descriptions of model differences")
struct ModelDifferenceTextTests {
  private func differences(
    _ old: [EntityDescription], _ new: [EntityDescription]
  ) throws -> [String] {
    ModelDifference.differences(from: try ManagedObjectModel(old), to: try ManagedObjectModel(new))
      .map(\.description)
  }

  private func differences(_ old: PropertyDescription, _ new: PropertyDescription) throws -> [String] {
    let place = EntityDescription("Place", properties: [.string("name")])
    return try differences(
      [EntityDescription("E", properties: [old]), place], [EntityDescription("E", properties: [new]), place])
  }

  @Test("A property or entity with an earlier name is described as renamed")
  func renamed() throws {
    let text = PropertyDescription.attribute(
      AttributeDescription("text", .string, renamingIdentifier: "body"))
    #expect(
      try differences(.string("body"), text) == [
        "E.body: The property was renamed to \"text\". Needs a migration. [propertyRemoved]",
        "E.text: The property was added. [propertyAdded]",
      ])
    let ticket = EntityDescription("Ticket", properties: [.string("a")], renamingIdentifier: "Issue")
    #expect(
      try differences([EntityDescription("Issue", properties: [.string("a")])], [ticket]) == [
        "Issue: The entity was renamed to \"Ticket\". Needs a migration. [entityRemoved]",
        "Ticket: The entity was added. [entityAdded]",
      ])
    #expect(
      try differences(.string("body"), .string("text")).first
        == "E.body: The property was removed. Needs a migration. [propertyRemoved]")
  }

  @Test("A description is one line, whatever the names contain")
  func oneLine() {
    let problem = ModelProblem(
      rule: .configuration, entity: "a\r\nb", property: nil, message: "\u{2028}.", remedy: "\u{200F}.")
    #expect("\(problem)" == "a\\r\\nb: \\u{2028}. \\u{200f}. [configuration]")
    let difference = ModelDifference(
      kind: .entityAdded, entity: "a\nb", property: nil, isCompatible: true, message: "New.")
    #expect("\(difference)" == "a\\nb: New. [entityAdded]")
  }

  @Test("Making a property required or optional needs a migration")
  func required() throws {
    let found = try differences(.string("a"), .string("a", optional: false, default: ""))
    #expect(
      found.count == 1 && found[0].contains("existing objects may have no value, whatever default it has"))
    #expect(
      try differences(.string("a", optional: false), .string("a")) == [
        "E.a: The property became optional. Needs a migration. [optionalChanged]"
      ])
  }

  @Test("The description of a changed count names the old and the new limits")
  func counts() throws {
    #expect(
      try differences(.toOne("a", "Place"), .toMany("a", "Place")) == [
        "E.a: The relationship became to-many. Needs a migration. [countChanged]"
      ])
    #expect(
      try differences(.toMany("a", "Place"), .toMany("a", "Place", minCount: 2, maxCount: 5)) == [
        "E.a: The number of objects was at least 0 and is 2 to 5. Needs a migration. [countChanged]"
      ])
  }
}
