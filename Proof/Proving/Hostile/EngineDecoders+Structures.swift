import PerdureCompression
import PerdureFileIO
import PerdureFormat
import PerdureLog
import PerdureNumbers
import PerdureTestSupport

// The decoders that follow references between structures: trees, compressed values, and complete
// segments.

extension EngineDecoders {
  /// The sum of a group, as index keys encode it.
  static let sum = HostileDecoder(
    "sum", cost: 10, throwing: FormatError.self, samples: { Samples.sums.map(\.encoded) },
    decode: { bytes in
      let sum = try ExactSum(decoding: bytes)
      try same(sum.encoded, bytes, "a sum")
      guard sum.encoded.count == bytes.count else { throw Violation("bytes after the end of a sum") }
      _ = (sum.int64, sum.double, sum.orderKey, sum.coefficientAndExponent)
      var twice = sum
      twice.merge(sum)
      for term in [ExactSum.Term.integer(-1), .double(0.1)] { twice.apply(term, isRemoval: false) }
      for term in [ExactSum.Term.integer(-1), .double(0.1)] { twice.apply(term, isRemoval: true) }
      var again = sum
      again.merge(sum)
      guard twice == again else { throw Violation("a term that was added and removed changed the sum") }
    })

  /// The tree's description in a root block (dense or not, height, slot, count), then the index
  /// file without its header.
  static let index = HostileDecoder(
    "index", cost: 10, throwing: FormatError.self,
    repair: { bytes in
      guard bytes.count > 16 else { return }
      var file = indexFile(bytes[16...])
      file.withUnsafeMutableBytes { LogDecoders.sealNodes(in: $0) }
      bytes = Array(bytes.prefix(16)) + file[64...]
    },
    samples: { try Samples.trees() },
    decode: { bytes in
      guard bytes.count > 16 else { return }
      let root = LogDecoders.Root(
        isDense: bytes[0] & 1 == 1, slot: bytes.integer(at: 4), height: Int(bytes[1]),
        count: Int(bytes.integer(at: 8, as: UInt64.self) & (1 << 40 - 1)))
      let file = indexFile(Array(bytes)[16...])
      let aligned = UnsafeMutableRawBufferPointer.allocate(byteCount: file.count, alignment: 64)
      defer { aligned.deallocate() }
      aligned.copyBytes(from: file)
      _ = try LogDecoders.walk(UnsafeRawBufferPointer(aligned), from: root)
    })

  /// An index file with a header of zeros, padded to whole units.
  private static func indexFile(_ nodes: ArraySlice<UInt8>) -> [UInt8] {
    var file = [UInt8](repeating: 0, count: 64) + nodes
    file += [UInt8](repeating: 0, count: (64 - file.count % 64) % 64)
    return file
  }

  /// The length of the output, the length of a dictionary, the dictionary, and an LZ4 block. Both
  /// LZ4 decoders must give the same result.
  static let block = HostileDecoder(
    "lz4", throwing: CompressionError.self,
    samples: {
      let text = [UInt8](String(repeating: "a log of frames, each whole or torn; ", count: 6).utf8)
      var packed = [UInt8](repeating: 0, count: 512)
      let count = try text.withUnsafeBytes { text in
        try packed.withUnsafeMutableBytes { try LZ4Block.compress(text, into: $0) }
      }
      let length = [UInt8(text.count), 0]
      return [
        length + [0, 0] + packed.prefix(count), length + [8, 0] + text.prefix(8) + packed.prefix(count),
      ]
    },
    decode: { bytes in
      guard bytes.count > 4 else { return }
      let length = Int(bytes.integer(at: 0, as: UInt16.self))
      let dictionaryLength = min(bytes.count - 5, Int(bytes.integer(at: 2, as: UInt16.self)))
      let dictionary = UnsafeRawBufferPointer(rebasing: bytes[4..<(4 + dictionaryLength)])
      let block = UnsafeRawBufferPointer(rebasing: bytes[(4 + dictionaryLength)...])
      // If the library decompresses a block, the decoder in Swift must give the same bytes.
      // Exceptions are blocks that the format forbids (LB4 of `LZ4BlockDecoding`).
      let library = unpacked(block, dictionary, length, LZ4Block.self)
      let swift = unpacked(block, dictionary, length, LZ4BlockDecoder.self)
      guard case .success(let bytes) = library else { return }
      switch swift {
      case .success(let others) where others == bytes: return
      case .failure(let error) where "\(error)".contains("match has offset 0"): return
      default: throw Violation("two decoders decompress a block differently")
      }
    })

