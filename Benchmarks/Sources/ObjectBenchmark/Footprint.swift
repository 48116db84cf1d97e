import Foundation
import Measuring
import Perdure

/// The memory of registered objects without changes, as reported by the allocator.
struct Footprint {
  let objectCount: Int

  func figures(in container: PersistentContainer) throws -> [ObjectFigure] {
    if Measuring.allocatedBytes == nil { return [] }
    try fill(container)
    let ids = try container.newContext().fetch(FetchRequest<Form>()).map(\.objectID)
    let context = container.newContext()
    var objects: [ManagedObject] = []
    objects.reserveCapacity(ids.count)
    let empty = Measuring.allocatedBytes ?? 0
    for id in ids { objects.append(context.object(with: id)) }
    let faults = Measuring.allocatedBytes ?? 0
    for object in objects { keep(object.value(forKey: "quantity")) }
    let loaded = Measuring.allocatedBytes ?? 0
    withExtendedLifetime(objects) {}
    func figure(_ name: String, _ bytes: Int, limit: Double?) -> ObjectFigure {
      ObjectFigure(
        name: name, unit: "bytes", plain: 0, perdure: Measuring.rounded(Double(bytes) / Double(ids.count)),
        limit: limit)
    }
    return [
      figure("registered object, without its row", faults - empty, limit: 160),
      figure("memory of a row of 82 bytes", loaded - faults, limit: nil),
    ]
  }

  private func fill(_ container: PersistentContainer) throws {
    for start in stride(from: 0, to: objectCount, by: 10_000) {
      let context = container.newContext()
      for _ in start..<min(start + 10_000, objectCount) { _ = Form(context: context) }
      try context.save()
    }
  }
}
