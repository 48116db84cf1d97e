// One context is the store of all other contexts of a container. Tests of the graph can also run on
// such child contexts.

import PerdureModel
import PerdurePredicates
import Testing

@testable import Perdure

/// A parent context that is the store of its children. It saves after a given number of saves of
/// its children.
// Unchecked: a test uses it on one thread at a time.
final class HeldParent: PersistentStore, @unchecked Sendable {
  private let container: PersistentContainer
  let parent: ManagedObjectContext
  private let inner: ParentStore
  private var commitCount = 0
  /// The number of saves of children after which the parent saves.
  private let commitsPerSave: Int

  init(_ store: any PersistentStore, _ model: ManagedObjectModel, commitsPerSave: Int = 3) throws {
    // The parent's objects do not have the tests' classes, so only the children's objects call
    // hooks.
    container = PersistentContainer(
      name: "Parent", model: model, classes: [], description: .inMemory,
      factory: StoreFactory { _, _ in store })
    try container.loadPersistentStores()
    parent = container.newContext()
    inner = ParentStore(parent)
    self.commitsPerSave = commitsPerSave
  }

  var schema: StoreSchema { inner.schema }
  var identifier: String { inner.identifier }

  func view() -> any StoreView { inner.view() }
  func check(_ change: StoreChange) throws { try inner.check(change) }

  func commit(_ change: StoreChange) throws -> any StoreView {
    let view = try inner.commit(change)
    try compareParent(with: view)
    commitCount += 1
    guard commitCount % commitsPerSave == 0 else { return view }
    try parent.save()
    return inner.view()
  }

  /// Checks that children and parent show the same relationships, at both ends. Skips entities with
  /// more than 100 rows.
  private func compareParent(with view: any StoreView) throws {
    let core = parent.core
    for case let entity? in schema.entities where entity.layouts != nil {
      guard try view.rowCount(entity: entity.number) <= 100 else { continue }
      let shape = core.graph.shape(numbered: entity.number)
      try view.visitReferences(entity: entity.number, from: 0) { reference in
        for relationship in shape.relationships {
          let all = core.reading.links.targets(of: reference, relationship)
          // The delete rule `.noAction` leaves references to deleted objects.
          let shown = try all.filter { try view.version(of: $0) != nil }
          let seen = try targets(reference, relationship, view)
          #expect(relationship.order == nil || shown == seen, "\(shape.name).\(relationship.name)")
          #expect(Set(shown) == Set(seen) && shown.count == seen.count, "\(shape.name).\(relationship.name)")
          #expect(core.reading.links.targetCount(of: reference, relationship) == all.count)
        }
        return true
      }
    }
  }

  private func targets(
    _ owner: ObjectReference, _ relationship: RelationshipShape, _ view: any StoreView
  ) throws -> [ObjectReference] {
    var found: [ObjectReference] = []
    if relationship.form == .column {
      return try view.withRow(owner) { stored in
        guard let stored else { return [] }
        let row = try schema.rows.view(stored.bytes, of: owner)
        let field = row.fields[relationship.slot]
        guard row.isPresent(field), try view.version(of: row.reference(field)) != nil else { return [] }
        return [row.reference(field)]
      }
    }
    if let order = relationship.order {
      try view.visitEntries(order.ordered, OrderIndexes.range(of: owner), descending: false) { _, member in
        found.append(member)
        return true
      }
    } else if let index = relationship.index {
      try view.appendReferences(under: owner, in: index, to: &found)
    }
    return found
  }

  func allocateIDs(entity: UInt16, count: Int) throws -> Range<UInt64> {
    try inner.allocateIDs(entity: entity, count: count)
  }

  func close() throws { try container.close() }
}
