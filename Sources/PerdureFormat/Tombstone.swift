/// The value of a tombstone: the address of the newest record that it shadows, or zero.
///
/// Compaction may remove the tombstone only if no shadowed record can reappear. FORMAT.md,
/// "Tombstones".
@usableFromInline package struct Tombstone: Hashable, Sendable {
  @inlinable package static var valueLength: Int { 8 }

  /// Nil if the writer found no record of the key.
  package var shadowed: RecordAddress?

  package init(shadowing shadowed: RecordAddress?) {
    self.shadowed = shadowed
  }

  package func write(to bytes: UnsafeMutableRawBufferPointer) {
    precondition(bytes.count >= Self.valueLength, "A tombstone's value does not fit into the buffer.")
    bytes.setInteger(shadowed?.rawValue ?? 0, at: 0)
  }

  package init(reading bytes: UnsafeRawBufferPointer) throws(FormatError) {
    guard bytes.count == Self.valueLength else {
      throw FormatError(.incomplete, in: "tombstone", at: bytes.count)
    }
    let word: UInt64 = bytes.integer(at: 0)
    let address = RecordAddress(rawValue: word)
    guard word == 0 || address.isLegal else { throw FormatError(.illegalField, in: "tombstone", at: 0) }
    shadowed = word == 0 ? nil : address
  }
}
