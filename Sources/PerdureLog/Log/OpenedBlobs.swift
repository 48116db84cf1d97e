import PerdureFileIO
import PerdureFormat
import Synchronization

// The values that a snapshot has read and that are not in their records.
//
// A mapped blob file uses one memory map of the process. The number of memory maps is limited
// (65,530 on Linux by default). If no map is free, the process cannot even allocate memory. So a
// value that is passed to a closure is unmapped when its snapshot has read a few other values. All
// snapshots of a process together keep at most `MappedPlace.countMax` files mapped. Beyond that
// number, a value that must live as long as its snapshot is copied into memory.
//
// Invariants
//  OB1  The caller retains bytes that it passes to a closure until the closure returns, even if the
//       bytes are evicted meanwhile.
//  OB2  Bytes in `kept`, `copies` and `unpacked` stay valid until the snapshot is freed.

/// One of the `countMax` mapped files that the snapshots of this process may keep.
final class MappedPlace: Sendable {
  /// About an eighth of the memory maps that Linux gives a process by default.
  static let countMax = 8192
  private static let count = Atomic<Int>(0)

  /// The number of mapped files that are kept now.
  static var inUse: Int { count.load(ordering: .relaxed) }

  /// Allows one more mapped file; nil if `countMax` files are kept.
  static func take() -> MappedPlace? {
    if count.add(1, ordering: .relaxed).newValue <= countMax { return MappedPlace() }
    count.subtract(1, ordering: .relaxed)
    return nil
  }

  private init() {}

  deinit { Self.count.subtract(1, ordering: .relaxed) }
}

/// Bytes in memory that this object owns.
// Unchecked: the bytes are written before the object is shared, and freed in deinit.
final class CopiedBytes: @unchecked Sendable {
  let bytes: UnsafeRawBufferPointer

  /// Takes ownership of memory.
  init(_ memory: UnsafeMutableRawBufferPointer) { bytes = UnsafeRawBufferPointer(memory) }

  init(copying source: UnsafeRawBufferPointer) {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: source.count, alignment: 16)
    memory.copyMemory(from: source)
    bytes = UnsafeRawBufferPointer(memory)
  }

  deinit { bytes.deallocate() }
}

/// The values that one snapshot has read.
// Unchecked: its state is guarded by `lock`.
final class OpenedBlobs: @unchecked Sendable {
  private struct Mapped {
    var number: UInt64
    var value: ValueBytes
    var place: MappedPlace
  }

  /// The maximum number of recently read files that stay mapped for one snapshot.
  static let recentMax = 8

  private let lock = Lock()
  /// The files read last, the newest at the end.
  private var recent: [Mapped] = []
  /// Files that stay mapped until the snapshot is freed, by file number. OB2
  private var kept: [UInt64: Mapped] = [:]
  private var copies: [UInt64: CopiedBytes] = [:]
  /// Packed values, and values in groups, by address word. OB2
  private var unpacked: [UInt64: CopiedBytes] = [:]

  /// The number of mapped files.
  var mappedCount: Int { lock.withLock { recent.count + kept.count } }

  /// Calls `body` with the value that a record references. OB1
  func withValue<R>(
    of reference: BlobReference, _ files: BlobFiles, _ body: (UnsafeRawBufferPointer) throws -> R
  ) throws -> R {
    if let copy = lock.withLock({ copies[reference.number] }) {
      return try withExtendedLifetime(copy) { try body(copy.bytes) }
    }
    return try lent(reference, files).withBytes(body)
  }

  private func lent(_ reference: BlobReference, _ files: BlobFiles) throws(StoreError) -> ValueBytes {
    if let known = lock.withLock({ known(reference.number) }) { return known }
    let value = try files.read(reference)
    guard let place = MappedPlace.take() else { return value }
    let mapped = Mapped(number: reference.number, value: value, place: place)
    // The evicted file is unmapped outside the lock.
    let evicted = lock.withLock { () -> Mapped? in
      recent.append(mapped)
      return recent.count > Self.recentMax ? recent.removeFirst() : nil
    }
    withExtendedLifetime(evicted) {}
    return value
  }

  /// A mapped value that was read before. The caller holds the lock.
  private func known(_ number: UInt64) -> ValueBytes? {
    if let kept = kept[number] { return kept.value }
    guard let index = recent.lastIndex(where: { $0.number == number }) else { return nil }
    recent.append(recent.remove(at: index))
    return recent[recent.count - 1].value
  }

  /// The value that a record references. Its bytes are valid as long as this object exists. OB2
  func keptValue(of reference: BlobReference, _ files: BlobFiles) throws(StoreError) -> UnsafeRawBufferPointer
  {
    let number = reference.number
    if let known = lock.withLock({ kept[number]?.value.bytes ?? copies[number]?.bytes }) { return known }
    let value = try lent(reference, files)
    let place = MappedPlace.take()
    let copy = place == nil ? value.withBytes { CopiedBytes(copying: $0) } : nil
    return lock.withLock {
      if let known = kept[number]?.value.bytes ?? copies[number]?.bytes { return known }
      if let place {
        kept[number] = Mapped(number: number, value: value, place: place)
        return value.bytes
      }
      copies[number] = copy
      return copy?.bytes ?? UnsafeRawBufferPointer(start: nil, count: 0)
    }
  }

  /// A packed value, unpacked. OB2
  func unpackedValue(
    of record: Record, at word: UInt64, _ dictionaries: DictionaryTable
  ) throws(StoreError) -> UnsafeRawBufferPointer {
    if let known = lock.withLock({ unpacked[word] }) { return known.bytes }
    return keep(CopiedBytes(try dictionaries.unpacked(record)), at: word)
  }

  /// A copy of a value in a group. OB2
  func copiedValue(of record: Record, at word: UInt64) -> UnsafeRawBufferPointer {
    if let known = lock.withLock({ unpacked[word] }) { return known.bytes }
    return keep(CopiedBytes(copying: record.value), at: word)
  }

  private func keep(_ bytes: CopiedBytes, at word: UInt64) -> UnsafeRawBufferPointer {
    lock.withLock {
      if let known = unpacked[word] { return known.bytes }
      unpacked[word] = bytes
      return bytes.bytes
    }
  }
}
