import PerdureFileIO
import PerdureFormat

extension Verification {
  /// V10: reads the checkpoint in the same way as the next opening, and compares its trees with the
  /// index.
  ///
  /// No other checkpoint can become the current one meanwhile, so the nodes of this checkpoint are
  /// not overwritten (FORMAT.md, K1). A store opened for reading is an exception, because its
  /// writer may write a checkpoint. In that case the file is copied, and nothing is reported if the
  /// superblock changed.
  mutating func checkCheckpoint(_ state: borrowing CommitterState) throws {
    guard let file = state.superblock else { return }
    let links = state.segments.segments.keys.sorted().compactMap { Self.link($0, state) }
    let (engine, chain) = (engine, SegmentChain(links: links))
    let before = report
    do {
      let end: LogPosition? = try file.whileStill { superblock in
        guard let reference = superblock.checkpoint else { return nil }
        let checkpoint = try OpenedCheckpoint(
          reference, in: engine.directory, .read, file, chain,
          copiesFile: engine.options.isReadOnly)
        try checkpoint.checkAll()
        compare(checkpoint, StoreFileName.index(reference.indexFile).string)
        return checkpoint.root.end
      }
      if let end, end > state.end {
        report.add(.checkpoint, at: "the superblock", "its checkpoint is after the end of the log")
      }
    } catch let error as IndexUnusable {
      if !error.isOutdated { report.add(.checkpoint, at: error.place, error.reason) }
    } catch let error as FileIOError {
      throw StoreError.io(error, "Verifying the checkpoint")
    }
    if engine.options.isReadOnly, report.findingCount > before.findingCount,
      let newest = try? newestSuperblock(), newest != file.current
    {
      report = before
    }
  }

  /// Checks that the checkpoint has every record of the index that is before the checkpoint's
  /// position. Other records in the checkpoint were replaced or removed later.
  private mutating func compare(_ checkpoint: borrowing OpenedCheckpoint, _ place: String) {
    let end = checkpoint.root.end
    for (keyspace, then) in zip(checkpoint.catalog.keyspaces, checkpoint.keyspaces) {
      guard catalog.keyspaces.contains(keyspace) else {
        report.add(.checkpoint, at: place, "there is no keyspace \(keyspace.name)")
        return
      }
      let now = root.trees(of: keyspace)
      let agrees =
        switch keyspace.kind {
        case .dense: Self.agree(now.dense, then.dense, upTo: end)
        case .bytes: Self.agree(now.ordered, then.ordered, upTo: end)
        }
      if !agrees {
        report.add(
          .checkpoint, at: place,
          "the records of keyspace \(keyspace.name) differ from those of the index at that time")
      }
    }
  }

  private static func isBehind(_ word: UInt64, _ end: LogPosition) -> Bool {
    RecordAddress(rawValue: word).position >= end
  }

  private static func agree(_ now: DenseTable, _ then: DenseTable, upTo end: LogPosition) -> Bool {
    var here = DenseCursor(now)
    var there = DenseCursor(then)
    var hasThere = there.next()
    while here.next() {
      while hasThere && there.id < here.id { hasThere = there.next() }
      let isSame = hasThere && there.id == here.id && there.word == here.word
      guard isSame || isBehind(here.word, end) else { return false }
    }
    return true
  }

  private static func agree(_ now: OrderedTree, _ then: OrderedTree, upTo end: LogPosition) -> Bool {
    var here = OrderedCursor(now)
    var there = OrderedCursor(then)
    var hasThere = there.next()
    while here.next() {
      while hasThere && KeyBytes.compare(there.key, here.key) < 0 { hasThere = there.next() }
      let isSame =
        hasThere && KeyBytes.compare(there.key, here.key) == 0 && there.payload == here.payload
      guard isSame || isBehind(here.payload, end) else { return false }
    }
    return true
  }
}

extension Verification {
  /// V11: compares the byte counts of segments.
  mutating func compareUsage(_ state: borrowing CommitterState, with counted: SegmentUsageTable) {
    for number in state.segments.segments.keys.sorted() {
      let (here, there) = (state.usage[number], counted[number])
      let name = StoreFileName.segment(number).string
      if here.counts != there.counts {
        report.add(
          .usage, at: name, "it has \(there.description), but the store counts \(here.description)")
      } else if let footer = state.segments.segments[number]?.footer {
        var said = there
        said.adopt(footer)
        if said.counts != there.counts {
          report.add(.usage, at: name, "it has \(there.description), but its footer has \(said.description)")
        }
      }
    }
  }
}

extension SegmentUsage {
  fileprivate var counts: [UInt64] { [liveBytes, totalBytes, tombstoneBytes] }

  fileprivate var description: String {
    "\(liveBytes) live bytes and \(tombstoneBytes) bytes of tombstones in \(totalBytes) bytes"
  }
}
