internal import PerdurePredicates

/// Hands out ids for new objects from blocks that are reserved in the store.
///
/// Blocks begin small and double, so that a context that inserts one object wastes little and an import
/// reserves rarely. What is left of a block when the context goes is never used.
struct IDAllocator {
  private static let firstBlock = 16
  private static let largestBlock = 4096

  private struct Block {
    var ids: Range<UInt64> = 0..<0
    var nextSize = firstBlock
  }

  /// By entity number.
  private var blocks: [Block] = []
  private static let firstProvisional: UInt64 = 0xFFFF_FFFF_FFFF
  /// Counts down; used when the store cannot reserve. Such ids are never saved.
  private var provisional = firstProvisional
  /// Why they were needed, by the ids of those that may be pending: few, as nothing can be saved with them.
  private var failures: [UInt64: any Error] = [:]

  /// The id of a new object.
  mutating func next(_ entity: UInt16, from store: any PersistentStore) throws -> ObjectReference {
    while blocks.count <= Int(entity) { blocks.append(Block()) }
    if blocks[Int(entity)].ids.isEmpty {
      let size = blocks[Int(entity)].nextSize
      blocks[Int(entity)].ids = try store.allocateIDs(entity: entity, count: size)
      blocks[Int(entity)].nextSize = min(size * 2, Self.largestBlock)
    }
    let id = blocks[Int(entity)].ids.removeFirst()
    return ObjectReference(entity: entity, id: id)
  }

  /// An id for an object that cannot be saved.
  mutating func provisional(_ entity: UInt16, because failure: any Error) -> ObjectReference {
    failures[provisional] = failure
    defer { provisional -= 1 }
    return ObjectReference(entity: entity, id: provisional)
  }

  /// Whether an object may be pending that has no id of its own.
  var hasFailed: Bool { !failures.isEmpty }

  /// Why a new object has an id that it cannot be saved with; nil where it has one of the store's. No store comes so far
  /// with its own.
  func failure(of reference: ObjectReference) -> (any Error)? { failures[reference.id] }

  /// No object with a provisional id is to be saved any more.
  mutating func forgetFailures() { failures = [:] }

  /// The objects with provisional ids are gone.
  mutating func forgetProvisional() {
    provisional = Self.firstProvisional
    forgetFailures()
  }
}
