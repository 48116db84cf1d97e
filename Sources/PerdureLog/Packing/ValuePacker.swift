import PerdureCompression
import PerdureFormat

/// Packs the values of one transaction, on the caller's thread.
struct ValuePacker: ~Copyable {
  /// The packing of values of one keyspace.
  private struct Target {
    var tally: PackingTally
    var mode: CompressionOptions.Mode
    var dictionary: PackingDictionary?
  }

  private let packing: Packing?
  /// The keyspaces, in the order in which the transaction first used them.
  private var targets: [Target] = []
  /// The index in `targets` of the last value's keyspace; -1 before the first value.
  private var current = -1
  private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)

  init(_ packing: Packing?) { self.packing = packing }

  deinit { memory.deallocate() }

  /// Whether values may be packed.
  @inline(__always)
  var isUsed: Bool { packing != nil }

  /// The number of bytes before and after packing, by keyspace.
  var tallies: [PackingTally] { targets.map(\.tally) }

  /// The packed value, for a record of kind `packed`; nil if the value must be stored unpacked. It
  /// is valid until the next call.
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

  /// The maximum length of a packed value: at least a twentieth less than the value's length.
  static func lengthMax(of valueLength: Int) -> Int { valueLength - (valueLength + 19) / 20 }
}
