/// The instructions of one operation.
struct CountRow: Codable, Equatable {
  /// What is counted, such as "equal by index".
  var operation: String
  /// The unsaved changes beside which it runs, such as "100 of another entity"; "none" without.
  var pending: String
  /// The instructions of one operation, to a tenth.
  var instructions: Double

  /// What makes a row the same in two tables.
  var title: String { Self.title(operation, pending) }

  static func title(_ operation: String, _ pending: String) -> String {
    pending == Pending.none.title ? operation : "\(operation), \(pending)"
  }
}

extension CountRow {
  init(_ scenario: Scenario, instructions: Double) {
    self.init(
      operation: scenario.operation, pending: scenario.pending.title, instructions: instructions)
  }
}
