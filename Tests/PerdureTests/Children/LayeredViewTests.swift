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

private struct LayeredScene {
  let container: PersistentContainer
  let context: ManagedObjectContext
  var random: SeededGenerator
  var lastNumber: Int64 = 0

  init(_ random: SeededGenerator) throws {
    let model = try TestModel.model(indexed: true)
    container = PersistentContainer(name: "Layers", model: model, classes: [], description: .inMemory)
    try container.loadPersistentStores()
    context = container.newContext()
    self.random = random
  }

  // MARK: Edits

  private mutating func any(_ entity: String) -> ManagedObject? {
    let all = try? context.fetch(FetchRequest<ManagedObject>(entityName: entity))
    return all?.sorted { $0.objectID.uri < $1.objectID.uri }.randomElement(using: &random)
  }

  mutating func edit() {
    lastNumber += 1
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<30:
      let entity = ["Employee", "Manager", "Company", "Tag", "Badge"].randomElement(using: &random)!
      describe(context.insertNewObject(forEntityName: entity))
    case 30..<50: any("Employee").map { describe($0) }
    case 50..<60: any("Employee")?.setValue(any("Company"), forKey: "company")
    case 60..<66: any("Employee")?.setValue(any("Employee"), forKey: "boss")
    case 66..<70: any("Employee")?.setValue(any("Badge"), forKey: "badge")
    case 70..<86: toggle()
    default: any(["Party", "Tag", "Badge"].randomElement(using: &random)!).map { context.delete($0) }
    }
  }

  private mutating func describe(_ object: ManagedObject) {
    switch object.entity.name {
    case "Employee", "Manager":
      object.setValue("n\(Int.random(in: 0..<9, using: &random))", forKey: "name")
      object.setValue(Int.random(in: 0..<5, using: &random) == 0 ? nil : Int16(lastNumber % 7), forKey: "age")
      object.setValue(lastNumber, forKey: "big")
      object.setValue(Double.random(in: -3..<3, using: &random), forKey: "salary")
    case "Company": object.setValue("c\(lastNumber)", forKey: "name")
    case "Tag": object.setValue("t\(Int.random(in: 0..<4, using: &random))", forKey: "label")
    default: object.setValue(Int32(lastNumber), forKey: "number")
    }
  }

  private mutating func toggle() {
    let friends = Bool.random(using: &random)
    guard let owner = any("Employee"), let other = any(friends ? "Employee" : "Tag") else { return }
    let set = owner.mutableSetValue(forKey: friends ? "friends" : "tags")
    if set.contains(other) { set.remove(other) } else { set.insert(other) }
  }

  // MARK: Checks

  mutating func check() throws {
    let layered = ParentStore(context).view()
    try context.save()
    let saved = context.core.view
    for case let entity? in context.core.graph.store.entities where entity.layouts != nil {
      try compareRows(of: entity.number, layered, saved)
    }
    for (position, definition) in context.core.graph.store.indexes.enumerated() {
      if case .sums = definition.kind { continue }
      try compare(StoreIndex(rawValue: position), definition.name, layered, saved)
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

  private func compareRows(of entity: UInt16, _ layered: any StoreView, _ saved: any StoreView) throws {
    let expected = try rows(entity, saved, descending: false)
    #expect(try rows(entity, layered, descending: false) == expected)
    #expect(try rows(entity, layered, descending: true) == expected)
    #expect(layered.rowCount(entity: entity) == saved.rowCount(entity: entity))
    var references: [ObjectReference] = []
    try layered.visitReferences(entity: entity, from: 3) {
      references.append($0)
      return true
    }
    let all = expected.keys.sorted { $0.rawValue < $1.rawValue }
    #expect(references == all.filter { $0.id >= 3 })
    var found: [Int: [UInt8]] = [:]
    try layered.rows(all) { found[$0] = $1.map { Array($0.bytes) } }
    #expect(found == Dictionary(uniqueKeysWithValues: all.enumerated().map { ($0, expected[$1]!) }))
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
    _ index: StoreIndex, _ name: String, _ layered: any StoreView, _ saved: any StoreView
  ) throws {
    let expected = try entries(index, saved)
    #expect(try entries(index, layered) == expected, "\(name)")
    #expect(try entries(index, layered, descending: true) == expected.reversed(), "\(name)")
    guard let first = expected.randomElement(using: &random),
      let second = expected.randomElement(using: &random)
    else { return }
    for range in [KeyRange(lower: first.key, upper: second.key), .equal(first.key)] {
      #expect(try layered.entryCount(index, range) == saved.entryCount(index, range), "\(name)")
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
