import ArgumentParser
import Foundation
import Measuring
import Perdure

/// Compares the costs of objects with those of a plain Swift class.
@main struct ObjectBenchmark: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract:
      "Compare properties, memory, validation and requests of objects with those of a plain Swift class.")

  @Option(help: "The number of measurements of each figure; the median is shown.")
  var rounds = 21

  @Option(help: "The number of passes over the objects in each round of gets or sets.")
  var passes = 200

  @Option(help: "The number of objects whose memory is measured.")
  var objects = 1_000_000

  @Option(help: "A file for the measurements, as JSON.")
  var results: String?

  func validate() throws {
    guard rounds > 0, passes > 0, objects > 0 else {
      throw ValidationError("--rounds, --passes and --objects must be at least 1.")
    }
  }

  func run() throws {
    let report = ObjectReport(
      settings: settings,
      figures: try Accessors(passes: passes, rounds: rounds).figures(in: container())
        + Footprint(objectCount: objects).figures(in: container())
        + Validation(rounds: rounds).figures(in: container()) + Templates(rounds: rounds).figures())
    print(report.table)
    if let results { try report.json().write(to: URL(fileURLWithPath: results)) }
  }

  private func container() throws -> PersistentContainer {
    let container = try PersistentContainer(
      name: "Objects", classes: [Account.self, Owner.self, Form.self, Letter.self], description: .inMemory)
    try container.loadPersistentStores()
    return container
  }

  private var settings: [String] {
    let system = ProcessInfo.processInfo
    return [
      "\(Accessors.objectCount) objects, \(passes) passes, medians of \(rounds) rounds in turn, processor time",
      "memory of \(objects) objects",
      "\(system.operatingSystemVersionString), \(system.activeProcessorCount) processors",
    ]
  }
}
