// Memory for the headers and rows of one context's objects.
//
// A walk over a graph makes and frees thousands of objects, each with a header and a row of a few
// dozen bytes. Their blocks are cut from chunks. Block sizes are rounded up to a few sizes, and
// each size has a list of free blocks. So the next object gets the block of the last one, which is
// still in the processor's cache. Large blocks are allocated by the system. There is no lock,
// because a context is used in one isolation.
//
// Invariants
//   MO1. A block of n bytes is freed with the same n, because its size is not stored.
//   MO2. `blockCount` blocks of the chunks are in use. When the number becomes 0, all chunks but
//        one are freed: a context does not keep memory that it needed only once.

/// The memory of a context's objects, and the data that they share: the context, the epoch of the
/// view, and the stamp of cached relationships.
@usableFromInline
struct ObjectMemory {
  /// Block sizes are multiples of this.
  static let unitByteCount = 16
  /// The largest block of a chunk.
  static let blockByteCountMax = 512
  /// The maximum size of a chunk; the first has an eighth of it. For larger chunks, the system maps
  /// memory each time.
  static let chunkByteCountMax = 64 * 1024

  /// The epoch of the context's view (H1 in ObjectHeader.swift). Never 0.
  @usableFromInline var epoch: UInt64 = 1
  /// The stamp of cached relationships (KR1 in KeptRelations.swift). Never 0.
  @usableFromInline var linkStamp: UInt64 = 1
  @usableFromInline var recentWalks = RecentWalks()
  /// The context. It sets this property when it is made, and exists as long as it has instances.
  var core: Unmanaged<ContextCore>?
  /// The objects with edits that the layer of unsaved changes lacks.
  var edits = EditedObjects()
  /// The objects that were edited in the current event.
  var eventEdits = EditedObjects()
  /// The objects with unsaved links in relationships without an inverse.
  var oneWaySources = OneWaySources()
  /// The recorder of the undo manager; nil for a context without one.
  var recorder: Unmanaged<EditRecorder>?
  /// The copies with which the running operation can be reverted; nil if no such operation is
  /// running.
  var copies: Unmanaged<OverlayCopies>?
  /// The number of the recording interval (ER1 in EditRecorder.swift).
  private(set) var recordingGroup: UInt32 = 0
  private var lastInterval: UInt32 = 0
  private(set) var blockCount = 0
  /// The first free block of each size class. Each begins with the address of the next one.
  private let free: UnsafeMutablePointer<UnsafeMutableRawPointer?>
  private var chunks: [UnsafeMutableRawPointer] = []
  /// The unused end of the last chunk.
  private var rest: UnsafeMutableRawPointer?
  private var restByteCount = 0
  private var chunkByteCount = Self.chunkByteCountMax / 16

  private static let classCount = blockByteCountMax / unitByteCount + 1

  init() {
    free = .allocate(capacity: Self.classCount)
    free.initialize(repeating: nil, count: Self.classCount)
  }

  /// Begins a recording interval (ER1 in EditRecorder.swift).
  ///
  /// - Parameter hasNumber: False if each edit must be reported.
  mutating func beginRecordingInterval(hasNumber: Bool) {
    lastInterval &+= 1
    if lastInterval == 0 { lastInterval = 1 }
    recordingGroup = hasNumber ? lastInterval : 0
  }

  /// Frees everything; the memory must not be used afterwards.
  func deallocate() {
    for chunk in chunks { chunk.deallocate() }
    free.deallocate()
    recentWalks.deallocate()
  }

  @inline(__always)
  private static func sizeClass(_ byteCount: Int) -> Int {
    (byteCount &+ (unitByteCount &- 1)) / unitByteCount
  }

  /// Memory of at least `byteCount` bytes, aligned to 8.
  @inline(__always)
  mutating func allocate(byteCount: Int) -> UnsafeMutableRawPointer {
    guard byteCount <= Self.blockByteCountMax else {
      return .allocate(byteCount: byteCount, alignment: 8)
    }
    let sizeClass = Self.sizeClass(byteCount)
    blockCount &+= 1
    guard let block = free[sizeClass] else { return cut(sizeClass &* Self.unitByteCount) }
    free[sizeClass] = block.load(as: UnsafeMutableRawPointer?.self)
    return block
  }

  /// Frees memory (MO1).
  @inline(__always)
  mutating func deallocate(_ block: UnsafeMutableRawPointer, byteCount: Int) {
    guard byteCount <= Self.blockByteCountMax else { return block.deallocate() }
    let sizeClass = Self.sizeClass(byteCount)
    block.storeBytes(of: free[sizeClass], as: UnsafeMutableRawPointer?.self)
    free[sizeClass] = block
    blockCount &-= 1
    if blockCount == 0, chunks.count > 1 { shrink() }
  }

  @inline(never)
  private mutating func cut(_ byteCount: Int) -> UnsafeMutableRawPointer {
    if restByteCount < byteCount { addChunk() }
    guard let block = rest else { preconditionFailure("A chunk holds the largest block.") }
    rest = block + byteCount
    restByteCount -= byteCount
    return block
  }

  private mutating func addChunk() {
    chunkByteCount = min(chunkByteCount * 2, Self.chunkByteCountMax)
    let chunk = UnsafeMutableRawPointer.allocate(byteCount: chunkByteCount, alignment: 64)
    chunks.append(chunk)
    rest = chunk
    restByteCount = chunkByteCount
  }

  /// Frees all chunks but the last, which is then unused (MO2).
  @inline(never)
  private mutating func shrink() {
    while chunks.count > 1 { chunks.removeFirst().deallocate() }
    free.update(repeating: nil, count: Self.classCount)
    rest = chunks[0]
    restByteCount = chunkByteCount
  }

  /// The number of chunks.
  var chunkCount: Int { chunks.count }
}

/// Owns the memory for all its users: the context, and the groups that outlive it.
final class ObjectMemoryOwner {
  let memory: UnsafeMutablePointer<ObjectMemory>

  init() {
    memory = .allocate(capacity: 1)
    memory.initialize(to: ObjectMemory())
  }

  deinit {
    memory.pointee.deallocate()
    memory.deinitialize(count: 1)
    memory.deallocate()
  }
}
