import PerdureFormat

/// Keeps track of blob files whose records were removed or replaced, until the files may be removed
/// too.
///
/// The states that reference a file begin with the commit that put its record. They end before the
/// commit that removed the record. The file is removed when
///
///  RB1  no snapshot holds one of these states,
///  RB2  the commit that removed the record is durable (FORMAT.md, S6), and
///  RB3  no reader in another opening has registered that it may read one of these states
///       (FORMAT.md, W5).
struct RetiredBlobs {
  /// A file whose record was put with version `born` and removed with version `version`. The commit
  /// that removed the record ends at `end`. The states with the sequence numbers `sequences`
  /// reference the file.
  private struct Blob {
    var number: UInt64
    var born: UInt64
    var version: UInt64
    var sequences: Range<UInt64>
    var end: LogPosition
  }

  /// The first state that references a file, by file number. Contains only files that commits since
  /// the opening have added.
  private var births: [UInt64: (version: UInt64, sequence: UInt64)] = [:]
  /// Files that were not yet checked against the pins, and files whose record's removal is not
  /// durable yet. They are in the order of the removals.
  private var fresh: [Blob] = []
  /// The files that snapshots hold. RB1
  private var held = HeldBack<Blob>()
  /// The files that readers in other openings may read, and the needs of these readers at the last
  /// check. RB3
  private var read: (blobs: [Blob], needs: ReaderNeeds) = ([], ReaderNeeds())

  var isEmpty: Bool { fresh.isEmpty && held.isEmpty && read.blobs.isEmpty }

  /// Whether snapshots hold files.
  var isHeldBack: Bool { !held.isEmpty }

  /// Notes the first state that references a file.
  mutating func noteBirth(of number: UInt64, version: UInt64, sequence: UInt64) {
    births[number] = (version, sequence)
  }

  /// Notes the first state that no longer references a file. That state is published or about to be
  /// published.
  mutating func retire(_ number: UInt64, version: UInt64, sequence: UInt64, end: LogPosition) {
    let born = births.removeValue(forKey: number) ?? (0, 0)
    let sequences = min(born.sequence, sequence)..<sequence
    fresh.append(Blob(number: number, born: born.version, version: version, sequences: sequences, end: end))
  }

  /// Returns the numbers of the files that may be removed, and drops them from this table.
  ///
  /// - Parameter published: The newest version.
  /// - Parameter readers: Returns the states that other openings may read. It is called only if a
  ///   removal depends on these states, and only after the removing commit was written (RT1 of
  ///   ReaderTable).
  mutating func takeFree(
    _ pinned: PinnedVersions, published: UInt64, synced: LogPosition, readers: () -> ReaderNeeds
  ) -> [UInt64] {
    let end = pinned.settledEnd(published: published)
    let known = fresh.prefix { $0.version <= end && $0.end <= synced }
    var unheld: [Blob] = []
    for blob in held.takeUnheld(pinned) + known {
      if let holder = pinned.newest(from: blob.born, before: blob.version) {
        held.file(blob, under: holder)
      } else {
        unheld.append(blob)
      }
    }
    fresh.removeFirst(known.count)
    guard !unheld.isEmpty || !read.blobs.isEmpty else { return [] }
    let needs = readers()
    if needs != read.needs {
      unheld += read.blobs
      read.blobs = []
    }
    read.needs = needs
    read.blobs += unheld.filter { needs.mayRead($0.sequences) }
    return unheld.filter { !needs.mayRead($0.sequences) }.map(\.number)
  }
}
