// Compares and copies byte strings, eight bytes at a time.

enum KeyBytes {
  /// Compares the first `count` bytes at two addresses. The result is negative if the bytes at
  /// `left` are less, 0 if they are equal, and positive if they are greater.
  @inline(__always)
  static func compare(_ left: UnsafeRawPointer, _ right: UnsafeRawPointer, count: Int) -> Int {
    var offset = 0
    while offset &+ 8 <= count {
      let a = left.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      let b = right.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      if a != b { return a.bigEndian < b.bigEndian ? -1 : 1 }
      offset &+= 8
    }
    while offset < count {
      let a = left.load(fromByteOffset: offset, as: UInt8.self)
      let b = right.load(fromByteOffset: offset, as: UInt8.self)
      if a != b { return a < b ? -1 : 1 }
      offset &+= 1
    }
    return 0
  }

  /// Compares two byte strings byte by byte. A prefix precedes longer strings.
  @inline(__always)
  static func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    let common = min(left.count, right.count)
    if common > 0 {
      let order = compare(
        left.baseAddress.unsafelyUnwrapped, right.baseAddress.unsafelyUnwrapped, count: common)
      if order != 0 { return order }
    }
    return left.count &- right.count
  }

  /// Copies bytes between ranges that do not overlap. It is made for short ranges, for which a call
  /// costs more than the copy.
  @inline(__always)
  static func copy(_ source: UnsafeRawPointer, to target: UnsafeMutableRawPointer, count: Int) {
    if count >= 8 {
      var offset = 0
      let last = count &- 8
      while offset < last {
        target.storeBytes(
          of: source.loadUnaligned(fromByteOffset: offset, as: UInt64.self), toByteOffset: offset,
          as: UInt64.self)
        offset &+= 8
      }
      // The last eight bytes. Some of them may already have been copied.
      target.storeBytes(
        of: source.loadUnaligned(fromByteOffset: last, as: UInt64.self), toByteOffset: last, as: UInt64.self)
      return
    }
    var offset = 0
    if count >= 4 {
      target.storeBytes(of: source.loadUnaligned(as: UInt32.self), as: UInt32.self)
      offset = 4
    }
    while offset < count {
      target.storeBytes(
        of: source.load(fromByteOffset: offset, as: UInt8.self), toByteOffset: offset, as: UInt8.self)
      offset &+= 1
    }
  }

  /// The number of leading bytes that two strings share.
  static func commonPrefix(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    let common = min(left.count, right.count)
    var offset = 0
    while offset < common, left[offset] == right[offset] { offset &+= 1 }
    return offset
  }

  /// The four bytes of `key` from `offset` as a big-endian number, padded with zeros. If two such
  /// numbers differ, the bytes of the keys from `offset` have the same order.
  @inline(__always)
  static func head(of key: UnsafeRawBufferPointer, from offset: Int) -> UInt32 {
    let rest = key.count &- offset
    if rest >= 4 {
      let start = key.baseAddress.unsafelyUnwrapped
      return UInt32(bigEndian: start.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
    var head: UInt32 = 0
    var index = 0
    while index < rest {
      head |= UInt32(key[offset &+ index]) &<< UInt32(24 &- index &* 8)
      index &+= 1
    }
    return head
  }
}
