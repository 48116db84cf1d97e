// Skips the offset of a fetch in an index without visiting all skipped entries.
//
// A store counts the entries of a range, and finds the entry at a position, in O(log n). So the
// walk begins at the first entry with the key of the entry at the offset. Of the skipped entries,
// it visits only those with this key.

internal import PerdurePredicates

/// Where the walk of an index begins.
struct IndexSkip {
  let index: StoreIndex
  /// The remaining ranges, ascending.
  let ranges: [KeyRange]
  /// The number of entries to skip at the beginning of the walk.
  let offset: Int

  /// Nil without an offset, if the entries do not correspond to the objects one to one, or if the
  /// reader does not find positions quickly.
  init?(_ executor: FetchExecutor) throws {
    let (plan, view) = (executor.plan, executor.graph.view)
    guard executor.fetch.offset > 0, case .index(let index, let ranges) = plan.access, plan.isOrdered,
      executor.program.acceptsAll, !plan.filtersEntities, !plan.mayRepeat, !plan.reversesTies,
      !plan.mayLackRows, view.answersAtOnce
    else { return nil }
    var left = executor.fetch.offset
    var rest = ranges[...]
    while let next = plan.isReversed ? rest.last : rest.first {
      let count = try view.entryCount(index, next)
      if left < count {
        let (part, skipped) = try Self.part(
          of: next, in: index, view, position: plan.isReversed ? count - 1 - left : left,
          isReversed: plan.isReversed)
        left -= skipped
        if plan.isReversed { rest[rest.endIndex - 1] = part } else { rest[rest.startIndex] = part }
        break
      }
      left -= count
      rest = plan.isReversed ? rest.dropLast() : rest.dropFirst()
    }
    (self.index, self.ranges, offset) = (index, Array(rest), left)
  }

  /// The part of a range that begins at the key of the entry at a position, and the number of
  /// entries before the part. Both are in the direction of the walk.
  private static func part(
    of range: KeyRange, in index: StoreIndex, _ view: any StateReader, position: Int, isReversed: Bool
  ) throws -> (part: KeyRange, skipped: Int) {
    var found: [UInt8]?
    try view.withEntry(at: position, of: range, in: index) { key, _ in found = Array(key) }
    guard let found else { return (range, 0) }
    let after = found + [0]
    if isReversed {
      let part = KeyRange(lower: range.lower, upper: after)
      return (part, try view.entryCount(index, KeyRange(lower: after, upper: range.upper)))
    }
    let part = KeyRange(lower: found, upper: range.upper)
    return (part, try view.entryCount(index, KeyRange(lower: range.lower, upper: found)))
  }
}
