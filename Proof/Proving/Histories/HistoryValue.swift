import PerdureTestSupport

/// A value in a short form of a few numbers. The model and histories use this form. The numbers
/// determine the bytes.
///
/// The bytes begin with a group and a serial number, each big-endian with eight bytes. The
/// remaining bytes have one of three styles. A value of less than 16 bytes has only the first bytes
/// of this layout.
package struct HistoryValue: Hashable, Sendable {
  /// The style of the bytes after the head.
  package enum Style: UInt8, CaseIterable, Sendable {
    /// All bytes are equal.
    case constant
    /// Words that other values also contain.
    case words
    /// Incompressible bytes.
    case noise
  }

  package var length: UInt32
  package var group: UInt8
  package var style: Style
  package var serial: UInt16
  package var seed: UInt32

  package init(length: Int, group: UInt8 = 0, serial: UInt16 = 0, style: Style = .constant, seed: UInt32 = 0)
  {
    self.length = UInt32(length)
    self.group = group
    self.style = style
    self.serial = serial
    self.seed = seed
  }

  static let headLength = 16
  /// Whether the value has a group. A shorter value has no entry in the index of groups.
  var hasGroup: Bool { length >= 8 }
  var hasSerial: Bool { length >= 16 }

  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    write(to: &bytes)
    return bytes
  }

  /// Writes the bytes at the beginning of `buffer`, which grows if necessary.
  func write(to buffer: inout [UInt8]) {
    let wanted = max(Int(length), Self.headLength)
    if buffer.count < wanted { buffer += [UInt8](repeating: 0, count: wanted - buffer.count) }
    buffer.withUnsafeMutableBytes { raw in
      raw.storeBytes(of: UInt64(group).bigEndian, as: UInt64.self)
      raw.storeBytes(of: UInt64(serial).bigEndian, toByteOffset: 8, as: UInt64.self)
      guard length > Self.headLength else { return }
      fill(UnsafeMutableRawBufferPointer(rebasing: raw[Self.headLength..<Int(length)]))
    }
    if buffer.count > Int(length), buffer.count == Self.headLength {
      buffer.removeLast(buffer.count - Int(length))
    }
  }

  private func fill(_ rest: UnsafeMutableRawBufferPointer) {
    switch style {
    case .constant:
      rest.initializeMemory(as: UInt8.self, repeating: UInt8(truncatingIfNeeded: seed))
    case .words:
      Self.words.withUnsafeBytes { words in
        var done = 0
        var start = Int(seed) % (words.count / 2)
        while done < rest.count {
          let count = min(rest.count - done, words.count - start)
          UnsafeMutableRawBufferPointer(rebasing: rest[done..<done + count])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: words[start..<start + count]))
          done += count
          start = 0
        }
      }
    case .noise:
      var random = SeededGenerator(seed: UInt64(seed))
      var done = 0
      while done < rest.count {
        var next = random.next()
        let count = min(8, rest.count - done)
        withUnsafeBytes(of: &next) {
          UnsafeMutableRawBufferPointer(rebasing: rest[done..<done + count])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<count]))
        }
        done += count
      }
    }
  }

  private static let words: [UInt8] = {
    var random = SeededGenerator(seed: 7)
    let known = (0..<60).map { _ in (0..<random.pick(2...9)).map { _ in random.pick(UInt8(97)...122) } }
    var text: [UInt8] = []
    while text.count < 8192 { text += known[random.pick(0..<random.pick(2...60))] + [32] }
    return text
  }()
}

/// The bytes of values, one value at a time, in a reused buffer.
struct HistoryScratch {
  private var buffer = [UInt8](repeating: 0, count: HistoryValue.headLength + 1)

  mutating func withBytes<R>(of value: HistoryValue, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows
    -> R
  {
    value.write(to: &buffer)
    return try buffer.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[..<Int(value.length)])) }
  }
}
