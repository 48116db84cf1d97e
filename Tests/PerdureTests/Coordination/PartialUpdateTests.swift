import PerdureFileIO
import PerdureLog
import PerdureModel
import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Indexes when only some columns of a row change")
struct PartialUpdateTests {
  private static func model(extras: Int) throws -> ManagedObjectModel {
    var indexes = [
      FetchIndexDescription(on: "size"), FetchIndexDescription(on: "canonical:(name)"),
      FetchIndexDescription(on: "partCount"), FetchIndexDescription(on: "partSize"),
      FetchIndexDescription("both", [.init("name"), .init("size", ascending: false)]),
      FetchIndexDescription(
        "open", [.init("size")],
        partialPredicate: try FetchPredicate(format: "done == NO AND name BEGINSWITH 'a'")),
    ]
    if extras > 0 { indexes += [3, 9, 67].map { FetchIndexDescription(on: "extra\($0)") } }
    let item = EntityDescription(
      "Item",
      properties: [
        .string("name"), .int64("size"), .boolean("done"),
        .toMany("parts", "Item", inverse: "whole"), .toOne("whole", "Item", inverse: "parts"),
        .derived("partCount", "parts.@count"), .derived("partSize", "parts.size.@sum"),
      ] + (0..<extras).map { .int64("extra\($0)", default: .integer(5)) }, indexes: indexes)
    return try ManagedObjectModel([item])
  }

  private static func open(
    _ model: ManagedObjectModel, _ fileSystem: SimulatedFileSystem
  ) throws -> LogPersistentStore {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    return try LogPersistentStore(at: "/items.perdure", model: model, options: options)
  }

  /// Returns a value for a property. The value is often null, and often equal to that of other
  /// objects.
  private static func value(
    _ property: String, _ others: [ObjectReference], _ random: inout SeededGenerator
  ) -> Value {
    if Int.random(in: 0..<5, using: &random) == 0 { return .null }
    switch property {
    case "name": return .string(["a", "ab", "Äb", "b", "", "ab\0"].randomElement(using: &random) ?? "")
    case "done": return .bool(.random(using: &random))
    case "whole": return others.randomElement(using: &random).map(Value.reference) ?? .null
    default: return .integer(.random(in: -3...9, using: &random))
    }
  }

  /// Makes one commit: changes at most two columns of some rows, removes some rows, and adds
  /// some.
  private static func change(
    _ store: LogPersistentStore, _ references: inout [ObjectReference], _ random: inout SeededGenerator
  ) throws {
    let entity = try #require(store.schema.entity(named: "Item"))
    let layouts = try #require(entity.layouts)
    let slots = layouts.current.columnSlots.compactMap { $0 }
    let view = store.view()
    var change = StoreChange(view: view, schema: view.schema, durability: .relaxed)
    for reference in references where Int.random(in: 0..<3, using: &random) == 0 {
      if Int.random(in: 0..<12, using: &random) == 0 {
        change.removals.append(reference)
        continue
      }
      var changed: [Int: Value] = [:]
      for _ in 0..<Int.random(in: 0...2, using: &random) {
        let slot = slots.randomElement(using: &random) ?? 0
        changed[slot] = Self.value(entity.properties[slot].name, references, &random)
      }
      let stored = try #require(try view.leasedRow(reference))
      try stored.withRow { stored in
        let base = try RowView(checking: stored.bytes, layouts)
        change.puts.append(
          reference, RowWriter(layouts).row(base: base) { changed[$0].map(RowInput.value) ?? .copied })
      }
    }
    let removed = Set(change.removals)
    for id in try store.allocateIDs(entity: entity.number, count: .random(in: 1...4, using: &random)) {
      let values = slots.map { ($0, Self.value(entity.properties[$0].name, references, &random)) }
      let table = Dictionary(uniqueKeysWithValues: values)
      let reference = ObjectReference(entity: entity.number, id: id)
      change.puts.append(reference, RowWriter(layouts).row { .value(table[$0] ?? .null) })
      references.append(reference)
    }
    references.removeAll { removed.contains($0) }
    _ = try store.commit(change)
  }

  @Test("After commits that change random columns, all indexes agree with the rows, also for older layouts")
  func random() throws {
    let seed = SeededGenerator.seedFromEnvironment()
    print("seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let fileSystem = SimulatedFileSystem()
    var references: [ObjectReference] = []
    var store = try Self.open(Self.model(extras: 0), fileSystem)
    for _ in 0..<25 {
      try Self.change(store, &references, &random)
      #expect(try store.store.verify().findings.isEmpty)
    }
    try store.close()
    store = try Self.open(Self.model(extras: 70), fileSystem)
    for _ in 0..<25 {
      try Self.change(store, &references, &random)
      #expect(try store.store.verify().findings.isEmpty)
    }
    try store.close()
  }

  @Test("A predicate reads only its columns, or all parts if it uses derived values, links or SELF")
  func conditions() throws {
    let store = try Self.open(Self.model(extras: 70), SimulatedFileSystem())
    let entity = try #require(store.schema.entity(named: "Item"))
    func parts(_ format: String) throws -> RowParts {
      RowParts(readBy: try FetchPredicate(format: format), entity)
    }
    func slots(_ names: String...) -> RowParts {
      RowParts(slots: names.compactMap { entity.slot(named: $0) })
    }
    let three = "done == NO AND (size > 3 OR lowercase:(name) == 'a')"
    #expect(try parts(three) == slots("done", "size", "name"))
    #expect(try parts("size IN {1, extra66}") == slots("size", "extra66"))
    #expect(try parts("TRUEPREDICATE") == slots())
    #expect(try parts("partCount > 1") == .all)
    #expect(try parts("whole.size > 1") == .all)
    #expect(try parts("SELF == NIL") == .all)
    try store.close()
  }

  @Test("A comparison of two rows finds each column whose value, presence or length differs")
  func comparison() throws {
    let store = try Self.open(Self.model(extras: 70), SimulatedFileSystem())
    let entity = try #require(store.schema.entity(named: "Item"))
    let layouts = try #require(entity.layouts)
    func changed(_ name: String, _ old: Value, _ new: Value) throws -> Bool {
      let slot = try #require(entity.slot(named: name))
      func row(_ value: Value) -> [UInt8] {
        RowWriter(layouts).row { .value($0 == slot ? value : .null) }
      }
      let parts = try row(old).withUnsafeBytes { old in
        try row(new).withUnsafeBytes { new in
          try RowView(checking: new, layouts)
            .changedParts(since: RowView(checking: old, layouts), slotCount: layouts.current.slotCount)
        }
      }
      #expect(parts == RowParts(slots: []) || parts == RowParts(slots: [slot]))
      return parts == RowParts(slots: [slot])
    }
    #expect(try !changed("name", .string("abcdefghij"), .string("abcdefghij")))
    #expect(try changed("name", .string("abcdefghij"), .string("abcdefghik")))
    #expect(try changed("name", .string("abcdefghij"), .string("abcdefghi")))
    #expect(try changed("name", .string(""), .null))
    #expect(try changed("size", .integer(0), .null))
    #expect(try changed("size", .integer(1), .integer(1 << 60)))
    #expect(try changed("done", .bool(false), .bool(true)))
    #expect(try !changed("extra69", .integer(4), .integer(4)))
    #expect(try changed("extra69", .integer(4), .integer(5)))
    try store.close()
  }
}
