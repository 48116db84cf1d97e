import PerdureText

/// How many distinct disks losses of power have left, by the operation after which the power went,
/// and by what it took. A disk that shows several kinds of loss counts for each.
public struct CrashMatrix: Sendable, Hashable, CustomStringConvertible {
  private struct Cell: Sendable, Hashable {
    let operation: FileOperation?
    let loss: CrashLoss
  }

  private var counts: [Cell: Int] = [:]

  /// A matrix of zeros.
  public init() {}

  /// The disks left after an operation of this kind, with a loss of that kind; nil is before the
  /// first.
  public subscript(operation: FileOperation?, loss: CrashLoss) -> Int {
    counts[Cell(operation: operation, loss: loss)] ?? 0
  }

  /// The kinds of loss that were seen.
  public var losses: Set<CrashLoss> { Set(counts.keys.map(\.loss)) }

  /// The kinds of operation after which the power went.
  public var operations: Set<FileOperation> { Set(counts.keys.compactMap(\.operation)) }

  /// Counts a disk that no other is like.
  public mutating func add(_ context: CrashContext) {
    for loss in context.losses {
      counts[Cell(operation: context.operationKind, loss: loss), default: 0] += 1
    }
  }

  /// Adds the counts of another matrix. The disks in it must not be in this one.
  public static func += (sum: inout CrashMatrix, other: CrashMatrix) {
    sum.counts.merge(other.counts, uniquingKeysWith: +)
  }

  /// The lines of a table: a row for each kind of operation, a column for each kind of loss.
  public var lines: [String] {
    let kinds = [nil] + FileOperation.allCases.map(Optional.some)
    let rows = kinds.filter { kind in CrashLoss.allCases.contains { self[kind, $0] > 0 } }
    let header = [""] + CrashLoss.allCases.map(\.rawValue)
    let table = rows.map { kind in
      [kind?.rawValue ?? "the beginning"] + CrashLoss.allCases.map { "\(self[kind, $0])" }
    }
    return TextTable.lines([header] + table)
  }

  /// The table.
  public var description: String { lines.joined(separator: "\n") }
}
