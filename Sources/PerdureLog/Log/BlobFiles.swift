import PerdureFileIO
import PerdureFormat

/// Bytes of a value, and the mapping that must live while they are used.
///
/// Use the bytes in the closure of `withBytes`, or retain this value as long as they are used.
struct ValueBytes {
  let bytes: UnsafeRawBufferPointer
  private let owner: FileMapping

  init(_ bytes: UnsafeRawBufferPointer, in mapping: FileMapping) {
    self.bytes = bytes
    owner = mapping
  }

  /// Calls `body` with the bytes, which are valid until it returns.
  @inline(__always)
  func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try withExtendedLifetime(owner) { try body(bytes) }
  }
}

/// The files of long values, one for each value. FORMAT.md, "Blob file".
struct BlobFiles: Sendable {
  let directory: any Directory
  let storeID: StoreID

  /// Reads and verifies the value that a record references.
  func read(_ reference: BlobReference) throws(StoreError) -> ValueBytes {
    let file = try open(reference)
    let (mapping, length) = try map(file, reference)
    return try verify(reference, UnsafeRawBufferPointer(start: mapping.base, count: length), mapping)
  }

  /// Opens the file that a record references, without checking it.
  func open(_ reference: BlobReference) throws(StoreError) -> any File {
    do {
      return try directory.open(StoreFileName.blob(reference.number).string, .read)
    } catch {
      throw error.code == .notFound
        ? Self.corruption(reference, .incomplete, 0) : .io(error, "Opening a blob file")
    }
  }

  /// Checks everything in a file except the value, and returns its table of checksums.
  func checkedTable(of reference: BlobReference, in file: any File) throws(StoreError) -> [UInt8] {
    let offset = UInt64(BlobHeader.length) + reference.valueLength
    let header = BlobHeader(store: storeID, number: reference.number, valueLength: reference.valueLength)
    let (head, rest): ([UInt8], [UInt8])
    do {
      head = try file.read(BlobHeader.length, at: 0)
      rest = try file.read(Int(header.fileLength - offset), at: offset)
    } catch {
      throw .io(error, "Reading a blob file")
    }
    guard rest.count == Int(header.fileLength - offset) else {
      throw Self.corruption(reference, .incomplete, Int(offset) + rest.count)
    }
    try head.withUnsafeBufferPointer { bytes throws(StoreError) in
      try check(UnsafeRawBufferPointer(bytes), reference)
    }
    let table = Array(rest.suffix(4 * header.chunkCount))
    guard table.withUnsafeBytes({ Checksum.crc32c($0) }) == reference.digest else {
      throw Self.corruption(reference, .wrongChecksum, Int(header.checksumsOffset))
    }
    if let place = rest.dropLast(table.count).firstIndex(where: { $0 != 0 }) {
      throw Self.corruption(reference, .reservedNotZero, Int(offset) + place)
    }
    return table
  }

  /// Checks that a file's header agrees with the record that references the file.
  private func check(_ head: UnsafeRawBufferPointer, _ reference: BlobReference) throws(StoreError) {
    let header: BlobHeader
    do { header = try BlobHeader(reading: head) } catch {
      throw Self.corruption(reference, error.reason, error.offset)
    }
    guard header.store == storeID, header.number == reference.number,
      header.valueLength == reference.valueLength
    else {
      throw Self.corruption(reference, .misplaced, 16)
    }
  }

  private func map(_ file: any File, _ reference: BlobReference) throws(StoreError) -> (FileMapping, Int) {
    let header = BlobHeader(store: storeID, number: reference.number, valueLength: reference.valueLength)
    do {
      defer { try? file.close() }
      guard try file.size() >= header.fileLength else {
        throw Self.corruption(reference, .incomplete, Int(try file.size()))
      }
      return (try file.map(Int(header.fileLength)), Int(header.fileLength))
    } catch let error as StoreError {
      throw error
    } catch let error as FileIOError {
      throw .io(error, "Reading a blob file")
    } catch {
      preconditionFailure("a file throws no other errors")
    }
  }

  private func verify(
    _ reference: BlobReference, _ file: UnsafeRawBufferPointer, _ mapping: FileMapping
  ) throws(StoreError) -> ValueBytes {
    let header = BlobHeader(store: storeID, number: reference.number, valueLength: reference.valueLength)
    try check(file, reference)
    let table = file.part(Int(header.checksumsOffset), 4 * header.chunkCount)
    guard Checksum.crc32c(table) == reference.digest else {
      throw Self.corruption(reference, .wrongChecksum, Int(header.checksumsOffset))
    }
    let padding = (BlobHeader.length + Int(header.valueLength))..<Int(header.checksumsOffset)
    if let place = file.firstNonZero(in: padding) {
      throw Self.corruption(reference, .reservedNotZero, place)
    }
    let value = file.part(BlobHeader.length, Int(header.valueLength))
    for chunk in 0..<header.chunkCount {
      let start = chunk * BlobHeader.chunkLength
      let bytes = value.part(start, min(BlobHeader.chunkLength, value.count - start))
      guard Checksum.crc32c(bytes) == table.integer(at: 4 * chunk, as: UInt32.self) else {
        throw Self.corruption(reference, .wrongChecksum, BlobHeader.length + start)
      }
    }
    return ValueBytes(value, in: mapping)
  }

  /// The larger of `next` and the number after `taken`, which is a used number. A used number at
  /// the limit is ignored.
  static func number(after taken: UInt64, _ next: UInt64) -> UInt64 {
    taken >= FormatLimits.counterMax ? next : max(next, taken + 1)
  }

  /// Opens the blob file `number` for reading; nil if the file is absent.
  func file(_ number: UInt64) throws(FileIOError) -> (any File)? {
    do { return try directory.open(StoreFileName.blob(number).string, .read) } catch {
      guard error.code == .notFound else { throw error }
      return nil
    }
  }

  /// The length of the blob file `number`; nil if the file is absent.
  func length(of number: UInt64) throws(FileIOError) -> UInt64? {
    guard let file = try file(number) else { return nil }
    // An error of `close` does not matter: the file was only read.
    defer { try? file.close() }
    return try file.size()
  }

  /// Removes a file that no record references. If the file cannot be removed now, the next recovery
  /// removes it.
  func remove(_ number: UInt64) throws(FileIOError) {
    try directory.remove(StoreFileName.blob(number).string)
  }

  static func corruption(_ reference: BlobReference, _ reason: FormatError.Reason, _ offset: Int)
    -> StoreError
  {
    StoreError(
      .corruption, "A blob file is damaged or missing (\(reason.rawValue)); restore it from a backup",
      at: "\(StoreFileName.blob(reference.number).string), byte \(offset)")
  }
}

extension BlobReference {
  /// Reads the reference in a `blob` record.
  init(in record: Record) throws(StoreError) {
    do { self = try BlobReference(reading: record.value) } catch {
      throw StoreError(
        .corruption, "\(error). Nothing was changed. Put the value again, or restore a backup",
        at: "a blob record")
    }
  }
}
