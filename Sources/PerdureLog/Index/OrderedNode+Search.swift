// Finds a key in a node: compares the prefix, bisects the heads, and compares rests only where
// heads are equal.

extension OrderedNode {
  /// The position of a key, or the position at which to insert it.
  struct SearchResult {
    var index: Int
    var isFound: Bool
  }

  /// Compares `key` with the node's prefix. The result is 0 if `key` has the prefix. It is negative
  /// if `key` precedes all keys with the prefix, and positive if it follows them.
  @inline(__always)
  func compareToPrefix(_ key: UnsafeRawBufferPointer) -> Int {
    let prefix = prefix
    guard prefix.count > 0 else { return 0 }
    let common = min(prefix.count, key.count)
    if common > 0 {
      let order = KeyBytes.compare(
        key.baseAddress.unsafelyUnwrapped, prefix.baseAddress.unsafelyUnwrapped, count: common)
      if order != 0 { return order }
    }
    return key.count < prefix.count ? -1 : 0
  }

  /// Finds the first entry whose key is not less than `key`. It skips the entry without a key.
  @inline(__always)
  func search(_ key: UnsafeRawBufferPointer) -> SearchResult {
    let order = compareToPrefix(key)
    if order != 0 { return SearchResult(index: order < 0 ? firstKeyIndex : count, isFound: false) }
    let head = KeyBytes.head(of: key, from: prefixLength)
    var low = firstKeyIndex
    var high = count
    while low < high {
      let middle = (low &+ high) &>> 1
      let other = self.head(middle)
      if other < head {
        low = middle &+ 1
      } else if other > head {
        high = middle
      } else {
        let order = compareBehindHead(key, middle)
        if order == 0 { return SearchResult(index: middle, isFound: true) }
        if order > 0 { low = middle &+ 1 } else { high = middle }
      }
    }
    return SearchResult(index: low, isFound: false)
  }

  /// Compares `key` with the key of an entry that has the same prefix and head. Zero padding can
  /// make the head of a short key equal to the head of a longer key. Then the shorter key is a
  /// prefix of the longer key, so the lengths decide.
  @inline(__always)
  private func compareBehindHead(_ key: UnsafeRawBufferPointer, _ index: Int) -> Int {
    let length = key.count &- prefixLength
    let otherLength = suffixLength(index)
    let common = min(length, otherLength) &- Self.headByteCount
    if common > 0 {
      let rest = key.baseAddress.unsafelyUnwrapped + (prefixLength &+ Self.headByteCount)
      let order = KeyBytes.compare(rest, self.rest(index), count: common)
      if order != 0 { return order }
    }
    return length &- otherLength
  }

  /// Whether `key` is less than the key of an entry. The entry must have a key.
  @inline(__always)
  func isBefore(_ key: UnsafeRawBufferPointer, _ index: Int) -> Bool {
    let order = compareToPrefix(key)
    if order != 0 { return order < 0 }
    let head = KeyBytes.head(of: key, from: prefixLength)
    let other = self.head(index)
    return head == other ? compareBehindHead(key, index) < 0 : head < other
  }

  /// Whether `key` is greater than every key of the node. Ascending insertions use this test
  /// instead of a search.
  @inline(__always)
  func isAfterLast(_ key: UnsafeRawBufferPointer) -> Bool {
    let order = compareToPrefix(key)
    let last = count &- 1
    guard order == 0, last >= firstKeyIndex else { return order > 0 }
    let head = KeyBytes.head(of: key, from: prefixLength)
    let lastHead = self.head(last)
    return head == lastHead ? compareBehindHead(key, last) > 0 : head > lastHead
  }

  /// The index of the last entry of an inner node whose key is not greater than `key`. If the tree
  /// contains `key`, the key is below the child of that entry.
  @inline(__always)
  func childIndex(for key: UnsafeRawBufferPointer) -> Int {
    let result = search(key)
    return result.isFound ? result.index : result.index &- 1
  }
}
