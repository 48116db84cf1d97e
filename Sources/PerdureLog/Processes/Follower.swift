import PerdureFileIO
import PerdureFormat

/// Keeps a store that was opened for reading up to date with its writer.
///
/// The readers of this process use an engine with its own entry in the table of readers. If the
/// store has changed, a refresh opens it again, from the newest checkpoint. The previous engine is
/// freed with the last snapshot that uses it.
///
/// Invariants
///  F1  One refresh at a time; `lock` is held for moments only.
///  F2  The sequence number never falls, whatever is found: an engine that is behind is not shown.
///  F3  After `stop` no other engine is shown: the one that is closed stays.
///  F4  `seen` is how things stood before the last opening began, and `framesEnd` how far in the log it came: if
///      they are the same now and no whole frame stands there, that opening saw everything. A file may have had
///      its length before the log came there. Both belong to the refresh that runs.
///  F5  An engine that found a damaged node in the index file is replaced even without new commits.
///      Only the next engine verifies the whole index file before it uses it, because the node may
///      be in the newest checkpoint too. A damaged index is built from the log.
// Unchecked: what varies is guarded by `lock`.
final class Follower: @unchecked Sendable {
  private let refreshing = Lock()
  private let lock = Lock()
  private let mark: ProcessMark
  private var newest: Engine
  private var isStopped = false
  private var seen: StoreLook?
  private var framesEnd: LogPosition

  /// - Parameter framesEnd: The end of the valid frames when the engine was opened.
  init(_ engine: Engine, framesEnd: LogPosition) {
    mark = engine.mark
    // Without a look, the first refresh opens the store again.
    (newest, seen, self.framesEnd) = (engine, engine.reading?.look, framesEnd)
  }

  /// The newest engine. In a forked child it no longer changes, and is read without the lock, which
  /// a thread of the parent may have held.
  var engine: Engine { mark.isOwn ? lock.withLock { newest } : newest }

  func stop() { lock.withLock { isStopped = true } }

  /// Shows what is committed now.
  ///
  /// - Returns: Whether that is more than before.
  func refresh() throws -> Bool {
    try refreshing.withLock {
      let engine = self.engine
      // Before the look: if that is the same, the segment was the last then, as it was first written. F4
      let hasFrame = hasFrame(behind: engine)
      let before = try engine.looking { $0.root.pointee.sequence }
      // One that cannot be had is judged by the opening. F4
      let look = try? StoreLook(engine.directory)
      let isDamaged = engine.isIndexDamaged
      if let look, look == seen, !isDamaged, !hasFrame { return false }
      // Beside the options: these are of the next refreshes too. F5
      let (next, report) = try Recovery.reopen(engine.directory, engine.options, suspectsIndex: isDamaged)
      let after = try next.looking { $0.root.pointee.sequence }
      guard next.storeID == engine.storeID else { throw Self.anotherStore(engine) }
      (seen, framesEnd) = (look, report.framesEnd)
      guard after > before || isDamaged && after == before else { return false }
      // The one before goes behind the lock, if no snapshot has it: that takes time. F1
      try withExtendedLifetime(engine) { try show(next) }
      return after > before
    }
  }

  /// Whether a whole frame stands where the last opening found none. One that cannot be read is judged by the
  /// opening.
  private func hasFrame(behind engine: Engine) -> Bool {
    let name = StoreFileName.segment(framesEnd.segment).string
    guard framesEnd.segment > 0 else { return false }
    do {
      let file = try engine.directory.open(name, .read)
      defer { try? file.close() }
      let bytes = try file.read(FrameHeader.length, at: framesEnd.offset)
      let header = try bytes.withUnsafeBytes {
        try FrameHeader(reading: $0, store: engine.storeID, position: framesEnd)
      }
      let place = framesEnd.offset + UInt64(FrameHeader.length)
      let segment = try file.read(SegmentHeader.length, at: 0)
        .withUnsafeBytes { try SegmentHeader(reading: $0) }
      let payload = try file.read(Int(header.payloadLength), at: place)
      let places = RecordPlaces(in: segment, from: Int(place), nil)
      try payload.withUnsafeBytes { try FramePayload.verify(header, $0, places) }
      return true
    } catch {
      return !(error is FormatError)
    }
  }

  private func show(_ engine: Engine) throws(StoreError) {
    try lock.withLock { () throws(StoreError) in
      if isStopped { throw .closed }
      newest = engine
    }
  }

  private static func anotherStore(_ engine: Engine) -> StoreError {
    StoreError(
      .notAStore, "Another store stands in this place by now; close this one and open it",
      at: engine.directory.path)
  }
}

extension Store {
  /// Goes on to what is committed now, of a store that was opened for reading.
  ///
  /// Snapshots that were taken before stay as they are; those taken later see a state that was committed when
  /// this was called, or a newer one: whole commits, in order, and never fewer than before. A commit can be
  /// seen here before it is durable. The writer neither waits nor knows. A store that found its index damaged
  /// reads again after this, from a checkpoint that is whole, or from the log.
  ///
  /// - Returns: Whether there is something new.
  /// - Throws: `StoreError`: `.corruption`, `.io`, `.closed`, `.notAStore` when the directory holds another
  ///   store or none; what could be read before can be read still. `.readOnly` when the store was opened for
  ///   writing, which always shows what is newest.
  /// - Complexity: when nothing has changed, the superblock, the directory and the headers of the last segments are
  ///   read; otherwise as opening
  ///   the store.
  @discardableResult
  public func refresh() throws -> Bool {
    try engine.checkProcess()
    guard let follower else {
      throw StoreError(.readOnly, "Only a store that was opened for reading has to be refreshed")
    }
    return try follower.refresh()
  }
}
