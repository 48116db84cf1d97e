import Testing

@testable import PerdureLog

@Suite("A node arena")
struct NodeArenaTests {
  @Test("Nodes of the working version are changed in place; published nodes are copied and retired")
  func writable() {
    let arena = NodeArena()
    let node = arena.allocate(.denseLeaf, level: 0)
    #expect(arena.writable(node) == node)
    arena.publish()
    let copy = arena.writable(node)
    #expect(copy != node)
    #expect(NodeHeader(copy).stamp == 2 && NodeHeader(node).stamp == 1)
    #expect(arena.retiredCount == 1)
    #expect(arena.liveByteCount == 2 * DenseNode.leafByteCount)
  }

  @Test("Nodes that version v retired are freed only when no older version is pinned")
  func reclaim() {
    let arena = NodeArena()
    let node = arena.allocate(.denseLeaf, level: 0)
    #expect(arena.publish() == 1)
    _ = arena.writable(node)
    #expect(arena.reclaim(oldestPinnedVersion: 1) == 0, "the working version is not published")
    #expect(arena.publish() == 2)
    #expect(arena.reclaim(oldestPinnedVersion: 1) == 0, "a reader of version 1 reaches the node")
    #expect(arena.reclaim(oldestPinnedVersion: 2) == 1)
    #expect(arena.retiredByteCount == 0)
    #expect(arena.liveByteCount == DenseNode.leafByteCount)
  }

  @Test("Abandoning a version frees its nodes and restores the nodes that it retired")
  func abandon() {
    let arena = NodeArena()
    let node = arena.allocate(.orderedNode, level: 0)
    let block = [UInt8](repeating: 7, count: 300).withUnsafeBytes { arena.allocateBlock(copying: $0) }
    arena.publish()
    let before = arena.liveByteCount
    _ = arena.writable(node)
    arena.discard(block)
    _ = [UInt8](repeating: 8, count: 3000).withUnsafeBytes { arena.allocateBlock(copying: $0) }
    arena.abandon()
    #expect(arena.liveByteCount == before)
    #expect(arena.retiredCount == 0 && arena.retiredByteCount == 0 && arena.createdCount == 0)
    #expect(BlockView(block).bytes.count == 300)
    #expect(arena.workingVersion == 2)
  }

  @Test("A node that is allocated and discarded in one version is freed immediately")
  func discardCreated() {
    let arena = NodeArena()
    let nodes = (0..<10).map { _ in arena.allocate(.denseInner, level: 1) }
    for node in [nodes[3], nodes[9], nodes[0]] { arena.discard(node) }
    #expect(arena.createdCount == 7)
    #expect(arena.liveByteCount == 7 * DenseNode.innerByteCount)
    arena.abandon()
    #expect(arena.liveByteCount == 0)
  }

  @Test("Freed nodes are reused before new memory is allocated")
  func reuse() {
    let arena = NodeArena()
    let first = (0..<5000).map { _ in arena.allocate(.orderedNode, level: 0) }
    let reserved = arena.reservedByteCount
    arena.publish()
    for node in first { arena.discard(node) }
    arena.publish()
    #expect(arena.reclaim(oldestPinnedVersion: 2) == 5000)
    for _ in 0..<5000 { _ = arena.allocate(.orderedNode, level: 0) }
    #expect(arena.reservedByteCount == reserved)
  }
}
