import PerdureFileIO
import PerdureFormat

/// A live opening for reading, in this process or in another process.
public struct ReaderProcess: Hashable, Sendable {
  /// The id of its process.
  public var processID: Int32
  /// The time at which it registered, in seconds since the beginning of 1970.
  public var secondsSince1970: UInt64
  /// The oldest commit whose state it may read. Nil while the reader may need everything, as during
  /// an opening.
  public var sequence: UInt64?
}

extension Store {
  /// The registered readers of the store (`StoreOptions.registersAsReader`). The readers with the
  /// oldest states are first. A reader whose entry cannot be decoded is missing, such as one that
  /// is just registering. The store keeps the data that a reader may need. A reader that keeps an
  /// old state prevents the reuse of space in the index file, and the removal of blob files.
  ///
  /// - Throws: `StoreError` with code `.io` if the file of readers cannot be read.
  /// - Complexity: O(n log n) for n slots that were ever used, with one system call for each, and
  ///   another for each reader.
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
