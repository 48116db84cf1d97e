/// The history of a `SimulatedFileSystem`: all operations that changed the disk or made changes
/// durable, in order, and the marks between them.
///
/// A journal is a value. Later operations of the file system do not change it.
public struct CrashJournal: Sendable {
  struct Operation: Sendable {
    let kind: FileOperation
    /// The kind of operation, the path, and offsets or lengths, for display.
    let text: String
    let event: DiskEvent
  }

  struct Mark: Sendable {
    enum Kind: Sendable { case begun, acknowledged, promised }

    let kind: Kind
    let label: Int
    /// The number of operations before the mark.
    let operationCount: Int
  }

  /// The disk at the beginning.
  let start: DurabilityModel
  private(set) var operations: [Operation] = []
  private(set) var marks: [Mark] = []
  /// The first errors in the use of marks.
  private(set) var labelMistakes: [String] = []
  /// The labels of steps that began before this journal: in the workload, or in a recovery that a
  /// crash interrupted.
  private var earlier: Set<Int> = []
  private var begunLabels: Set<Int> = []
  private var acknowledgedLabels: Set<Int> = []

  init(start: DurabilityModel) {
    self.start = start
  }

  /// The number of operations.
  public var operationCount: Int { operations.count }

  /// One line for each operation, for display.
  public var trace: [String] {
    operations.enumerated().map { "#\($0 + 1) \($1.text)" }
  }

  /// The trace of the first operations, with the marks between them.
  ///
  /// - Parameter note: Returns a remark about an operation; nil for no remark.
  func markedTrace(upTo count: Int, _ note: (Int) -> String? = { _ in nil }) -> [String] {
    var lines: [String] = []
    var rest = marks[...]
    func addMarks(before operation: Int) {
      while let mark = rest.first, mark.operationCount < operation {
        lines.append("-- \(mark.label) \(mark.kind.words)")
        rest.removeFirst()
      }
    }
    for (index, operation) in operations.prefix(count).enumerated() {
      addMarks(before: index + 1)
      let text = "#\(index + 1) \(operation.text)"
      lines.append(note(index + 1).map { "\(text): \($0)" } ?? text)
    }
    addMarks(before: min(count, operations.count) + 1)
    return lines
  }

  mutating func record(_ kind: FileOperation, _ text: String, _ event: DiskEvent) {
    operations.append(Operation(kind: kind, text: "\(kind.rawValue) \(text)", event: event))
  }

  /// Allows these steps to be acknowledged, because they began before this journal. They may also
  /// begin again.
  mutating func expect(_ labels: [Int]) { earlier.formUnion(labels) }

  mutating func mark(_ kind: Mark.Kind, _ label: Int) {
    switch kind {
    case .begun:
      if !begunLabels.insert(label).inserted { complain("step \(label) has begun twice") }
    case .acknowledged:
      if !begunLabels.contains(label), !earlier.contains(label) {
        complain("step \(label) was acknowledged, but had not begun")
      } else if !acknowledgedLabels.insert(label).inserted {
        complain("step \(label) was acknowledged twice")
      }
    case .promised: break
    }
    marks.append(Mark(kind: kind, label: label, operationCount: operations.count))
  }

  private mutating func complain(_ text: String) {
    guard labelMistakes.count < Self.labelMistakesMax else { return }
    labelMistakes.append("\(text), after operation #\(operations.count)")
  }

  private static let labelMistakesMax = 8

  /// The labels of the marks that were set before operation `count` + 1, in order. Only marks whose
  /// kind `isWanted` accepts are included.
  func labels(after count: Int, _ isWanted: (Mark.Kind) -> Bool) -> [Int] {
    marks.filter { isWanted($0.kind) && $0.operationCount <= count }.map(\.label)
  }
}

extension CrashJournal.Mark.Kind {
  /// The text of a mark in the trace.
  fileprivate var words: String {
    switch self {
    case .begun: "begins"
    case .acknowledged: "is acknowledged"
    case .promised: "is promised"
    }
  }
}
