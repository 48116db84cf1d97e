import Perdure
import PerdureModel
import PerdurePredicates
import Testing

@Suite("Store schema of a model")
struct StoreSchemaTests {
  private func form(_ schema: StoreSchema, _ entity: String, _ property: String) throws
    -> PropertyStorage.Form
  {
    let entity = try #require(schema.entity(named: entity))
    return entity.properties[try #require(entity.slot(named: property))].form
  }

  @Test("Index names contain property numbers, and the indexes of relationships come first")
  func names() throws {
    let schema = try TestModel.schema(indexed: true, derives: false)
    #expect(
      schema.indexes.map(\.name) == [
        "rel/17", "rel/18", "link/20", "linkrev/20", "link/21", "rel/22", "attr/1", "count/6",
        "attr/8,-12", "attr/12", "attr/14", "attr/13", "attr/15", "attr/7", "attr/11", "attr/-2@3",
        "attr/17,1", "attr/16", "uniq/10", "attr/24",
      ])
    for (position, definition) in schema.indexes.enumerated() {
      #expect(schema.index(named: definition.name) == StoreIndex(rawValue: position))
    }
  }

  @Test("The title of an index has its kind and its properties, and shows whether it is descending")
  func titles() throws {
    let schema = try TestModel.schema(indexed: true, derives: false)
    func title(_ name: String) throws -> String { schema.title(of: try #require(schema.index(named: name))) }
    let links = try title("link/20")
    #expect(links.hasPrefix("links ") && links.contains("."))
    #expect(try title("linkrev/20") == "links back " + links.dropFirst(6))
    #expect(try title("count/6").hasPrefix("count index "))
    #expect(try title("rel/17").hasPrefix("relationship "))
    #expect(try title("uniq/10").hasPrefix("unique index "))
    let mixed = try title("attr/8,-12")
    #expect(mixed.hasPrefix("index ") && mixed.contains("+") && mixed.hasSuffix(" descending"))
    #expect(try !title("attr/12").hasSuffix(" descending"))
  }

  @Test("An index contains the objects of its declaring entity and of all subentities")
  func entities() throws {
    let schema = try TestModel.schema(indexed: true, derives: false)
    func fed(_ name: String) throws -> [String] {
      schema.definition(try #require(schema.index(named: name))).entities.map { schema.entity($0).name }
    }
    #expect(try fed("attr/1") == ["Company", "Employee", "Manager"])
    #expect(try fed("rel/17") == ["Employee", "Manager"])
    #expect(try fed("attr/24") == ["Tag"])
    let party = try #require(schema.entity(named: "Party"))
    #expect(party.layouts == nil)
    #expect(party.concrete.map { schema.entity($0).name } == ["Company", "Employee", "Manager"])
  }

  @Test("Each link is stored once, and the other side finds it through an index")
  func forms() throws {
    let schema = try TestModel.schema(indexed: true, derives: false)
    func index(_ name: String) throws -> StoreIndex { try #require(schema.index(named: name)) }
    let company = try #require(schema.entity(named: "Company")).number
    let employee = try #require(schema.entity(named: "Employee")).number
    let tag = try #require(schema.entity(named: "Tag")).number
    let badge = try #require(schema.entity(named: "Badge")).number
    #expect(
      try form(schema, "Employee", "company") == .toOne(destination: company, index: try index("rel/17")))
    #expect(
      try form(schema, "Company", "employees")
        == .inverse(destination: employee, index: try index("rel/17"), owners: nil, isToMany: true))
    // Many to many: links on the side with the lower number.
    #expect(
      try form(schema, "Employee", "tags")
        == .inverse(
          destination: tag, index: try index("link/20"), owners: try index("linkrev/20"), isToMany: true))
    #expect(
      try form(schema, "Tag", "holders")
        == .inverse(
          destination: employee, index: try index("linkrev/20"), owners: try index("link/20"), isToMany: true)
    )
    // This relationship is its own inverse: one index contains the links of both directions.
    #expect(
      try form(schema, "Manager", "friends")
        == .inverse(
          destination: employee, index: try index("link/21"), owners: try index("link/21"), isToMany: true))
    // One to one: a column on the side with the lower number.
    #expect(
      try form(schema, "Employee", "badge") == .toOne(destination: badge, index: try index("rel/22")))
    #expect(
      try form(schema, "Badge", "owner")
        == .inverse(destination: employee, index: try index("rel/22"), owners: nil, isToMany: false))
    #expect(try form(schema, "Company", "employeeCount") == .count(ofSlot: 4))
  }

  @Test("A row has the stored attributes and the to-one columns in the order of their slots")
  func layout() throws {
    let schema = try TestModel.schema(indexed: true, derives: false)
    let company = try #require(schema.entity(named: "Company")?.layouts)
    #expect(company.current.columns.map(\.property) == [1, 2, 3, 4])
    let badge = try #require(schema.entity(named: "Badge")?.layouts)
    #expect(badge.current.columns.map(\.kind) == [.int32])
  }

  @Test("After a property is added, rows of the older layout are readable, and the property has its default")
  func addition() throws {
    let before = try ManagedObjectModel([EntityDescription("A", properties: [.string("name")])])
    let after = try ManagedObjectModel([
      EntityDescription("A", properties: [.int64("rank", default: 5), .string("name")])
    ])
    let stored = try StoredModel.initial(for: before)
    let old = try #require(StoreSchema(stored).entity(named: "A")?.layouts)
    let new = try #require(StoreSchema(try stored.adopting(after).stored).entity(named: "A")?.layouts)
    let bytes = RowWriter(old).row { _ in .value(.string("x")) }
    try bytes.withUnsafeBytes { bytes in
      let row = try RowView(checking: bytes, new)
      #expect(row.value(0) == .integer(5))
      #expect(row.value(1) == .string("x"))
    }
  }
}
