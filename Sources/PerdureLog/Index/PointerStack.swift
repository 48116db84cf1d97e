// Two growable containers for the lists of the arena. They hold raw pointers, so no reference is
// counted.

/// A stack of pointers with access by index.
struct PointerStack: ~Copyable {
  private var base: UnsafeMutablePointer<UnsafeMutableRawPointer>
  private var capacity: Int
  private(set) var count = 0

  init(capacity: Int = 64) {
    self.capacity = capacity
    base = .allocate(capacity: capacity)
  }

  deinit { base.deallocate() }

  subscript(index: Int) -> UnsafeMutableRawPointer {
    get { base[index] }
    set { base[index] = newValue }
  }

  mutating func push(_ pointer: UnsafeMutableRawPointer) {
    if count == capacity { grow() }
    base[count] = pointer
    count &+= 1
  }

  mutating func pop() -> UnsafeMutableRawPointer {
    precondition(count > 0, "pop of an empty stack")
    count &-= 1
    return base[count]
  }

  mutating func removeAll() { count = 0 }

  private mutating func grow() {
    let larger = UnsafeMutablePointer<UnsafeMutableRawPointer>.allocate(capacity: capacity * 2)
    larger.moveInitialize(from: base, count: count)
    base.deallocate()
    base = larger
    capacity *= 2
  }
}

/// A first-in, first-out queue of nodes, each with the version that retired it. The versions do not
/// decrease from front to back.
struct RetiredQueue: ~Copyable {
  struct Element {
    var node: UnsafeMutableRawPointer
    var version: UInt64
  }

  private var base: UnsafeMutablePointer<Element>
  private var capacity: Int
  private var head = 0
  private(set) var count = 0

  init(capacity: Int = 64) {
    precondition(capacity.nonzeroBitCount == 1, "the capacity of a ring must be a power of two")
    self.capacity = capacity
    base = .allocate(capacity: capacity)
  }

  deinit { base.deallocate() }

  var first: Element? { count == 0 ? nil : base[head] }

  var last: Element? { count == 0 ? nil : base[(head &+ count &- 1) & (capacity &- 1)] }

  func forEach(_ body: (Element) -> Void) {
    for index in 0..<count { body(base[(head &+ index) & (capacity &- 1)]) }
  }

  mutating func append(_ node: UnsafeMutableRawPointer, version: UInt64) {
    if count == capacity { grow() }
    base[(head &+ count) & (capacity &- 1)] = Element(node: node, version: version)
    count &+= 1
  }

  mutating func removeFirst() {
    head = (head &+ 1) & (capacity &- 1)
    count &-= 1
  }

  mutating func removeLast() { count &-= 1 }

  private mutating func grow() {
    let larger = UnsafeMutablePointer<Element>.allocate(capacity: capacity * 2)
    let tail = capacity - head
    larger.moveInitialize(from: base + head, count: tail)
    (larger + tail).moveInitialize(from: base, count: head)
    base.deallocate()
    base = larger
    head = 0
    capacity *= 2
  }
}
