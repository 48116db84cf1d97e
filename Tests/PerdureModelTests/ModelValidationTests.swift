import Foundation
import PerdureModel
import Testing

@Suite("Validation of models")
struct ModelValidationTests {
  @Test("The sample model is valid, with a warning about an optional attribute with a default")
  func accepted() throws {
    let model = try Sample.model()
    #expect(model.warnings.map(finding) == ["optionalWithDefault Worker.salary"])
    #expect(model.entities == Sample.entities)
    #expect(model.entitiesByName["Worker"] == Sample.worker)
  }

  @Test("All problems are listed together, with entity, property and remedy")
  func everythingAtOnce() throws {
    let found = problems(of: [
      entity("A", .string("description"), .toOne("b", "Nowhere"), .int16("n", default: 40_000)),
      entity("A", .string("x"), .int16("x")),
    ])
    #expect(
      Set(found.map(finding)) == [
        "duplicateEntity A", "reservedName A.description", "unknownDestination A.b", "defaultType A.n",
        "duplicateProperty A.x",
      ])
    #expect(found.allSatisfy { !$0.message.isEmpty && !$0.remedy.isEmpty })
    let error = try #require(throws: ModelError.self) { try ManagedObjectModel([entity("1")]) }
    #expect(error.code == .invalidModel)
    #expect(error.description.contains("1: \"1\" is not a valid entity name."))
  }

  @Test(
    "A name must be an identifier of at most 255 bytes without a leading underscore",
    arguments: ["", "1a", "a b", "a-b", "_a", "a.b", "@count", String(repeating: "x", count: 256)])
  func nameSyntax(name: String) {
    #expect(findings([entity(name, .string("a"))]).contains("nameSyntax \(name)"))
    #expect(findings([entity("E", .string(name))]).contains("nameSyntax E.\(name)"))
  }

  @Test("Names of any script are accepted")
  func unicodeNames() {
    #expect(findings([entity("Größe", .string("naïve_1"), .string("名前"))]) == [])
  }

  @Test("An empty class name is refused")
  func className() {
    #expect(
      findings([EntityDescription("E", className: "", properties: [])]) == ["nameSyntax E"])
  }

  @Test(
    "Names of members of managed objects are reserved",
    arguments: ["objectID", "isDeleted", "description", "hash", "entity", "self", "predicateValue"])
  func reserved(name: String) {
    #expect(findings([entity("E", .string(name))]) == ["reservedName E.\(name)"])
  }

  @Test("A superentity must exist")
  func unknownSuperentity() {
    #expect(
      findings([EntityDescription("E", superentity: "F", properties: [])]) == ["unknownSuperentity E"])
  }

  @Test("A cycle of superentities is reported at the entities of the cycle only")
  func superentityCycle() {
    let entities = [("A", "B"), ("B", "C"), ("C", "A"), ("D", "A"), ("E", "E")].map {
      EntityDescription($0.0, superentity: $0.1, properties: [.string("p" + $0.0)])
    }
    #expect(findings(entities) == ["A", "B", "C", "E"].map { "superentityCycle " + $0 })
  }

  @Test("Hierarchies that are too deep, and too many properties or entities, are rejected")
  func limits() {
    let chain = (0...ModelLimits.hierarchyDepth).map {
      EntityDescription("E\($0)", superentity: $0 == 0 ? nil : "E\($0 - 1)", properties: [])
    }
    #expect(findings(chain) == ["tooMany E\(ModelLimits.hierarchyDepth)"])
    #expect(findings(chain.dropLast()) == [])
    let wide = (0...ModelLimits.propertyCount).map { PropertyDescription.int16("p\($0)") }
    #expect(findings([EntityDescription("E", properties: wide)]) == ["tooMany E"])
    let many = (0...ModelLimits.entityCount).map { entity("E\($0)") }
    #expect(findings(many) == ["tooMany "])
  }

  @Test("An inherited property cannot be declared again")
  func redefinition() {
    let entities = [
      entity("A", .string("x")), EntityDescription("B", superentity: "A", properties: []),
      EntityDescription("C", superentity: "B", properties: [.string("x")]),
    ]
    #expect(findings(entities) == ["redefinedProperty C.x"])
  }

  @Test("The inverse must be a relationship of the destination")
  func unknownInverse() {
    #expect(
      findings([entity("A", .toOne("b", "B", inverse: "a")), entity("B", .string("a"))])
        == ["unknownInverse A.b"])
    #expect(
      findings([entity("A", .toOne("b", "B", inverse: "a")), entity("B")]) == ["unknownInverse A.b"])
  }

  @Test("Both ends of a relationship must name each other")
  func inverseMismatch() {
    #expect(
      findings([
        entity("A", .toOne("b", "B", inverse: "a"), .toOne("c", "B")),
        entity("B", .toOne("a", "A", inverse: "c")),
      ]) == ["inverseMismatch A.b", "inverseMismatch B.a"])
    #expect(
      findings([entity("A", .toOne("b", "B", inverse: "a")), entity("B", .toOne("a", "A"))])
        == ["inverseMismatch A.b"])
    #expect(
      findings([
        entity("A", .toOne("b", "B", inverse: "a")), entity("B", .toOne("a", "C", inverse: "b")), entity("C"),
      ]) == ["inverseMismatch A.b", "unknownInverse B.a"])
  }

  @Test("The destination must be the entity that declares the inverse")
  func inheritedInverse() {
    let entities = [
      entity("A", .toMany("bs", "B", inverse: "a")), entity("P", .toOne("a", "A", inverse: "bs")),
      EntityDescription("B", superentity: "P", properties: []),
    ]
    #expect(findings(entities) == ["inverseMismatch A.bs", "inverseMismatch P.a"])
  }

  @Test(
    "The limits of a count must not contradict each other",
    arguments: [(-1, 0), (0, -1), (3, 2), (Int.max, 0)])
  func countRange(least: Int, most: Int) {
    let end = PropertyDescription.toMany("b", "A", minCount: least, maxCount: most)
    #expect(findings([entity("A", end)]) == ["countRange A.b"])
  }
}

