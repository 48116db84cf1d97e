import PerdureFileIO
import PerdureFormat
import Synchronization

// Values that a snapshot has read and that do not stand in their records.
//
// A mapped blob file takes one of the memory maps of the process, and a system has few of them
// (65,530 on Linux by default); where none is left the process cannot even allocate memory. So a
// value that is lent to a closure stays mapped only while it is among the last few that its
// snapshot has read, and all snapshots of a process together keep at most `MappedPlace.countMax`
// files mapped. A value that is promised for as long as its snapshot lives is copied into memory
// beyond that.
//
// Invariants
//  M1  Bytes lent to a closure are held by the caller until the closure returns, whatever is
//      evicted meanwhile.
//  M2  Bytes in `kept` and `copies` stay until the snapshot goes.

/// The place of one mapped file among those that snapshots of this process keep.
final class MappedPlace: Sendable {
  /// A quarter of the memory maps that Linux gives a process by default is 16,382.
  static let countMax = 8192
  private static let count = Atomic<Int>(0)

  /// How many there are.
  static var inUse: Int { count.load(ordering: .relaxed) }

  /// Nil where all are taken.
  static func take() -> MappedPlace? {
    if count.add(1, ordering: .relaxed).newValue <= countMax { return MappedPlace() }
    count.subtract(1, ordering: .relaxed)
    return nil
  }

  private init() {}

  deinit { Self.count.subtract(1, ordering: .relaxed) }
}

/// Bytes in memory of their own.
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
// Unchecked: what varies is guarded by `lock`.
final class OpenedBlobs: @unchecked Sendable {
  private struct Mapped {
    var number: UInt64
    var value: ValueBytes
    var place: MappedPlace
  }

  /// How many files that were lent last stay mapped.
  static let recentMax = 8

  private let lock = Lock()
  /// The last that were lent, the newest last.
  private var recent: [Mapped] = []
  /// By number of the file. M2
  private var kept: [UInt64: Mapped] = [:]
  private var copies: [UInt64: CopiedBytes] = [:]
  /// Packed values, and values in groups, by address word. M2
  private var unpacked: [UInt64: CopiedBytes] = [:]

  /// How many files are mapped.
  var mappedCount: Int { lock.withLock { recent.count + kept.count } }

  /// Calls `body` with the value that a record names. M1
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
    // Unmapped behind the lock.
    let evicted = lock.withLock { () -> Mapped? in
      recent.append(mapped)
      return recent.count > Self.recentMax ? recent.removeFirst() : nil
    }
    withExtendedLifetime(evicted) {}
    return value
  }

  /// With the lock.
  private func known(_ number: UInt64) -> ValueBytes? {
    if let kept = kept[number] { return kept.value }
    guard let index = recent.lastIndex(where: { $0.number == number }) else { return nil }
    recent.append(recent.remove(at: index))
    return recent[recent.count - 1].value
  }

  /// The value that a record names; its bytes are good while this lives. M2
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

  /// A packed value, unpacked. M2
  func unpackedValue(
    of record: Record, at word: UInt64, _ dictionaries: DictionaryTable
  ) throws(StoreError) -> UnsafeRawBufferPointer {
    if let known = lock.withLock({ unpacked[word] }) { return known.bytes }
    return keep(CopiedBytes(try dictionaries.unpacked(record)), at: word)
  }

  /// A copy of a value in a group. M2
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
