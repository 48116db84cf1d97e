import Foundation
import Measuring
import Perdure

/// The cost of making a request from a fetch request template.
struct Templates {
  static let requestCount = 10_000
  let rounds: Int

  func figures() throws -> [ObjectFigure] {
    let model = try ManagedObjectModel(
      [EntityDescription(from: Account.self), EntityDescription(from: Owner.self)],
      templates: [
        FetchRequestTemplate(
          "rich", Account.self, "balance > $least AND owner.name BEGINSWITH[c] $name AND isOpen == YES",
          sortDescriptors: [FetchOrder("balance", ascending: false)], fetchLimit: 100)
      ])
    var failure: (any Error)?
    var costs: [Double] = []
    for _ in 0..<rounds {
      costs.append(
        Measuring.nanoseconds {
          for number in 0..<Self.requestCount {
            do throws(FetchTemplateError) {
              keep(
                try model.fetchRequestFromTemplate(
                  withName: "rich", substitutionVariables: ["least": Double(number), "name": "a"],
                  as: Account.self))
            } catch { failure = error }
          }
        })
    }
    if let failure { throw failure }
    return [
      ObjectFigure(
        name: "substitute 2 variables of a template", unit: "ns", plain: 0,
        perdure: Measuring.rounded(Measuring.median(costs) / Double(Self.requestCount)), limit: 5_000)
    ]
  }
}
