import PerdureFileIO
import PerdureFormat

/// Reads parts of a blob file. The table of checksums is verified first, and each chunk when it is
/// read.
///
/// Memory use: the table, with four bytes for each chunk, and one chunk for each running read.
struct BlobFileReader: Sendable {
  let reference: BlobReference
  private let file: any File
  let table: [UInt8]

  /// Opens the file that a record references, and checks everything except the value.
  init(_ reference: BlobReference, _ files: BlobFiles) throws(StoreError) {
    self.reference = reference
    file = try files.open(reference)
    table = try files.checkedTable(of: reference, in: file)
  }

  /// Reads the bytes of a range chunk by chunk, and passes them to `body` in order. Stops when
  /// `body` returns false.
  ///
  /// - Parameter range: A range within the value.
  func read(_ range: Range<UInt64>, _ body: (UnsafeRawBufferPointer) throws -> Bool) throws {
    let length = UInt64(BlobHeader.chunkLength)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: BlobHeader.chunkLength, alignment: 16)
    defer { buffer.deallocate() }
    var place = range.lowerBound
    while place < range.upperBound {
      let chunk = place / length
      let bytes = try readChunk(Int(chunk), into: buffer)
      let start = Int(place - chunk * length)
      let count = min(bytes.count - start, Int(range.upperBound - place))
      guard try body(bytes.part(start, count)) else { return }
      place += UInt64(count)
    }
  }

  private func readChunk(
    _ chunk: Int, into buffer: UnsafeMutableRawBufferPointer
  ) throws(StoreError) -> UnsafeRawBufferPointer {
    let start = UInt64(chunk) * UInt64(BlobHeader.chunkLength)
    let count = Int(min(UInt64(BlobHeader.chunkLength), reference.valueLength - start))
    let bytes = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
    let offset = UInt64(BlobHeader.length) + start
    let done: Int
    do { done = try file.readToEnd(into: bytes, at: offset) } catch {
      throw .io(error, "Reading a blob file")
    }
    guard done == count else { throw BlobFiles.corruption(reference, .incomplete, Int(offset) + done) }
    let expected = table.withUnsafeBytes { $0.integer(at: 4 * chunk, as: UInt32.self) }
    guard Checksum.crc32c(UnsafeRawBufferPointer(bytes)) == expected else {
      throw BlobFiles.corruption(reference, .wrongChecksum, Int(offset))
    }
    return UnsafeRawBufferPointer(bytes)
  }
}
