// An ordered set in chunks, for collections that change a little between copies.
//
// A copy shares all chunks. A change copies the list of chunks, if it is shared, and one chunk. So
// a copy costs O(1), and the first change after it O(chunks + length of a chunk).
//
// Invariants:
//   SC1. No chunk is empty or longer than `lengthMax`. The elements ascend, and no two are equal.
//   SC2. `starts[i]` is the number of elements in the chunks before chunk i.
//   SC3. Two neighbouring chunks together are longer than `lengthMax / 2`. So the number of chunks
//        is proportional to the number of elements.

/// A sorted set that is cheap to copy and finds elements by their positions.
struct SortedChunks<Element: Comparable> {
  /// The maximum length of a chunk. Shorter chunks make the first change after a copy cheaper, and
  /// insertions into long sets more expensive.
  static var lengthMax: Int { 256 }

  private var chunks: [[Element]] = []
  private var starts: [Int] = []
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  /// The location of an element.
  fileprivate struct ElementLocation: Sendable {
    var chunk: Int
    var offset: Int
  }

  /// The location of the first element for which `precedes` is false. `precedes` must be true for a
  /// prefix of the elements, and false for the rest.
  @inline(__always)
  private func place(where precedes: (Element) -> Bool) -> ElementLocation {
    var (low, high) = (0, chunks.count)
    while low < high {
      let middle = (low &+ high) / 2
      let chunk = chunks[middle]
      if precedes(chunk[chunk.count &- 1]) { low = middle &+ 1 } else { high = middle }
    }
    guard low < chunks.count else { return ElementLocation(chunk: low, offset: 0) }
    let chunk = chunks[low]
    var (first, last) = (0, chunk.count &- 1)
    while first < last {
      let middle = (first &+ last) / 2
      if precedes(chunk[middle]) { first = middle &+ 1 } else { last = middle }
    }
    return ElementLocation(chunk: low, offset: first)
  }

  private func place(ofRank rank: Int) -> ElementLocation {
    var (low, high) = (0, chunks.count)
    while low < high {
      let middle = (low &+ high) / 2
      if starts[middle] &+ chunks[middle].count <= rank { low = middle &+ 1 } else { high = middle }
    }
    return ElementLocation(chunk: low, offset: low < chunks.count ? rank &- starts[low] : 0)
  }

  private func element(at place: ElementLocation) -> Element? {
    place.chunk < chunks.count ? chunks[place.chunk][place.offset] : nil
  }
}

// MARK: - Looking up

extension SortedChunks {
  /// The number of elements for which `precedes` is true. `precedes` must be true for a prefix of
  /// the elements, and false for the rest. O(log n).
  @inline(__always)
  func rank(where precedes: (Element) -> Bool) -> Int {
    let place = place(where: precedes)
    return place.chunk < chunks.count ? starts[place.chunk] &+ place.offset : count
  }

  /// The first element for which `precedes` is false; nil if there is none. O(log n).
  @inline(__always)
  func first(where precedes: (Element) -> Bool) -> Element? { element(at: place(where: precedes)) }

  /// The stored element that is equal to `element`; nil if there is none. O(log n).
  func find(_ element: Element) -> Element? {
    first { $0 < element }.flatMap { $0 == element ? $0 : nil }
  }

  func contains(_ element: Element) -> Bool { find(element) != nil }

  /// The element at a position. O(log n).
  subscript(position: Int) -> Element {
    precondition(position >= 0 && position < count, "The position must be less than count.")
    let place = place(ofRank: position)
    return chunks[place.chunk][place.offset]
  }
}

// MARK: - Changing

extension SortedChunks {
  /// Adds an element, or replaces an equal one.
  ///
  /// - Returns: The element that was replaced; nil if there was none.
  /// - Complexity: O(log n + chunks + length of a chunk).
  @discardableResult
  mutating func update(_ element: Element) -> Element? {
    var place = place { $0 < element }
    guard place.chunk < chunks.count else {
      append(element)
      return nil
    }
    let old = chunks[place.chunk][place.offset]
    if old == element {
      chunks[place.chunk][place.offset] = element
      return old
    }
    if chunks[place.chunk].count == Self.lengthMax { place = split(at: place) }
    chunks[place.chunk].insert(element, at: place.offset)
    didChangeLength(of: place.chunk, by: 1)
    return nil
  }

