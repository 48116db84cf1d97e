import PerdureFormat

/// Blob files whose records were removed, until the files may be removed.
///
/// The states from the commit that put the value to the one that removed it name the file. It is
/// removed when
///
///  RB1  no state among these is held by a snapshot,
///  RB2  the commit that removed its record is durable (FORMAT.md, S6), and
///  RB3  no reader in another opening has said that it may read a state among these (FORMAT.md,
///       W5).
struct RetiredBlobs {
  /// The record was put with version `born` and is absent from `version` on. The commit that
  /// removed it ends at `end`. States with these sequence numbers name it.
  private struct Blob {
    var number: UInt64
    var born: UInt64
    var version: UInt64
    var sequences: Range<UInt64>
    var end: LogPosition
  }

  /// The state with which each file that was named since the opening came.
  private var births: [UInt64: (version: UInt64, sequence: UInt64)] = [:]
  /// Files that were not checked against the pins yet, or whose record's removal is not durable, in
  /// the order of these removals.
  private var fresh: [Blob] = []
  /// RB1
  private var held = HeldBack<Blob>()
  /// RB3, and the needs of readers when they were last read.
  private var read: (blobs: [Blob], needs: ReaderNeeds) = ([], ReaderNeeds())

  var isEmpty: Bool { fresh.isEmpty && held.isEmpty && read.blobs.isEmpty }

  /// Whether snapshots hold some.
  var isHeldBack: Bool { !held.isEmpty }

  /// A state has come that names the file.
  mutating func noteBirth(of number: UInt64, version: UInt64, sequence: UInt64) {
    births[number] = (version, sequence)
  }

  /// A new state, published or about to be, does not name it any more.
  mutating func retire(_ number: UInt64, version: UInt64, sequence: UInt64, end: LogPosition) {
    let born = births.removeValue(forKey: number) ?? (0, 0)
    let sequences = min(born.sequence, sequence)..<sequence
    fresh.append(Blob(number: number, born: born.version, version: version, sequences: sequences, end: end))
  }

  /// Takes the files that may be removed out of this table, and returns them.
  ///
  /// - Parameter published: The newest version.
  /// - Parameter readers: The states that other openings may read. It is asked only if a removal
  ///   depends on it, after the removing commit was written (RT1 of ReaderTable).
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
