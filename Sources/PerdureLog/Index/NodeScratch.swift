/// Working memory of an arena's single writer. It has space for a copy of the rebuilt node, two
/// inline keys, and the separator that a split child passes to its parent.
struct NodeScratch {
  let node: UnsafeMutableRawPointer
  let firstKey: UnsafeMutableRawPointer
  let secondKey: UnsafeMutableRawPointer
  let separator: UnsafeMutableRawPointer

  private let memory: UnsafeMutableRawPointer

  init() {
    let keyByteCount = OrderedNode.keyBufferByteCount
    let nodeByteCount = OrderedNode.byteCount
    let total = nodeByteCount + 2 * keyByteCount + OrderedTree.keyByteCountLimit + 1
    memory = .allocate(byteCount: total, alignment: 64)
    node = memory
    firstKey = memory + nodeByteCount
    secondKey = firstKey + keyByteCount
    separator = secondKey + keyByteCount
  }

  func deallocate() { memory.deallocate() }
}
