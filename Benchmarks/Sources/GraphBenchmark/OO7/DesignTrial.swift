import Foundation
import Measuring

/// Runs OO7's queries and changes on an engine. An engine with a file opens its store again before
/// each operation. The hot traversal is the exception: it finds the objects of a previous traversal
/// in memory.
struct DesignTrial {
  let design: DesignData
  let repetitions: Int
  /// The operations to run. They run in the order of `DesignWorkload`: insertions before deletions.
  let workloads: Set<DesignWorkload>
  let folder: URL

  func run<Engine: DesignEngine>(_ type: Engine.Type) throws -> Outcome {
    let place = try TrialFolder(in: folder)
    defer { place.remove() }
    let engine = try type.init(folder: place.url, design: design)
    var measurements: [Measurement] = []
    for workload in DesignWorkload.allCases where workloads.contains(workload) {
      measurements.append(try measure(engine, workload))
      if workload == .insert { try check(engine, additions: DesignAddition.count) }
    }
    let isGrown = workloads.contains(.insert) && !workloads.contains(.delete)
    let content = try check(engine, additions: isGrown ? DesignAddition.count : 0)
    try engine.close()
    return Outcome(engine: Engine.name, measurements: measurements, content: content)
  }

  private func measure(_ engine: some DesignEngine, _ workload: DesignWorkload) throws -> Measurement {
    var costs: [Cost] = []
    var answer = Answer()
    for _ in 0..<(workload.isQuestion ? repetitions : 1) {
      try engine.prepare(workload)
      Idle.wait()
      let (found, cost) = try Cost.measured { try engine.perform(workload) }
      if let expected = design.expected(workload), found.count != expected {
        throw GraphDisagreement(
          "\(type(of: engine).name): \(workload.rawValue) finds \(found.count), not \(expected)")
      }
      answer = found
      costs.append(cost)
    }
    return Measurement(
      row: workload.rawValue, isPerObject: false, answer: answer, cost: .median(of: costs))
  }

  /// Checks the number of atomic parts, and returns the answer of the scan.
  @discardableResult
  private func check(_ engine: some DesignEngine, additions: Int) throws -> Answer {
    try engine.prepare(.scan)
    let content = try engine.perform(.scan)
    let expected = design.size.atomicCount + additions * design.size.atomicPerComposite
    guard content.count == expected else {
      throw GraphDisagreement(
        "\(type(of: engine).name) has \(content.count) atomic parts, not \(expected)")
    }
    return content
  }
}

extension DesignData {
  /// The number of atomic parts that a query finds; nil for insertions and deletions.
  func expected(_ workload: DesignWorkload) -> Int? {
    switch workload {
    case .traverseCold, .traverseHot:
      bases.count * DesignSize.compositesPerAssembly * size.atomicPerComposite
    case .range: composites.reduce(0) { $0 + $1.atomics.count { $0.part.buildDate >= DesignSize.rangeStart } }
    case .scan, .join: size.atomicCount
    case .insert, .delete: nil
    }
  }
}
