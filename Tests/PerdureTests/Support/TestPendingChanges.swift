// Unsaved changes, simulated by a second store with the content that the context would show.

import PerdurePredicates

@testable import Perdure

struct TestPendingChanges: PendingChanges {
  private let shown: RowGraph
  private let touched: Set<ObjectReference>
  private let present: Set<ObjectReference>

  /// The changes from one set of objects to another set.
  init(from before: TestGraph, to after: TestGraph) {
    shown = RowGraph(schema: after.schema, view: after.store.view())
    present = Set(after.objects.keys)
    var touched: Set<ObjectReference> = []
    for reference in Set(before.objects.keys).union(after.objects.keys) {
      let (old, new) = (before.objects[reference], after.objects[reference])
      if old?.values == new?.values, old?.links == new?.links { continue }
      // Both ends of a changed link have changed.
      touched.insert(reference)
      for object in [old, new] {
        guard let object else { continue }
        touched.formUnion(object.links.values.flatMap { $0 })
        for case .reference(let target) in object.values.values { touched.insert(target) }
      }
    }
    self.touched = touched
  }

  func isTouched(_ reference: ObjectReference) -> Bool { touched.contains(reference) }

  func touches(entity: UInt16) -> Bool { touched.contains { $0.entityNumber == entity } }

  func changedObjects(of entity: UInt16) -> [ObjectReference] {
    touched.filter { $0.entityNumber == entity && present.contains($0) }
  }

  func touchedObjects(of entity: UInt16) -> [ObjectReference] {
    touched.filter { $0.entityNumber == entity }
  }

  func source(of reference: ObjectReference) -> any PropertySource { RowSource(reference, shown) }
}
