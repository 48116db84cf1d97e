import Testing

@testable import PerdureModel

@Suite("Parsing and validation of derivations")
struct DerivationTests {
  private static let place = entity(
    "Place", .string("name"), .string("code", optional: false),
    .toOne("region", "Place"), .toOne("country", "Place", optional: false),
    .toMany("parts", "Place", inverse: "whole"),
    .toOne("whole", "Place", inverse: "parts"), .int16("small"), .int64("large"), .decimal("exact"),
    .double("real"),
    .float("single"), .date("founded"), .transient("note", .string))

  /// The entity `Place` with a derived attribute.
  private func place(
    _ derivation: String, _ type: AttributeType = .int64, optional: Bool? = nil
  ) -> EntityDescription {
    var entity = Self.place
    entity.properties.append(.derived("d", derivation, type: type, optional: optional))
    return entity
  }

  @Test(
    "Each form of derivation is parsed",
    arguments: [
      ("name", Derivation.Form.value(["name"])), ("a.b.c", .value(["a", "b", "c"])),
      ("canonical:(name)", .text(.canonical, ["name"])), ("lowercase:(a.b)", .text(.lowercase, ["a", "b"])),
      ("uppercase:(name)", .text(.uppercase, ["name"])), ("parts.@count", .count("parts")),
      ("parts.large.@sum", .sum("parts", of: "large")), ("parts.@sum.large", .sum("parts", of: "large")),
      ("now()", .saveTime),
    ])
  func forms(text: String, form: Derivation.Form) throws {
    #expect(try Derivation(text).form == form)
  }

  @Test(
    "An invalid derivation is a model error with a remedy",
    arguments: [
      "", ".", "parts", "parts.@sum", "parts.@count.small", "region.parts.@count", ".@count", "@count",
      "@sum",
      "region.@count", "small.@count", "region.parts.large.@sum", "@sum.parts.large", "parts.large.@max",
      "parts.@avg.large",
      "parts.@sum.@count", "parts.large.@sum.@count", "now", "now(1)", "canonical:(now())", "length:(name)",
      "canonical:",
      "canonical:name",
      "canonical:()", "canonical:(uppercase:(name))", "canonical:(parts.@count)", "uppercase:(name) ",
      "name + name",
      "missing", "missing.name", "region", "name.length", "parts.name", "region.missing",
      "parts.missing.@sum",
      "parts.region.@sum", "note", "parts.note.@sum", "canonical:(note)", "canonical:(large)",
      "parts.name.@sum",
      "parts.founded.@sum", "region.founded", "SELF.name",
    ])
  func wrong(text: String) {
    let found = problems(of: [place(text)])
    #expect(found.map(finding) == ["derivation Place.d"], "\(text)")
    #expect(found.allSatisfy { !$0.remedy.isEmpty && !$0.message.isEmpty })
  }

  @Test("A derived attribute has the type of its source, or the type of a count or of a sum")
  func types() {
    let right: [(String, [AttributeType])] = [
      ("region.founded", [.date]), ("small", [.int16]), ("canonical:(region.name)", [.string]),
      ("parts.@count", [.int16, .int32, .int64]), ("parts.small.@sum", [.int16, .int32, .int64, .decimal]),
      ("parts.large.@sum", [.int16, .int32, .int64, .decimal]), ("parts.exact.@sum", [.decimal]),
      ("parts.real.@sum", [.double]), ("parts.single.@sum", [.double]), ("now()", [.date]),
    ]
    for (text, types) in right {
      for type in AttributeType.allCases where type != .undefined {
        let expected = types.contains(type) ? [] : ["derivation Place.d"]
        #expect(findings([place(text, type)]) == expected, "\(text) as \(type)")
      }
    }
  }

  @Test("A derivation of an optional source is optional, but counts and sums are not")
  func optionality() {
    let mayBeNil = ["name", "region.code", "country.name", "country.region.code", "lowercase:(name)"]
    for text in mayBeNil {
      #expect(findings([place(text, .string)]) == [])
      #expect(findings([place(text, .string, optional: false)]) == ["derivation Place.d"])
    }
    for text in ["code", "country.code", "country.country.code", "uppercase:(country.code)"] {
      #expect(findings([place(text, .string, optional: false)]) == [])
    }
    #expect(place("parts.@count").attributes.last?.isOptional == false)
    #expect(place("parts.large.@sum").attributes.last?.isOptional == false)
    #expect(place("country.code", .string).attributes.last?.isOptional == true)
  }

