/// Writes the data that `ByteReader` reads.
struct ByteWriter {
  private(set) var bytes: [UInt8] = []

  mutating func integer<T: FixedWidthInteger>(_ value: T) {
    withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
  }

  mutating func bool(_ value: Bool) { bytes.append(value ? 1 : 0) }

  mutating func string(_ value: String) {
    integer(UInt32(value.utf8.count))
    bytes.append(contentsOf: value.utf8)
  }

  mutating func data(_ value: some Collection<UInt8>) {
    integer(UInt32(value.count))
    bytes.append(contentsOf: value)
  }

  mutating func optional<T>(_ value: T?, _ write: (inout ByteWriter, T) -> Void) {
    bool(value != nil)
    if let value { write(&self, value) }
  }

  mutating func list<T>(_ values: [T], _ write: (inout ByteWriter, T) -> Void) {
    integer(UInt32(values.count))
    for value in values { write(&self, value) }
  }
}
