import PerdureFileIO
import PerdureFormat

/// An opening for reading that is alive, in this process or in another one.
public struct ReaderProcess: Hashable, Sendable {
  /// The number of its process.
  public var processID: Int32
  /// Its start, in seconds since the beginning of 1970.
  public var secondsSince1970: UInt64
  /// The oldest commit whose state it may read; nil while it opens, when it may need everything.
  public var sequence: UInt64?
}

extension Store {
  /// The registered readers of the store (`StoreOptions.registersAsReader`), those furthest behind
  /// first. The data that a reader may need is kept. A reader that is far behind, and never
  /// refreshed, prevents the index file from reusing space, and blob files from being removed.
  ///
  /// - Throws: `StoreError` with code `.io` when the file of readers cannot be read.
  /// - Complexity: O(n) for n readers, with a system call each.
  public var readers: [ReaderProcess] {
    get throws {
      try engine.checkProcess()
      let slots: [ReaderTable.Entry]
      do throws(FileIOError) { slots = try engine.readers.entries() } catch {
        throw StoreError.io(error, "Listing the readers of the store")
      }
      return slots.compactMap { $0 }
        .map { slot in
          ReaderProcess(
            processID: Int32(truncatingIfNeeded: slot.processID), secondsSince1970: slot.since,
            sequence: slot.hold?.sequence)
        }
        .sorted { ($0.sequence ?? 0, $0.processID) < ($1.sequence ?? 0, $1.processID) }
    }
  }
}
