// Compares the data that children see over their parent's unsaved changes with the store after a
// save. The data are rows, links, orders, and every entry of every index, forwards, backwards and
// in ranges.

import PerdureModel
import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Unsaved changes laid over a store")
struct LayeredViewTests {
  @Test("A view over unsaved changes equals the store after a save")
  func likeSaved() throws {
    var random = SeededGenerator.forTest("layered views")
    for _ in 0..<4 {
      var scene = try LayeredScene(SeededGenerator(seed: random.next()))
      for _ in 0..<8 {
        for _ in 0..<25 { scene.edit() }
        try scene.check()
      }
    }
  }

  @Test("The view is the same object until a change, and an unchanged row keeps its version")
  func versions() throws {
    let context = try Staff.context(.engine)
    let (ada, bob) = (context.worker("Ada"), context.worker("Bob"))
    let store = ParentStore(context)
    let first = store.view()
    #expect(store.view() === first)
    ada.name = "Eve"
    let second = store.view()
    #expect(second !== first && second.sequence > first.sequence)
    #expect(try second.version(of: bob.reference) == first.version(of: bob.reference))
    #expect(try second.version(of: ada.reference) != first.version(of: ada.reference))
  }
}

extension LayeredScene {
  // MARK: Checks

  mutating func check() throws {
    let layered = ParentStore(context).view()
    try context.save()
    let saved = context.core.viewState.view
    for case let entity? in context.core.graph.store.entities where entity.layouts != nil {
      try compareRows(of: entity.number, layered, saved)
    }
    for (position, definition) in context.core.graph.store.indexes.enumerated() {
      if case .sums = definition.kind {
        try compareSums(
          of: StoreIndex(rawValue: position), name: definition.name, layered, saved)
        continue
      }
      try compare(StoreIndex(rawValue: position), name: definition.name, layered, saved)
    }
  }

  private func compareSums(
    of index: StoreIndex, name: String, _ layered: any StoreView, _ saved: any StoreView
  ) throws {
    for case let entity? in context.core.graph.store.entities where entity.layouts != nil {
      for owner in try rows(entity.number, saved, descending: false).keys {
        let (found, expected) = (try layered.sum(index, of: owner), try saved.sum(index, of: owner))
        #expect(found?.value == expected?.value, "\(name)")
      }
    }
  }

  /// Compares single entries by position.
  private mutating func comparePositions(
    of index: StoreIndex, name: String, in range: KeyRange, _ layered: any StoreView,
    _ saved: any StoreView
  ) throws {
    let expected = try entries(index, saved, range)
    for position in [0, expected.count - 1, Int.random(in: 0...expected.count, using: &random)] {
      guard position >= 0 else { continue }
      var found: LayerEntry?
      try layered.withEntry(at: position, of: range, in: index) { key, reference in
        found = LayerEntry(key: Array(key), reference: reference)
      }
      let entry = position < expected.count ? expected[position] : nil
      #expect(found == entry, "\(name) at \(position)")
    }
  }

  /// Whether entries have positions: links and order keys have none.
  private func isDerived(_ index: StoreIndex) -> Bool {
    switch context.core.graph.store.definition(index).kind {
    case .links, .orders: false
    default: true
    }
  }

  private func rows(
    _ entity: UInt16, _ view: any StoreView, descending: Bool
  ) throws -> [ObjectReference: [UInt8]] {
    var rows: [ObjectReference: [UInt8]] = [:]
    var order: [UInt64] = []
    try view.visitRows(entity: entity, descending: descending) { reference, row in
      rows[reference] = Array(row.bytes)
      order.append(reference.rawValue)
      return true
    }
    #expect(order == order.sorted { descending ? $0 > $1 : $0 < $1 })
    return rows
  }

