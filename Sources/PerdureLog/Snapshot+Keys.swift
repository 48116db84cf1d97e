import PerdureFormat

// Reads many byte-string keys together. A read mostly waits for memory, at each level of the tree
// and for the record. Keys are looked up in groups, so that these waits overlap.

extension Snapshot {
  /// The number of keys that are looked up together.
  private static let groupSize = 64

  /// Calls `body` for each key with the key's index in `keys` and its value, or nil if the key is
  /// absent. The calls are in the order of `keys`. The span is valid until `body` returns.
  ///
  /// - Precondition: The keyspace has byte strings as keys.
  /// - Throws: `StoreError` with code `.corruption` or `.io`; the errors of `body`.
  /// - Complexity: O(k log n) for k of n keys, several times faster than k single reads.
  public func withValues(
    keys: [[UInt8]], in keyspace: Keyspace, _ body: (_ position: Int, _ value: RawSpan?) throws -> Void
  ) throws {
    keyspace.requireKeys(.bytes)
    for start in stride(from: 0, to: keys.count, by: Self.groupSize) {
      let group = keys[start..<min(start + Self.groupSize, keys.count)]
      try Self.withBytes(of: group) { try withValues(group: $0, from: start, in: keyspace, body) }
    }
  }

  private func withValues(
    group keys: UnsafeBufferPointer<UnsafeRawBufferPointer>, from start: Int, in keyspace: Keyspace,
    _ body: (Int, RawSpan?) throws -> Void
  ) throws {
    let (tree, reader) = try (tree(of: keyspace), reader)
    var hold = GroupHold()
    defer { hold.release() }
    try withUnsafeTemporaryAllocation(of: UInt64?.self, capacity: keys.count) { words in
      words.initialize(repeating: nil)
      tree.getMany(keys, into: words)
      try check(tree.file)
      for index in 0..<min(RecordReader.distanceAhead, words.count) { reader.prefetch(words[index] ?? 0) }
      for (index, key) in keys.enumerated() {
        let ahead = index + RecordReader.distanceAhead
        if ahead < words.count { reader.prefetch(words[ahead] ?? 0) }
        guard let word = words[index] else {
          try body(start + index, nil)
          continue
        }
        if let value = try reader.valueInPlace(at: word, keyspace: keyspace.id, key: key, &hold) {
          try body(start + index, value.bytes)
          continue
        }
        let record = try reader.record(at: word, keyspace: keyspace.id, key: key, &hold)
        try withContent(of: record) { try body(start + index, $0.bytes) }
      }
    }
  }

  /// Calls `body` with the bytes of all keys. They are copied, because each array gives access to
  /// its bytes only within a separate closure.
  private static func withBytes(
    of keys: ArraySlice<[UInt8]>, _ body: (UnsafeBufferPointer<UnsafeRawBufferPointer>) throws -> Void
  ) throws {
    let byteCount = keys.reduce(0) { $0 + $1.count }
    try withUnsafeTemporaryAllocation(byteCount: byteCount, alignment: 8) { bytes in
      try withUnsafeTemporaryAllocation(of: UnsafeRawBufferPointer.self, capacity: keys.count) { places in
        var offset = 0
        for (index, key) in keys.enumerated() {
          let place = UnsafeMutableRawBufferPointer(rebasing: bytes[offset..<offset + key.count])
          key.withUnsafeBytes { place.copyMemory(from: $0) }
          places.initializeElement(at: index, to: UnsafeRawBufferPointer(place))
          offset += key.count
        }
        try body(UnsafeBufferPointer(places))
      }
    }
  }
}
