import PerdureCompression
import PerdureFormat

/// Packs the values of one transaction, on the thread of the caller.
struct ValuePacker: ~Copyable {
  /// The compression mode of a keyspace.
  private struct Target {
    var tally: PackingTally
    var mode: CompressionOptions.Mode
    var dictionary: PackingDictionary?
  }

  private let packing: Packing?
  /// In the order in which the keyspaces were met.
  private var targets: [Target] = []
  /// That of the last value.
  private var current = -1
  private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)

  init(_ packing: Packing?) { self.packing = packing }

  deinit { memory.deallocate() }

  /// Whether any value is to be packed.
  @inline(__always)
  var isUsed: Bool { packing != nil }

  /// What became of the values, by keyspace.
  var tallies: [PackingTally] { targets.map(\.tally) }

  /// The value packed, for a record of kind `packed`; nil if it is to be stored unpacked. Good
  /// until the next call.
  mutating func pack(_ value: UnsafeRawBufferPointer, in keyspace: Keyspace) -> UnsafeRawBufferPointer? {
    guard let packing else { return nil }
    if current < 0 || targets[current].tally.keyspace.id != keyspace.id { turn(to: keyspace, packing) }
    guard targets[current].mode != .off else { return nil }
    let isLongEnough = value.count >= packing.options.valueBytesMin
    let packed = isLongEnough ? pack(value, targets[current].dictionary, packing.plain) : nil
    targets[current].tally.valueBytes += UInt64(value.count)
    targets[current].tally.storedBytes += UInt64(packed?.count ?? value.count)
    return packed
  }

  private mutating func turn(to keyspace: Keyspace, _ packing: Packing) {
    if let known = targets.firstIndex(where: { $0.tally.keyspace.id == keyspace.id }) {
      current = known
      return
    }
    let mode = packing.options.mode(of: keyspace)
    current = targets.count
    targets.append(
      Target(
        tally: PackingTally(keyspace: keyspace), mode: mode,
        dictionary: mode == .dictionary ? packing.dictionary(of: keyspace) : nil))
  }

  private mutating func pack(
    _ value: UnsafeRawBufferPointer, _ dictionary: PackingDictionary?, _ plain: LZ4DictionaryEncoder
  ) -> UnsafeRawBufferPointer? {
    let lengthMax = Self.lengthMax(of: value.count)
    if memory.count < lengthMax {
      memory.deallocate()
      memory = .allocate(byteCount: max(lengthMax, 4096), alignment: 8)
    }
    let room = UnsafeMutableRawBufferPointer(rebasing: memory[PackedValueHeader.length..<lengthMax])
    guard let length = (dictionary?.encoder ?? plain).encode(value, into: room) else { return nil }
    PackedValueHeader(valueLength: value.count, dictionary: dictionary?.number ?? 0).write(to: memory)
    return UnsafeRawBufferPointer(rebasing: memory[..<(PackedValueHeader.length + length)])
  }

  /// The most that a packed value may take: a twentieth less than it has.
  static func lengthMax(of valueLength: Int) -> Int { valueLength - (valueLength + 19) / 20 }
}