  /// Removes the stored element that is equal to `element`.
  ///
  /// - Returns: The removed element; nil if there is none.
  /// - Complexity: O(log n + chunks + length of a chunk).
  @discardableResult
  mutating func remove(_ element: Element) -> Element? {
    let place = place { $0 < element }
    guard let old = self.element(at: place), old == element else { return nil }
    chunks[place.chunk].remove(at: place.offset)
    didChangeLength(of: place.chunk, by: -1)
    mergeIfShort(place.chunk)
    return old
  }

  /// Adds an element at the end, and splits no chunk. So chunks are full if elements are inserted
  /// in ascending order.
  private mutating func append(_ element: Element) {
    if let last = chunks.indices.last, chunks[last].count < Self.lengthMax {
      chunks[last].append(element)
    } else {
      chunks.append([element])
      starts.append(count)
    }
    count &+= 1
  }

  private mutating func didChangeLength(of chunk: Int, by difference: Int) {
    count &+= difference
    for later in (chunk &+ 1)..<max(chunk &+ 1, starts.count) { starts[later] &+= difference }
  }

  /// Splits a full chunk in two.
  ///
  /// - Returns: The same location after the split.
  private mutating func split(at place: ElementLocation) -> ElementLocation {
    let half = Self.lengthMax / 2
    let rest = Array(chunks[place.chunk][half...])
    chunks[place.chunk].removeSubrange(half...)
    chunks.insert(rest, at: place.chunk + 1)
    starts.insert(starts[place.chunk] + half, at: place.chunk + 1)
    if place.offset <= half { return place }
    return ElementLocation(chunk: place.chunk + 1, offset: place.offset - half)
  }

  /// Restores SC1 and SC3 after a removal.
  private mutating func mergeIfShort(_ chunk: Int) {
    if chunks[chunk].isEmpty {
      chunks.remove(at: chunk)
      starts.remove(at: chunk)
    }
    for first in [chunk, chunk - 1] where first >= 0 && first + 1 < chunks.count {
      guard chunks[first].count + chunks[first + 1].count <= Self.lengthMax / 2 else { continue }
      chunks[first] += chunks[first + 1]
      chunks.remove(at: first + 1)
      starts.remove(at: first + 1)
    }
  }
}

// MARK: - Walking

extension SortedChunks {
  /// A walk over some elements, in either direction.
  struct Cursor {
    private let chunks: [[Element]]
    private var place: ElementLocation
    private var left: Int
    private let isDescending: Bool
    /// The element that comes next; nil at the end.
    private(set) var next: Element?

    fileprivate init(_ elements: SortedChunks, _ ranks: Range<Int>, descending: Bool) {
      chunks = ranks.isEmpty ? [] : elements.chunks
      place =
        ranks.isEmpty
        ? ElementLocation(chunk: 0, offset: 0)
        : elements.place(ofRank: descending ? ranks.upperBound - 1 : ranks.lowerBound)
      left = ranks.count
      isDescending = descending
      next = left > 0 ? chunks[place.chunk][place.offset] : nil
    }

    /// Advances by one element.
    mutating func advance() {
      left -= 1
      guard left > 0 else {
        next = nil
        return
      }
      if isDescending {
        if place.offset == 0 {
          place.chunk -= 1
          place.offset = chunks[place.chunk].count
        }
        place.offset -= 1
      } else {
        place.offset += 1
        if place.offset == chunks[place.chunk].count {
          place = ElementLocation(chunk: place.chunk + 1, offset: 0)
        }
      }
      next = chunks[place.chunk][place.offset]
    }
  }

  /// Begins a walk over the elements with certain positions. O(log n), then O(1) for each element.
  func cursor(_ ranks: Range<Int>, descending: Bool = false) -> Cursor {
    Cursor(self, ranks, descending: descending)
  }

  /// All elements in order. O(n).
  var elements: [Element] { chunks.flatMap { $0 } }

  /// Whether the invariants hold. O(n).
  var isConsistent: Bool {
    let all = elements
    var start = 0
    for (position, chunk) in chunks.enumerated() {
      if chunk.isEmpty || chunk.count > Self.lengthMax || starts[position] != start { return false }
      start += chunk.count
    }
    let pairs = zip(chunks, chunks.dropFirst())
    return count == all.count && starts.count == chunks.count
      && zip(all, all.dropFirst()).allSatisfy(<)
      && pairs.allSatisfy { $0.count + $1.count > Self.lengthMax / 2 }
  }
}

extension SortedChunks: Sendable where Element: Sendable {}