@Suite("Validation of attributes, indexes and constraints")
struct AttributeValidationTests {
  @Test("A default must be of the attribute's type and range")
  func defaults() throws {
    let wrong: [PropertyDescription] = [
      .int16("a", default: 32_768), .int32("b", default: 2_147_483_648), .int64("c", default: 1.5),
      .string("d", default: 1), .boolean("e", default: 1), .double("f", default: .double(.nan)),
      .date("g", default: "today"), .uuid("h", default: "x"), .uri("i", default: "x"),
      .binary("j", default: "x"), .decimal("k", default: 1.5), .float("l", default: true),
      .double("m", default: .integer(Int64.max)),
    ]
    #expect(
      findings([EntityDescription("E", properties: wrong)]) == wrong.map { "defaultType E.\($0.name)" })
    let right: [PropertyDescription] = [
      .int16("a", default: -32_768), .int32("b", default: 2_147_483_647), .int64("c", default: 1),
      .string("d", default: ""), .boolean("e", default: true), .double("f", default: 2),
      .date("g", default: .date(.distantPast)), .uuid("h", default: .uuid(UUID())),
      .uri("i", default: .url(try #require(URL(string: "https://example.org")))),
      .binary("j", default: .data(Data([1]))), .decimal("k", default: 3), .float("l", default: 0.5),
    ]
    #expect(findings([EntityDescription("E", properties: right)]) == [])
  }

  @Test("An integer default is converted to the attribute's type")
  func widening() throws {
    let model = try ManagedObjectModel([entity("E", .double("a", default: 2), .decimal("b", default: 3))])
    let schema = try #require(model.schema(named: "E"))
    #expect(schema.properties.map(\.defaultValue) == [.double(2), .decimal(3)])
  }

  @Test("An index contains attributes and to-one relationships, each at most once")
  func indexes() {
    func found(_ indexes: FetchIndexDescription...) -> [String] {
      let base = entity("P", .string("a"), .toOne("one", "P"), .toMany("many", "P"))
      return findings([
        base, EntityDescription("E", superentity: "P", properties: [.int16("b")], indexes: indexes),
      ])
    }
    #expect(found(.init(on: "a", "b"), .init(on: "one")) == [])
    #expect(found(.init("i", [.init("many")])) == ["indexProperty E.i"])
    #expect(found(.init("i", [.init("nothing")])) == ["indexProperty E.i"])
    #expect(found(.init("i", [])) == ["indexShape E.i"])
    #expect(found(.init("i", [.init("a"), .init("a", ascending: false)])) == ["indexShape E.i"])
    #expect(found(.init("i", [.init("a")]), .init("i", [.init("b")])) == ["indexShape E.i"])
    #expect(found(.init("", [.init("a")])) == ["indexShape E."])
  }

  @Test("An index cannot have the name of an inherited index")
  func inheritedIndexName() {
    let index = FetchIndexDescription(on: "a")
    let entities = [
      EntityDescription("P", properties: [.string("a")], indexes: [index]),
      EntityDescription("E", superentity: "P", properties: [], indexes: [index]),
    ]
    #expect(findings(entities) == ["indexShape E.by_a"])
  }

  @Test("A constraint contains stored attributes, each at most once")
  func constraints() {
    func found(_ constraints: [[String]]) -> [String] {
      findings([
        EntityDescription(
          "E", properties: [.string("a"), .string("b"), .toMany("es", "E"), .derived("n", "es.@count")],
          uniquenessConstraints: constraints)
      ])
    }
    #expect(found([["a"], ["a", "b"]]) == [])
    #expect(found([["es"]]) == ["constraintProperty E.es"])
    #expect(found([["n"]]) == ["constraintProperty E.n"])
    #expect(found([["x", "y"]]) == ["constraintProperty E.x,y", "constraintProperty E.x,y"])
    #expect(found([[]]) == ["constraintShape E."])
    #expect(found([["a", "a"]]) == ["constraintShape E.a,a"])
    #expect(found([["a"], ["a"]]) == ["constraintShape E.a"])
  }

  @Test("No two properties and no two entities can have the same earlier name")
  func renaming() {
    let first = AttributeDescription("a", .string, renamingIdentifier: "old")
    let second = AttributeDescription("b", .string, renamingIdentifier: "old")
    var one = entity("E", .attribute(first), .attribute(second))
    var two = entity("F")
    (one.renamingIdentifier, two.renamingIdentifier) = ("G", "G")
    #expect(findings([one, two]) == ["renamingClash E.b", "renamingClash F"])
    let above = entity("P", .attribute(first))
    let below = EntityDescription("S", superentity: "P", properties: [.attribute(second)])
    let beside = EntityDescription("T", superentity: "P", properties: [.string("c")])
    #expect(findings([below, above, beside]) == ["renamingClash S.b"])
  }
}