  @Test("A derived copy of a transformed attribute must have the same transformer")
  func transformers() {
    for (source, copy) in [("a", "a"), ("a", "b"), ("a", nil), (nil, "a"), (nil, nil)] as [(String?, String?)]
    {
      let entity = entity(
        "Place", .attribute(AttributeDescription("look", .transformable, valueTransformerName: source)),
        .attribute(
          AttributeDescription("d", .transformable, derivation: "look", valueTransformerName: copy)))
      #expect(findings([entity]) == (source == copy ? [] : ["derivation Place.d"]))
    }
  }

  @Test("A derived attribute cannot have a default, be transient or be in a constraint")
  func shape() {
    let both = AttributeDescription(
      "d", .int64, defaultValue: 1, derivation: "parts.@count", isTransient: true)
    var entity = Self.place
    entity.properties.append(.attribute(both))
    #expect(findings([entity]) == ["derivation Place.d", "derivation Place.d"])
    var unique = place("code", .string)
    unique.uniquenessConstraints = [["d"]]
    #expect(findings([unique]) == ["constraintProperty Place.d"])
  }

  @Test("Derived attributes may depend on derived attributes and inherited properties")
  func chains() throws {
    var town = EntityDescription(
      "Town", superentity: "Place", properties: [.derived("sign", "whole.d", type: .string)])
    #expect(findings([place("canonical:(region.name)", .string), town]) == [])
    town.properties.append(.derived("size", "parts.@count", type: .int16))
    let model = try ManagedObjectModel([place("canonical:(region.name)", .string), town])
    let slot = try #require(model.schema(named: "Town")?.slot(named: "parts"))
    #expect(model.schema(named: "Town")?.property(named: "size")?.countedSlot == slot)
    #expect(model.schema(named: "Town")?.property(named: "sign")?.isDerived == true)
  }

  @Test("The derived time of a save can be in a compound index, but not in a uniqueness constraint")
  func saveTime() throws {
    var entity = place("now()", .date)
    entity.indexes = [
      FetchIndexDescription("both", ["d", "code"]),
      FetchIndexDescription("recent", ["code"], where: "d != nil"),
    ]
    entity.properties.append(.derived("twin", "d", type: .date))
    #expect(findings([entity]) == [])
    let model = try ManagedObjectModel([entity])
    #expect(!model.warnings.contains { $0.rule == .indexNotKept })
    let property = try #require(model.schema(named: "Place")?.property(named: "d"))
    #expect(property.isSetBySaves && !property.isDerived && property.isOptional)
    #expect(findings([place("now()", .date, optional: false)]) == [])
    entity.uniquenessConstraints = [["d"]]
    #expect(findings([entity]) == ["constraintProperty Place.d"])
    let both = AttributeDescription("d", .date, defaultValue: .now, derivation: "now()", isTransient: true)
    #expect(
      findings([EntityDescription("A", properties: [.attribute(both)])]).filter { $0 == "derivation A.d" }
        .count
        == 2)
  }

  @Test("A cycle of derivations is a model error")
  func cycles() {
    #expect(findings([place("d")]) == ["derivation Place.d"])
    #expect(findings([place("parts.d.@sum")]) == ["derivation Place.d"])
    let ring = [
      entity("A", .toOne("b", "B"), .derived("x", "b.y", type: .string)),
      entity("B", .toOne("a", "A"), .derived("y", "uppercase:(a.z)", type: .string)),
    ]
    var closed = ring
    closed[0].properties.append(.derived("z", "x", type: .string))
    closed[0].properties.append(.derived("behind", "z", type: .string))
    let found = findings(closed).filter { $0.hasPrefix("derivation") }
    #expect(found == ["derivation A.x", "derivation A.z", "derivation B.y"])
  }

  @Test("A derivation with too many steps, in its path or its chain, is a model error")
  func lengths() {
    func step(_ count: Int) -> String {
      Array(repeating: "region", count: count).joined(separator: ".") + ".code"
    }
    #expect(findings([place(step(63), .string)]) == [])
    #expect(findings([place(step(64), .string)]) == ["derivation Place.d"])
    var chain = Self.place
    for number in 0..<65 {
      chain.properties.append(
        .derived("d\(number)", number == 64 ? "code" : "d\(number + 1)", type: .string, optional: true))
    }
    #expect(findings([chain]) == ["derivation Place.d0"])
  }
}
