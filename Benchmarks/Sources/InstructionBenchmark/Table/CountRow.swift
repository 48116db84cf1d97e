/// The number of instructions of one operation.
struct CountRow: Codable, Equatable {
  /// The name of the operation, such as "equal by index".
  var operation: String
  /// The unsaved changes of its context, such as "100 of another entity", or "none".
  var pending: String
  /// The number of instructions of one operation, rounded to a tenth.
  var instructions: Double

  /// The identity of the row, to find it in another table.
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
