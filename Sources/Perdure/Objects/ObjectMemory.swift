// Memory for the headers and rows of one context's objects.
//
// Objects come and go by the thousand while a graph is walked, each with a header and a row of a few dozen
// bytes. They are cut from chunks: blocks of a few sizes, a list of free blocks for each size, so that the
// next object takes what the last one left, still in the processor's cache. What is large is left to the
// system. A context is used in one isolation; nothing here is locked.
//
// Invariants
//   M1. A block of n bytes is given back with the same n: its size is found nowhere else.
//   M2. `blockCount` blocks of the chunks are in use. When it falls to 0, all chunks but one are freed: a
//       context that was large once does not stay so.

/// The memory of a context's objects, and what all of them lead to: their context, and the number that tells which of
/// their rows are the view's.
@usableFromInline
struct ObjectMemory {
  /// Sizes are multiples of this.
  static let unitByteCount = 16
  /// The largest block of a chunk.
  static let blockByteCountMax = 512
  /// How large chunks get; the first is an eighth of that. Below what the system maps anew each time.
  static let chunkByteCountMax = 64 * 1024

  /// What H1 in ObjectHeader.swift compares with. Never 0.
  @usableFromInline var epoch: UInt64 = 1
  /// What L1 in KeptRelations.swift compares with. Never 0.
  @usableFromInline var linkStamp: UInt64 = 1
  @usableFromInline var recentWalks = RecentWalks()
  /// The context, as long as it has instances. Set by the context when it is made.
  var core: Unmanaged<ContextCore>?
  /// The objects that the layer of unsaved changes has to follow.
  var edits = EditedObjects()
  /// The objects that were edited in the current event.
  var eventEdits = EditedObjects()
  /// The recorder of the undo manager; nil for a context without one.
  var recorder: Unmanaged<EditRecorder>?
  /// ER1 in EditRecorder.swift.
  var recordingGroup: UInt32 = 0
  private(set) var blockCount = 0
  /// By size class: the first free block, which begins with the address of the next.
  private let free: UnsafeMutablePointer<UnsafeMutableRawPointer?>
  private var chunks: [UnsafeMutableRawPointer] = []
  /// What is left of the last chunk.
  private var rest: UnsafeMutableRawPointer?
  private var restByteCount = 0
  private var chunkByteCount = Self.chunkByteCountMax / 16

  private static let classCount = blockByteCountMax / unitByteCount + 1

  init() {
    free = .allocate(capacity: Self.classCount)
    free.initialize(repeating: nil, count: Self.classCount)
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

  /// Takes memory back (M1).
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

  /// Keeps the last chunk, as if it were new (M2).
  @inline(never)
  private mutating func shrink() {
    while chunks.count > 1 { chunks.removeFirst().deallocate() }
    free.update(repeating: nil, count: Self.classCount)
    rest = chunks[0]
    restByteCount = chunkByteCount
  }

  /// Chunks that are held.
  var chunkCount: Int { chunks.count }
}

/// Keeps the memory alive for everybody who has some of it: the context, and groups that outlive it.
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
