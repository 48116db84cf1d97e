import PerdureCompression
import PerdureFormat

/// Packs the values of one transaction, on the thread of the caller.
struct ValuePacker: ~Copyable {
  private let packing: Packing?
  /// By keyspace, in the order in which they were met.
  private(set) var tallies: [PackingTally] = []
  // What the keyspace of the last value wants.
  private var place = -1
  private var mode = CompressionOptions.Mode.off
  private var dictionary: PackingDictionary?
  private var buffer = RawBuffer(capacity: 0)

  init(_ packing: Packing?) { self.packing = packing }

  /// Whether any value is to be packed.
  @inline(__always)
  var isUsed: Bool { packing != nil }

  /// The value packed, for a record of kind `packed`; nil if it is to be stored as it is. Good until the next
  /// call.
  mutating func pack(_ value: UnsafeRawBufferPointer, in keyspace: Keyspace) -> UnsafeRawBufferPointer? {
    guard let packing else { return nil }
    if place < 0 || tallies[place].keyspace.id != keyspace.id { turn(to: keyspace, packing) }
    guard mode != .off else { return nil }
    let packed = value.count < packing.options.valueBytesMin ? nil : pack(value, packing.plain)
    tallies[place].valueBytes += UInt64(value.count)
    tallies[place].storedBytes += UInt64(packed?.count ?? value.count)
    return packed
  }

  private mutating func turn(to keyspace: Keyspace, _ packing: Packing) {
    if let known = tallies.firstIndex(where: { $0.keyspace.id == keyspace.id }) {
      place = known
    } else {
      place = tallies.count
      tallies.append(PackingTally(keyspace: keyspace))
    }
    mode = packing.options.mode(of: keyspace)
    dictionary = mode == .dictionary ? packing.dictionary(of: keyspace) : nil
  }

  private mutating func pack(
    _ value: UnsafeRawBufferPointer, _ plain: LZ4DictionaryEncoder
  ) -> UnsafeRawBufferPointer? {
    buffer.removeAll()
    let target = buffer.extend(by: Self.lengthMax(of: value.count))
    let room = UnsafeMutableRawBufferPointer(rebasing: target[PackedValueHeader.length...])
    guard let length = (dictionary?.encoder ?? plain).encode(value, into: room) else { return nil }
    let header = PackedValueHeader(valueLength: value.count, dictionary: dictionary?.number ?? 0)
    header.write(to: target)
    return UnsafeRawBufferPointer(rebasing: target[..<(PackedValueHeader.length + length)])
  }

  /// The most that a packed value may take: a twentieth less than it has.
  static func lengthMax(of valueLength: Int) -> Int { valueLength - (valueLength + 19) / 20 }
}
