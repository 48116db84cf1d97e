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
  /// Why the first of them was needed; nil while there is none.
  private(set) var failure: (any Error)?

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
    if self.failure == nil { self.failure = failure }
    defer { provisional -= 1 }
    return ObjectReference(entity: entity, id: provisional)
  }

  /// Whether a new object has an id that it cannot be saved with. No store comes so far with its own.
  func isProvisional(_ reference: ObjectReference) -> Bool { reference.id > provisional }

  /// The objects with provisional ids are gone.
  mutating func forgetProvisional() {
    provisional = Self.firstProvisional
    failure = nil
  }
}
