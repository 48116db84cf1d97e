import PerdureModel
import Testing

@Suite("Warnings about suspicious declarations")
struct ModelWarningTests {
  func warnings(_ entities: EntityDescription...) throws -> [String] {
    try ManagedObjectModel(entities).warnings.map(finding)
  }

  @Test("A relationship without an inverse causes a warning")
  func noInverse() throws {
    #expect(
      try warnings(entity("A", .toMany("bs", "B"), .toOne("b", "B")), entity("B"))
        == ["noInverse A.bs", "noInverse A.b"])
  }

  @Test("A cycle of cascades causes a warning, but a cascade to a tree's children does not")
  func cascades() throws {
    #expect(
      try warnings(
        entity("A", .toOne("b", "B", inverse: "a", deleteRule: .cascade)),
        entity("B", .toOne("a", "A", inverse: "b", deleteRule: .cascade)))
        == ["cascadeCycle A.b", "cascadeCycle B.a"])
    #expect(
      try warnings(
        entity(
          "Node", .toMany("children", "Node", inverse: "parent", deleteRule: .cascade),
          .toOne("parent", "Node", inverse: "children"))) == [])
    #expect(
      try warnings(
        entity(
          "Node", .toMany("children", "Node", inverse: "parent", deleteRule: .cascade),
          .toOne("parent", "Node", inverse: "children", deleteRule: .cascade)))
        == ["cascadeCycle Node.children", "cascadeCycle Node.parent"])
  }

  @Test("A cycle of cascades through relationships that are inherited or of a subentity causes a warning")
  func inheritedCascades() throws {
    #expect(
      try warnings(
        entity("P", .toMany("qs", "Q", inverse: "p", deleteRule: .cascade)),
        EntityDescription(
          "S", superentity: "P", properties: [.toMany("ts", "Q", inverse: "s", deleteRule: .cascade)]),
        entity(
          "Q", .toOne("p", "P", inverse: "qs"), .toOne("s", "S", inverse: "ts", deleteRule: .cascade)))
        == ["cascadeCycle P.qs", "cascadeCycle S.ts", "cascadeCycle Q.s"])
    #expect(
      try warnings(
        entity("P", .toMany("qs", "Q", inverse: "p", deleteRule: .cascade)),
        EntityDescription("S", superentity: "P", properties: []),
        entity(
          "Q", .toOne("p", "P", inverse: "qs"),
          .toMany("leaves", "Leaf", inverse: "q", deleteRule: .cascade)),
        entity("Leaf", .toOne("q", "Q", inverse: "leaves"), .toOne("s", "S", deleteRule: .cascade)))
        == ["noInverse Leaf.s", "cascadeCycle P.qs", "cascadeCycle Q.leaves", "cascadeCycle Leaf.s"])
  }

  @Test("An optional attribute or composite element with a default causes a warning")
  func optionalWithDefault() throws {
    #expect(
      try warnings(
        entity(
          "A", .string("a", default: "x"), .string("b", optional: false, default: "x"), .string("c"),
          .composite("d", [.date("at", default: .now), .int64("n", optional: false, default: 1)]),
          .transient("e", .int16, default: 1)))
        == ["optionalWithDefault A.a", "optionalWithDefault A.d.at", "optionalWithDefault A.e"])
  }

  @Test("A compound index with a one-to-one relationship causes a warning")
  func indexOfOneToOne() throws {
    func found(_ indexes: FetchIndexDescription...) throws -> [String] {
      try warnings(
        EntityDescription(
          "Person",
          properties: [
            .string("name"), .toOne("passport", "Passport", inverse: "owner"), .toOne("boss", "Person"),
          ], indexes: indexes), entity("Passport", .toOne("owner", "Person", inverse: "passport"))
      ).filter { $0 != "noInverse Person.boss" }
    }
    #expect(try found(.init(on: "passport"), .init(on: "boss", "name")) == [])
    #expect(try found(.init("both", [.init("passport"), .init("name")])) == ["indexNotKept Person.both"])
  }

  @Test("A uniqueness constraint over a transformed attribute causes a warning")
  func constraintOfBytes() throws {
    #expect(
      try warnings(
        EntityDescription(
          "A", properties: [.attribute("a", .transformable), .binary("b"), .string("c")],
          uniquenessConstraints: [["a", "c"], ["b"]])) == ["constraintOfBytes A.a,c"])
  }

  @Test("A delete rule that nullifies a required relationship causes a warning")
  func nullifiedRequired() throws {
    #expect(
      try warnings(
        entity("A", .toMany("bs", "B", inverse: "a")),
        entity("B", .toOne("a", "A", inverse: "bs", optional: false))) == ["nullifiedRequired A.bs"])
    #expect(
      try warnings(entity("A"), entity("B", .toOne("a", "A", optional: false)))
        == ["noInverse B.a", "nullifiedRequired B.a"])
  }

  @Test("An abstract entity without a concrete subentity causes a warning")
  func abstract() throws {
    #expect(
      try warnings(
        EntityDescription("A", isAbstract: true, properties: []),
        EntityDescription("B", superentity: "A", isAbstract: true, properties: []),
        EntityDescription("C", isAbstract: true, properties: []),
        EntityDescription("D", superentity: "C", properties: []))
        == ["abstractWithoutConcrete A", "abstractWithoutConcrete B"])
  }

  @Test("An index on a copy of a computed derived attribute causes a warning")
  func indexOfCopyNotKept() throws {
    let house = entity(
      "House", .toMany("rooms", "Room", inverse: "house"), .string("name"), .derived("count", "rooms.@count"),
      .derived("rent", "rooms.rent.@sum"), .derived("plain", "canonical:(name)", type: .string),
      .derived("alias", "name", type: .string), .derived("sum", "rent"))
    func found(_ derivation: String, _ type: AttributeType = .int64) throws -> [String] {
      let room = EntityDescription(
        "Room",
        properties: [
          .toOne("house", "House", inverse: "rooms"), .int64("rent"),
          .derived("d", derivation, type: type), .derived("e", "d", type: type),
        ], indexes: [FetchIndexDescription("index", [.init("e")])])
      return try warnings(house, room)
    }
    for text in ["house.count", "house.rent", "house.sum"] {
      #expect(try found(text) == ["indexNotKept Room.index"], "\(text)")
    }
    #expect(try found("house.plain", .string) == ["indexNotKept Room.index"])
    #expect(try found("house.name", .string) == [] && found("house.alias", .string) == [])
  }

  @Test("A compound index with a derived attribute causes a warning")
  func indexNotKept() throws {
    func model(_ indexes: FetchIndexDescription...) -> EntityDescription {
      EntityDescription(
        "A",
        properties: [
          .toMany("bs", "B", inverse: "a"), .derived("count", "bs.@count"), .string("name"),
        ], indexes: indexes)
    }
    let other = entity("B", .toOne("a", "A", inverse: "bs"))
    #expect(try warnings(model(.init(on: "count"), .init(on: "name")), other) == [])
    #expect(
      try warnings(model(.init("both", [.init("count"), .init("name")])), other) == ["indexNotKept A.both"])
  }
}
