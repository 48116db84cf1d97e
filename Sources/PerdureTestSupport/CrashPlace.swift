/// The place of one crash in an exploration. `"19.3"` is disk 3 after operation 19 of the workload.
/// `"19.3/4.0"` is disk 0 after operation 4 of the recovery from that crash.
///
/// With the same seed, settings and workload, a place identifies the same crash
/// (`CrashExplorer.only`).
public struct CrashPlace: Sendable, Hashable, LosslessStringConvertible, ExpressibleByStringLiteral {
  struct Step: Sendable, Hashable {
    /// The number of operations before the cut. 0 means that the cut is before the first operation.
    let operation: Int
    /// The number of the disk among those built after the operation, from 0.
    let disk: Int
  }

  let steps: [Step]

  init(_ steps: [Step]) { self.steps = steps }

  /// Parses a place that a violation printed; nil for any other text.
  public init?(_ description: String) {
    var steps: [Step] = []
    for part in description.split(separator: "/", omittingEmptySubsequences: false) {
      let numbers = part.split(separator: ".", omittingEmptySubsequences: false)
      guard numbers.count == 2, let operation = Int(numbers[0]), let disk = Int(numbers[1]), operation >= 0,
        disk >= 0
      else { return nil }
      steps.append(Step(operation: operation, disk: disk))
    }
    self.steps = steps
  }

  /// Parses a place that a violation printed. Any other text stops the program.
  public init(stringLiteral text: String) {
    guard let place = CrashPlace(text) else {
      preconditionFailure("\(text) is not a place of a crash. Write it like 19.3 or 19.3/4.0")
    }
    self = place
  }

  /// The operations and disks, first those of the workload.
  public var description: String {
    steps.map { "\($0.operation).\($0.disk)" }.joined(separator: "/")
  }
}