  private mutating func compareRows(of entity: UInt16, _ layered: any StoreView, _ saved: any StoreView)
    throws
  {
    let expected = try rows(entity, saved, descending: false)
    #expect(try rows(entity, layered, descending: false) == expected)
    #expect(try rows(entity, layered, descending: true) == expected)
    #expect(try layered.rowCount(entity: entity) == saved.rowCount(entity: entity))
    var references: [ObjectReference] = []
    try layered.visitReferences(entity: entity, from: 3) {
      references.append($0)
      return true
    }
    let all = expected.keys.sorted { $0.rawValue < $1.rawValue }
    #expect(references == all.filter { $0.id >= 3 })
    try compareStops(of: entity, layered, all)
    var found: [Int: [UInt8]] = [:]
    try layered.rows(all) { found[$0] = $1.map { Array($0.bytes) } }
    #expect(found == Dictionary(uniqueKeysWithValues: all.enumerated().map { ($0, expected[$1]!) }))
  }

  /// Checks that a visit that is stopped at an object passes no later object.
  private mutating func compareStops(
    of entity: UInt16, _ layered: any StoreView, _ all: [ObjectReference]
  ) throws {
    guard let last = all.randomElement(using: &random) else { return }
    for descending in [false, true] {
      var found: [ObjectReference] = []
      try layered.visitRows(entity: entity, descending: descending) { reference, _ in
        found.append(reference)
        return reference != last
      }
      let walk = descending ? all.reversed() : all
      #expect(found == Array(walk[...walk.firstIndex(of: last)!]))
    }
    var found: [ObjectReference] = []
    try layered.visitReferences(entity: entity, from: 0) {
      found.append($0)
      return $0 != last
    }
    #expect(found == Array(all[...all.firstIndex(of: last)!]))
  }

  /// Checks that a visit of an index that is stopped at an entry passes no later entry.
  private mutating func compareStops(
    of index: StoreIndex, name: String, _ layered: any StoreView, _ all: [LayerEntry]
  ) throws {
    guard let last = all.randomElement(using: &random) else { return }
    for descending in [false, true] {
      var found: [LayerEntry] = []
      try layered.visitEntries(index, .all, descending: descending) { key, reference in
        found.append(LayerEntry(key: Array(key), reference: reference))
        return found.last != last
      }
      let walk = descending ? all.reversed() : all
      #expect(found == Array(walk[...walk.firstIndex(of: last)!]), "\(name)")
    }
  }

  private func entries(
    _ index: StoreIndex, _ view: any StoreView, _ range: KeyRange = .all, descending: Bool = false
  ) throws -> [LayerEntry] {
    var entries: [LayerEntry] = []
    try view.visitEntries(index, range, descending: descending) { key, reference in
      entries.append(LayerEntry(key: Array(key), reference: reference))
      return true
    }
    return entries
  }

  private mutating func compare(
    _ index: StoreIndex, name: String, _ layered: any StoreView, _ saved: any StoreView
  ) throws {
    let expected = try entries(index, saved)
    #expect(try entries(index, layered) == expected, "\(name)")
    #expect(try entries(index, layered, descending: true) == expected.reversed(), "\(name)")
    try compareStops(of: index, name: name, layered, expected)
    if isDerived(index) { try comparePositions(of: index, name: name, in: .all, layered, saved) }
    guard let first = expected.randomElement(using: &random),
      let second = expected.randomElement(using: &random)
    else { return }
    for range in [KeyRange(lower: first.key, upper: second.key), .equal(first.key)] {
      #expect(try layered.entryCount(index, range) == saved.entryCount(index, range), "\(name)")
      if isDerived(index) { try comparePositions(of: index, name: name, in: range, layered, saved) }
      #expect(try entries(index, layered, range) == entries(index, saved, range), "\(name)")
      #expect(
        try entries(index, layered, range, descending: true) == entries(index, saved, range, descending: true)
      )
    }
    guard first.key.count == 8, context.core.graph.store.definition(index).hasBareReferences else { return }
    let owner = ObjectReference(rawValue: first.key.reduce(0) { $0 << 8 | UInt64($1) })
    var (found, stored): ([ObjectReference], [ObjectReference]) = ([], [])
    try layered.appendReferences(under: owner, in: index, to: &found)
    try saved.appendReferences(under: owner, in: index, to: &stored)
    #expect(found == stored, "\(name)")
    #expect(try layered.hasEntry(under: owner, first.reference, in: index))
    #expect(try !layered.hasEntry(under: owner, owner, in: index) || found.contains(owner))
  }
}
