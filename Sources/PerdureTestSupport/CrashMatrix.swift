import PerdureText

/// The number of distinct disks after power cuts, by the operation before the cut and by the kind
/// of loss. A disk with several kinds of loss is counted for each of them.
public struct CrashMatrix: Sendable, Hashable, CustomStringConvertible {
  private struct Cell: Sendable, Hashable {
    let operation: FileOperation?
    let loss: CrashLoss
  }

  private var counts: [Cell: Int] = [:]

  /// A matrix of zeros.
  public init() {}

  /// The number of disks after an operation of this kind, with a loss of that kind. If `operation`
  /// is nil, the number of disks after a cut before the first operation.
  public subscript(operation: FileOperation?, loss: CrashLoss) -> Int {
    counts[Cell(operation: operation, loss: loss)] ?? 0
  }

  /// The kinds of loss that occurred.
  public var losses: Set<CrashLoss> { Set(counts.keys.map(\.loss)) }

  /// The kinds of operation before power cuts.
  public var operations: Set<FileOperation> { Set(counts.keys.compactMap(\.operation)) }

  /// Counts a disk, which must be distinct from all counted disks.
  public mutating func add(_ context: CrashContext) {
    for loss in context.losses {
      counts[Cell(operation: context.operationKind, loss: loss), default: 0] += 1
    }
  }

  /// Adds the counts of another matrix. No disk may be in both matrices.
  public static func += (sum: inout CrashMatrix, other: CrashMatrix) {
    sum.counts.merge(other.counts, uniquingKeysWith: +)
  }

  /// The lines of a table with a row for each kind of operation that has counts, and a column for
  /// each kind of loss.
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
