import PerdurePredicates
import Testing

@testable import PerdureModel

@Suite("Adoption of changes that do not affect rows")
struct AdoptingDetailsTests {
  private func text(_ difference: ModelDifference) -> String {
    "\(difference.isCompatible ? "" : "! ")\(difference.kind.rawValue) \(difference.entity)"
      + (difference.property.map { ".\($0)" } ?? "")
  }

  private func differences(
    _ old: AttributeDescription?, _ new: AttributeDescription?
  ) throws -> [String] {
    func model(_ attribute: AttributeDescription?) throws -> ManagedObjectModel {
      var properties: [PropertyDescription] = [.string("b")]
      if let attribute { properties.append(.attribute(attribute)) }
      return try ManagedObjectModel([EntityDescription("E", properties: properties)])
    }
    return try ModelDifference.differences(from: model(old), to: model(new)).map(text)
  }

  @Test("Changed validation rules and user info are compatible")
  func compatible() throws {
    let plain = AttributeDescription("a", .int64)
    #expect(
      try differences(plain, AttributeDescription("a", .int64, rules: [.minimum(1)])) == ["rulesChanged E.a"])
    #expect(
      try differences(plain, AttributeDescription("a", .int64, userInfo: ["k": "v"]))
        == ["detailsChanged E.a"])
  }

  @Test("A changed predicate or message of a rule is reported as a change of rules")
  func predicates() throws {
    func attribute(_ format: String, _ message: String) throws -> AttributeDescription {
      AttributeDescription(
        "a", .int64, rules: [.predicate(try FetchPredicate(format: format), message: message)])
    }
    let old = try attribute("SELF < 10", "is too large")
    for new in [try attribute("SELF < 20", "is too large"), try attribute("SELF < 10", "must be less")] {
      #expect(try differences(old, new) == ["rulesChanged E.a"])
    }
    func model(_ attribute: AttributeDescription) throws -> ManagedObjectModel {
      try ManagedObjectModel([entity("E", .attribute(attribute))])
    }
    let found = ModelDifference.differences(
      from: try model(old), to: try model(attribute("SELF < 20", "is too large")))
    #expect(found.first?.message.contains("is too large (SELF < 20)") == true, "\(found)")
    #expect(try differences(old, attribute("SELF < 10", "is too large")) == [])
  }

  @Test("Rules, user info, earlier names and transient attributes do not affect rows")
  func sameRows() throws {
    func stored(
      _ attribute: AttributeDescription, _ transient: AttributeType = .int64, identifiers: Set<String> = []
    ) throws -> StoredModel {
      var description = entity("E", .attribute(attribute), .transient("t", transient))
      description.userInfo = ["k": attribute.userInfo["k"] ?? ""]
      return try StoredModel.initial(
        for: ManagedObjectModel([description], versionIdentifiers: identifiers))
    }
    let plain = try stored(AttributeDescription("a", .int64))
    let same = [
      try stored(AttributeDescription("a", .int64, rules: [.minimum(1)])),
      try stored(AttributeDescription("a", .int64, renamingIdentifier: "b", userInfo: ["k": "v"])),
      try stored(AttributeDescription("a", .int64), .string, identifiers: ["2"]),
    ]
    for other in same { #expect(plain.hasSameRows(as: other) && !plain.isEqual(to: other)) }
    let others = [
      try stored(AttributeDescription("a", .int64, defaultValue: 1)),
      try stored(AttributeDescription("a", .int64, isOptional: false)),
      try stored(AttributeDescription("b", .int64)), try stored(AttributeDescription("a", .int32)),
      try StoredModel.initial(for: ManagedObjectModel([entity("E", .int64("a"))])),
    ]
    for other in others { #expect(!plain.hasSameRows(as: other)) }
  }

  @Test("A change of an attribute between stored and transient requires a migration")
  func storedOrNot() throws {
    let stored = AttributeDescription("a", .int64)
    let transient = AttributeDescription("a", .int64, isTransient: true)
    #expect(try differences(stored, transient) == ["! transientChanged E.a"])
    #expect(try differences(transient, stored) == ["! transientChanged E.a"])
  }

  @Test("All changes of a transient attribute are compatible; adding or removing it changes no layout")
  func transient() throws {
    let text = AttributeDescription("a", .string, isOptional: false, isTransient: true)
    let number = AttributeDescription("a", .int64, isTransient: true)
    #expect(try differences(nil, text) == ["propertyAdded E.a"])
    #expect(try differences(text, number) == ["detailsChanged E.a"])
    #expect(try differences(text, nil) == ["propertyRemoved E.a"])
    let with = try ManagedObjectModel([entity("E", .string("b"), .attribute(text))])
    let without = try ManagedObjectModel([entity("E", .string("b"))])
    let first = try StoredModel.initial(for: with)
    let second = try first.adopting(without).stored
    #expect(second.layouts == first.layouts)
    let third = try StoredModel(decoding: second.encode()).adopting(with).stored
    #expect(third.layouts == first.layouts && third.propertyNumbers(ofEntityAt: 0) == [1, 3])
  }

  @Test("A changed hash modifier requires a migration and changes the hash")
  func modifiers() throws {
    let plain = AttributeDescription("a", .int64)
    let modified = AttributeDescription("a", .int64, versionHashModifier: "2")
    #expect(try differences(plain, modified) == ["! versionHashModifierChanged E.a"])
    var company = Sample.company
    company.versionHashModifier = "2"
    var link = RelationshipDescription("rs", to: "E", inverse: "rs", maxCount: 0)
    let before = try ManagedObjectModel([EntityDescription("E", properties: [.relationship(link)])])
    link.versionHashModifier = "2"
    let after = try ManagedObjectModel([EntityDescription("E", properties: [.relationship(link)])])
    #expect(before.versionHash != after.versionHash)
    let found = ModelDifference.differences(from: before, to: after).map(text)
    #expect(found == ["! versionHashModifierChanged E.rs"])
    let models = try [Sample.company, company].map { company in
      try ManagedObjectModel(Sample.entities(changing: "Company") { $0 = company })
    }
    #expect(models[0].versionHash != models[1].versionHash)
    #expect(
      ModelDifference.differences(from: models[0], to: models[1]).map(text)
        == ["! versionHashModifierChanged Company"])
  }

  @Test("The hash depends on transience and on an empty hash modifier, but not on rules or user info")
  func hash() throws {
    func hash(_ attribute: AttributeDescription) throws -> UInt64 {
      try ManagedObjectModel([entity("E", .attribute(attribute))]).versionHash
    }
    let plain = try hash(AttributeDescription("a", .int64))
    #expect(try hash(AttributeDescription("a", .int64, isTransient: true)) != plain)
    #expect(
      try hash(AttributeDescription("a", .int64, rules: [.minimum(1)], userInfo: ["k": "v"])) == plain)
    #expect(try hash(AttributeDescription("a", .int64, versionHashModifier: "")) != plain)
  }
}
