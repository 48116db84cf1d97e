import Foundation
import Measuring
import Perdure

/// The cost of validating changed objects.
struct Validation {
  static let objectCount = 10_000
  let rounds: Int

  func figures(in container: PersistentContainer) throws -> [ObjectFigure] {
    [
      try figure("validate 8 bounds and lengths", Form.self, in: container, limit: 1_000),
      try figure("validate 8 rules, one of them a pattern", Letter.self, in: container, limit: nil),
    ]
  }

  private func figure<T: ManagedObject>(
    _ name: String, _ type: T.Type, in container: PersistentContainer, limit: Double?
  ) throws -> ObjectFigure {
    let context = container.newContext()
    for _ in 0..<Self.objectCount { context.insert(type) }
    try context.validate()
    var failure: (any Error)?
    var costs: [Double] = []
    for _ in 0..<rounds {
      costs.append(
        Measuring.nanoseconds {
          do throws(PerdureError) { try context.validate() } catch { failure = error }
        })
    }
    if let failure { throw failure }
    return ObjectFigure(
      name: name, unit: "ns", plain: 0,
      perdure: Measuring.rounded(Measuring.median(costs) / Double(Self.objectCount)), limit: limit)
  }
}
