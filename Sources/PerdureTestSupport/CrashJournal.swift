/// What happened on a `SimulatedFileSystem`: every operation that changed something or promised something,
/// in order, and the marks that were set between them.
///
/// A value; it doesn't change when the file system goes on.
public struct CrashJournal: Sendable {
  struct Operation: Sendable {
    let kind: FileOperation
    /// The kind, the path and the numbers that matter, for people.
    let text: String
    let event: DiskEvent
  }

  struct Mark: Sendable {
    enum Kind: Sendable { case begun, acknowledged }

    let kind: Kind
    let label: Int
    /// How many operations there were before.
    let operationCount: Int
  }

  /// The disk at the beginning.
  let start: DurabilityModel
  private(set) var operations: [Operation] = []
  private(set) var marks: [Mark] = []

  init(start: DurabilityModel) {
    self.start = start
  }

  /// How many operations there are.
  public var operationCount: Int { operations.count }

  /// One line for each operation, for people.
  public var trace: [String] {
    operations.enumerated().map { "#\($0 + 1) \($1.text)" }
  }

  mutating func record(_ kind: FileOperation, _ text: String, _ event: DiskEvent) {
    operations.append(Operation(kind: kind, text: "\(kind.rawValue) \(text)", event: event))
  }

  mutating func mark(_ kind: Mark.Kind, _ label: Int) {
    marks.append(Mark(kind: kind, label: label, operationCount: operations.count))
  }

  /// The labels marked before operation `count` + 1 began, in order.
  func labels(_ kind: Mark.Kind, after count: Int) -> [Int] {
    marks.lazy.filter { $0.kind == kind && $0.operationCount <= count }.map(\.label)
  }
}
