import Foundation

/// The differences of two tables.
struct CountComparison: Equatable {
  /// A row whose count differs by more than the tolerance, or that one table lacks.
  struct Move: Equatable {
    let title: String
    /// Nil if the earlier table lacks the row.
    let before: Double?
    /// Nil if the later table lacks the row.
    let after: Double?

    /// The change in percent of the earlier count. Nil if a table lacks the row, or if the earlier
    /// count is 0.
    var percent: Double? {
      guard let before, let after, before != 0 else { return nil }
      return (after - before) / before * 100
    }
  }

  /// The moves, in the order of the earlier table, and then those of rows that the earlier table
  /// lacks.
  let moves: [Move]
  let rowCount: Int

  /// - Parameter tolerance: The largest change in percent of the earlier count that is not a move.
  init(_ before: CountTable, _ after: CountTable, tolerance: Double) {
    let (old, new) = (Self.counts(before), Self.counts(after))
    var titles = before.rows.map(\.title)
    titles += after.rows.map(\.title).filter { old[$0] == nil }
    rowCount = titles.count
    moves = titles.compactMap { title in
      guard let earlier = old[title], let later = new[title] else {
        return Move(title: title, before: old[title], after: new[title])
      }
      // Does not divide, so that a count of zero is compared too.
      let isMove = abs(later - earlier) * 100 > tolerance * abs(earlier)
      return isMove ? Move(title: title, before: earlier, after: later) : nil
    }
  }

  private static func counts(_ table: CountTable) -> [String: Double] {
    Dictionary(table.rows.map { ($0.title, $0.instructions) }) { _, last in last }
  }

  /// A line for each move.
  var text: String {
    moves.map { move in
      let change = move.percent.map { String(format: " (%+.1f %%)", $0) } ?? ""
      return "\(move.title): \(Self.text(move.before)) -> \(Self.text(move.after))\(change)"
    }.joined(separator: "\n")
  }

  private static func text(_ count: Double?) -> String { count.map { CountTable.text($0) } ?? "no row" }
}
