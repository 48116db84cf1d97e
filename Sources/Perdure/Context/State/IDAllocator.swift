internal import PerdurePredicates

/// Allocates ids for new objects from blocks that are reserved in the store.
///
/// The sizes of blocks double from 16 to 4,096. So a context that inserts one object wastes few
/// ids, and an import makes few reservations. Unused ids of a block are lost when the context is
/// freed.
struct IDAllocator {
  private static let firstBlock = 16
  private static let largestBlock = 4096

  private struct Block {
    var ids: Range<UInt64> = 0..<0
    var nextSize = firstBlock
  }

  /// The blocks, by entity number.
  private var blocks: [Block] = []
  private static let firstProvisional: UInt64 = 0xFFFF_FFFF_FFFF
  /// The next provisional id, in descending order. Provisional ids are used if the store cannot
  /// reserve ids. Objects with these ids are never saved.
  private var provisional = firstProvisional
  /// The errors of the reservations, by provisional id.
  private var failures: [UInt64: any Error] = [:]

  /// Allocates the id of a new object. Throws if the store cannot reserve ids.
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

  /// Allocates an id for an object that cannot be saved.
  mutating func provisional(_ entity: UInt16, because failure: any Error) -> ObjectReference {
    failures[provisional] = failure
    defer { provisional -= 1 }
    return ObjectReference(entity: entity, id: provisional)
  }

  /// Whether the context may have an unsaved object with a provisional id.
  var hasFailed: Bool { !failures.isEmpty }

  /// The error of the reservation if the id is provisional, else nil. A store never assigns ids
  /// that are as high as provisional ids.
  func failure(of reference: ObjectReference) -> (any Error)? { failures[reference.id] }

  /// Forgets the errors. Called when no object to be saved has a provisional id.
  mutating func forgetFailures() { failures = [:] }

  /// Makes all provisional ids available again. Called when all unsaved changes are dropped.
  mutating func forgetProvisional() {
    provisional = Self.firstProvisional
    forgetFailures()
  }
}
