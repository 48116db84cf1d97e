package import PerdureLog

extension LogRoom {
  /// Reserves space from the first commit on if commits wait for syncs. So small programs use the
  /// reservation too.
  package static func always(upTo bytes: UInt64) -> LogRoom {
    var room = LogRoom()
    (room.bytesMax, room.bytesMin, room.share, room.unsyncedMax) = (bytes, 1, 1, .max)
    return room
  }
}
