import PerdureFileIO
import PerdureFormat

extension Engine {
  /// Reserves the space that a log of the current length needs. Called at the opening, and in a
  /// turn when the log has grown.
  func holdReserve(_ state: inout CommitterState) {
    let most = options.reserveBytes
    if options.isReadOnly { return }
    let (logBytes, longest) = state.logLengths
    let size = ReserveSize(
      logBytes: logBytes, longest: longest, capacity: state.birthCapacity, most: most)
    reserve.hold(size)
    state.nextReserveCheck =
      size.total == 0 && most > 0
      ? ReserveSize.logBytesMin - logBytes + state.end.offset
      : size.nextCheck(capacity: state.birthCapacity, most: most)
  }

  /// Refuses commits that make the store larger while the reserve is incomplete. RV1
  func checkRoom(for change: borrowing UsageChange) throws(StoreError) {
    if change.shrinksStore { return }
    try checkRoom()
  }

  /// Refuses operations that make the store larger while the reserve is incomplete.
  func checkRoom() throws(StoreError) {
    guard reserve.isShort, !reserve.restore() else { return }
    throw StoreError(
      .diskFull,
      "The medium is full except for the reserve: remove records, compact the store, or free space on it",
      at: path, cause: reserve.lackOfSpace)
  }
}

extension CommitterState {
  /// The total number of bytes of the log's files, and the number of bytes of the longest file.
  var logLengths: (all: UInt64, longest: Int) {
    var (all, longest): (UInt64, Int) = (0, 0)
    for (number, segment) in segments.segments {
      let isLast = number == end.segment
      let length = isLast ? Int(end.offset) : segment.fileLength(end: segments.entries[Int(number)].end)
      all += UInt64(length)
      longest = max(longest, length)
    }
    return (all, longest)
  }
}