  private static func unpacked<Decoder: LZ4BlockDecoding>(
    _ block: UnsafeRawBufferPointer, _ dictionary: UnsafeRawBufferPointer, _ length: Int,
    _ decoder: Decoder.Type
  ) -> Result<[UInt8], CompressionError> {
    let target = UnsafeMutableRawBufferPointer.allocate(byteCount: length, alignment: 16)
    defer { target.deallocate() }
    do throws(CompressionError) {
      let count = try decoder.decompress(block, into: target, dictionary: dictionary)
      return .success(Array(target.prefix(count)))
    } catch {
      return .failure(error)
    }
  }

  /// The file of the only segment of a store. The store is salvaged, opened, read, verified and
  /// written.
  static let segment = HostileDecoder(
    "segment", cost: 400, throwing: StoreError.self, repair: { Seals.segment(&$0) },
    samples: { try Samples.segments() },
    decode: { bytes in
      let fileSystem = InMemoryFileSystem()
      try fileSystem.createDirectory(RotStore.path)
      let superblock = Superblock(store: store, segmentCapacity: 4096)
      let slot = encoded(4096) { superblock.write(to: $0) }
      var file = [UInt8](repeating: 0, count: Superblock.fileLength)
      let start = superblock.slot * Superblock.slotLength
      file.replaceSubrange(start..<(start + slot.count), with: slot)
      try fileSystem.open(RotStore.path + "/SUPERBLOCK", .create).write(file, at: 0)
      let name = StoreFileName.segment(1).string
      try fileSystem.open(RotStore.path + "/" + name, .create).write(Array(bytes), at: 0)
      try salvage(fileSystem)
      for isReadOnly in [true, false] {
        let options = RotStore.options(on: fileSystem, isReadOnly: isReadOnly)
        let opened = try Store(at: RotStore.path, options: options)
        try read(opened)
        if !isReadOnly { try writeOn(opened) }
      }
    })

  private static func read(_ store: Store) throws {
    for keyspace in try store.keyspaces {
      let snapshot = store.snapshot()
      do {
        if keyspace.kind == .dense {
          try snapshot.forEach(in: keyspace, ids: 0 ... .max) { _, _ in true }
        } else {
          try snapshot.forEach(in: keyspace, range: .all) { (_: RawSpan, _: RawSpan) in true }
        }
      } catch is StoreError {
        continue
      }
    }
    _ = try store.verify()
  }

  private static func writeOn(_ store: Store) throws {
    let keyspace = try store.keyspace("written on", .dense)
    try store.write(durability: .relaxed) { try $0.put([1], id: 1, in: keyspace) }
    try store.compact()
    guard try store.snapshot().value(id: 1, in: keyspace) == [1] else {
      throw Violation("a written value is missing")
    }
    try store.close()
  }

  private static func salvage(_ fileSystem: InMemoryFileSystem) throws {
    let options = RotStore.options(on: fileSystem, isReadOnly: false)
    do { _ = try Store.salvage(from: RotStore.path, to: "/salvaged", options: options) } catch is StoreError {
      return
    }
    let target = try Store(at: "/salvaged", options: options)
    guard try target.verify().isClean else { throw Violation("the salvaged store is damaged") }
  }
}
