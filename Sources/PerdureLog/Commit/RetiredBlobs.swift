import PerdureFormat

/// Blob files whose records are gone, until they may be removed.
///
/// A file is named by the states from the commit that put its value to the one that let go of it. It goes when
///
///  R1  no state among these is held by a snapshot,
///  R2  the commit that let go of it is durable (FORMAT.md, S6), and
///  R3  no reader in another opening has said that it may read a state before that commit (W5). What such a reader
///      says is the oldest state that it may read, and all after it: FORMAT.md lets it read on.
struct RetiredBlobs {
  /// The record is gone from `version` on, by the commit `sequence`, which ends at `end`; it came with `born`.
  private struct Blob {
    var number: UInt64
    var born: UInt64
    var version: UInt64
    var sequence: UInt64
    var end: LogPosition
  }

  /// The versions that came with the files which were named since the store was opened.
  private var births: [UInt64: UInt64] = [:]
  /// Not asked about yet, or not durable, in the order in which they went.
  private var fresh: [Blob] = []
  /// R1
  private var held = HeldBack<Blob>()
  /// R3, and the oldest state that was asked for when they were looked at last.
  private var read: (blobs: [Blob], from: UInt64?) = ([], nil)

  var isEmpty: Bool { fresh.isEmpty && held.isEmpty && read.blobs.isEmpty }

  /// Whether snapshots hold some.
  var isHeldBack: Bool { !held.isEmpty }

  /// A state has come that names the file.
  mutating func noteBirth(of number: UInt64, version: UInt64) { births[number] = version }

  /// A state has come, or is about to, that does not name it any more.
  mutating func retire(_ number: UInt64, version: UInt64, sequence: UInt64, end: LogPosition) {
    let born = births.removeValue(forKey: number) ?? 0
    fresh.append(Blob(number: number, born: born, version: version, sequence: sequence, end: end))
  }

  /// Takes out the files that may be removed.
  ///
  /// - Parameter published: The newest version.
  /// - Parameter readersFrom: Says the oldest commit whose state other openings may read; nil: there are none.
  ///   Asked only if something depends on it, after what let go of it was written (X1 of ReaderTable).
  mutating func takeFree(
    _ pinned: PinnedVersions, published: UInt64, synced: LogPosition, readersFrom: () -> UInt64?
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
    let from = readersFrom()
    if from != read.from {
      unheld += read.blobs
      read.blobs = []
    }
    read.from = from
    read.blobs += unheld.filter { $0.sequence > from ?? .max }
    return unheld.filter { $0.sequence <= from ?? .max }.map(\.number)
  }
}
