import PerdureFileIO
import PerdureFormat

/// Keeps a store that was opened for reading up to date with its writer.
///
/// The readers of this process use an engine that has its own entry in the table of readers. If the
/// store has changed, a refresh opens it again, from the newest checkpoint. The previous engine is
/// freed with the last snapshot that uses it.
///
/// Invariants
///  FO1  Only one refresh runs at a time. `lock` is held only for short times.
///  FO2  The sequence number never decreases: an engine with an older state is not used, regardless
///       of the content of the files.
///  FO3  After `stop` no other engine is used: the closed engine stays.
///  FO4  `seen` is the state of the files before the last opening began. `framesEnd` is the end of
///       the frames that it read. If the files are unchanged and no complete frame follows, that
///       opening has read everything. The second check is needed because a file can be longer than
///       the log, so the log can grow while the length stays unchanged. Only the running refresh
///       uses both properties.
///  FO5  An engine that found a damaged node in the index file is replaced even without new
///       commits. Only the next engine verifies the whole index file before it uses it, because the
///       node may be in the newest checkpoint too. A damaged index is built again from the log.
// Unchecked: its state is guarded by `lock`.
final class Follower: @unchecked Sendable {
  private let refreshing = Lock()
  private let lock = Lock()
  private let mark: ProcessMark
  private var newest: Engine
  private var isStopped = false
  private var seen: StoreFingerprint?
  private var framesEnd: LogPosition

  /// - Parameter framesEnd: The end of the valid frames when the engine was opened.
  init(_ engine: Engine, framesEnd: LogPosition) {
    mark = engine.mark
    // If `seen` is nil, the first refresh opens the store again.
    (newest, seen, self.framesEnd) = (engine, engine.reading?.fingerprint, framesEnd)
  }

  /// The newest engine. In a forked child the engine no longer changes. There it is read without
  /// the lock, because a thread of the parent may have held the lock.
  var engine: Engine { mark.isOwn ? lock.withLock { newest } : newest }

  func stop() { lock.withLock { isStopped = true } }

  /// Switches to the newest committed state.
  ///
  /// - Returns: Whether there are more commits than before.
  func refresh() throws -> Bool {
    try refreshing.withLock {
      let engine = self.engine
      // This is read before the fingerprint. So if the fingerprint is unchanged, this segment was
      // still the last one and was not rewritten yet. FO4
      let hasFrame = hasFrame(behind: engine)
      let before = try engine.readingState { $0.root.pointee.sequence }
      // If the fingerprint cannot be read, the opening decides whether there is an error. FO4
      let fingerprint = try? StoreFingerprint(engine.directory)
      let isDamaged = engine.isIndexDamaged
      if let fingerprint, fingerprint == seen, !isDamaged, !hasFrame { return false }
      // `suspectsIndex` is not part of the options, because later refreshes also use the options.
      // FO5
      let (next, report) = try Recovery.reopen(engine.directory, engine.options, suspectsIndex: isDamaged)
      let after = try next.readingState { $0.root.pointee.sequence }
      guard next.storeID == engine.storeID else { throw Self.anotherStore(engine) }
      (seen, framesEnd) = (fingerprint, report.framesEnd)
      guard after > before || isDamaged && after == before else { return false }
      // If no snapshot uses the previous engine, it is freed here. That takes time, so `lock` is
      // not held. FO1
      try withExtendedLifetime(engine) { try show(next) }
      return after > before
    }
  }

  /// Whether a complete frame is now at the offset where the last opening found none. Also true if
  /// the frame cannot be read: the next opening then finds the error, if there is one.
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
      .notAStore, "Another store is now at this path; close this store, and open the path again",
      at: engine.directory.path)
  }
}

extension Store {
  /// Advances a store that was opened for reading to the newest committed state.
  ///
  /// Earlier snapshots stay unchanged. Later snapshots have the state that was committed when this
  /// was called, or a newer state. Each state consists of complete commits, in order, and never of
  /// fewer commits than an earlier state. A commit can be visible here before it is durable. The
  /// writer neither waits nor is informed. A store with a damaged index can be read again after
  /// this, from an intact checkpoint or from the log.
  ///
  /// - Returns: Whether there is a new state.
  /// - Throws: `StoreError`: `.corruption`, `.io`, `.closed`; `.notAStore` if the directory has
  ///   another store or none; `.unsupportedFormat` if a newer version of Perdure has written to the
  ///   store, and this version can no longer read it. After these errors the previous state can
  ///   still be read. `.readOnly` if the store was opened for writing, because it always shows the
  ///   newest state. `.forked`. Errors of `StoreOptions.recoveryProgress`.
  /// - Complexity: If nothing has changed, it reads the superblock, the directory and the headers
  ///   of the last segments. Otherwise it costs as much as opening the store.
  @discardableResult
  public func refresh() throws -> Bool {
    try engine.checkProcess()
    guard let follower else {
      throw StoreError(.readOnly, "Only a store that was opened for reading needs a refresh")
    }
    return try follower.refresh()
  }
}
