import PerdureFormat
import Testing

/// A change of a sample, and the expected error after the checksum was corrected.
struct Rejection: Sendable, CustomTestStringConvertible {
  /// A value above the maximum of all counters.
  private static let uncountable = FormatLimits.counterMax + 1

  var structure: Structure
  var what: String
  var reason: FormatError.Reason
  var offset: Int
  var change: @Sendable (inout [UInt8]) -> Void

  var testDescription: String { "\(structure.name): \(what)" }

  init(
    _ structure: Structure, _ what: String, _ reason: FormatError.Reason, at offset: Int,
    _ change: @escaping @Sendable (inout [UInt8]) -> Void
  ) {
    self.structure = structure
    self.what = what
    self.reason = reason
    self.offset = offset
    self.change = change
  }

  /// Sets the integer of this type at `place` to `value`.
  static func field<T: FixedWidthInteger & Sendable>(
    _ structure: Structure, _ what: String, _ place: Int, _ value: T, _ reason: FormatError.Reason,
    at offset: Int? = nil
  ) -> Rejection {
    Rejection(structure, what, reason, at: offset ?? place) { $0.set(value, at: place) }
  }

  static let superblock: [Rejection] = [
    field(.superblock, "magic", 0, 0x88 as UInt8, .wrongMagic),
    field(.superblock, "another major version", 8, 2 as UInt16, .unsupported),
    field(.superblock, "another slot length", 12, 8192 as UInt32, .unsupported),
    field(.superblock, "generation 0", 32, 0 as UInt64, .illegalField),
    field(.superblock, "too high a generation", 32, uncountable, .illegalField),
    field(.superblock, "too high a durable sequence number", 80, uncountable, .illegalField),
    field(.superblock, "too high a blob number", 88, uncountable, .illegalField),
    field(.superblock, "an unknown incompatible feature", 56, (1 as UInt64) << 63, .unsupported),
    field(.superblock, "a durable end not at a multiple of 8", 72, 132 as UInt64, .illegalField, at: 64),
    field(.superblock, "a durable end inside a segment header", 72, 120 as UInt64, .illegalField, at: 64),
    field(.superblock, "a durable end beyond any segment", 64, (1 as UInt64) << 26, .illegalField),
    field(.superblock, "a durable end before the first segment", 64, 0 as UInt64, .illegalField),
    field(.superblock, "blob number 0", 88, 0 as UInt64, .illegalField),
    field(.superblock, "a state that is neither open nor closed", 96, 2 as UInt32, .illegalField),
    field(.superblock, "too small a capacity", 100, 4088 as UInt32, .illegalField),
    field(.superblock, "a capacity not a multiple of 8", 100, 4100 as UInt32, .illegalField),
    field(.superblock, "too large a capacity", 100, 0x1000_0008 as UInt32, .illegalField),
    field(.superblock, "a checkpoint in no index file", 104, 0 as UInt64, .illegalField),
    field(.superblock, "a checkpoint in the index file's header", 112, 0 as UInt32, .illegalField),
    field(.superblock, "a checkpoint shorter than its head", 116, 79 as UInt32, .illegalField),
    field(.superblock, "the first reserved byte", 124, 1 as UInt8, .unsupported),
    field(.superblock, "the last reserved byte", 127, 1 as UInt8, .unsupported),
    field(.superblock, "a flag of copies that is neither 0 nor 1", 144, 2 as UInt32, .illegalField),
  ]

  static let segmentHeader: [Rejection] = [
    field(.segmentHeader, "magic", 0, 0x50 as UInt8, .wrongMagic),
    field(.segmentHeader, "another major version", 8, 0 as UInt16, .unsupported),
    field(.segmentHeader, "another header length", 12, 4096 as UInt32, .unsupported),
    field(.segmentHeader, "number 0", 32, 0 as UInt64, .illegalField),
    field(.segmentHeader, "too high a number", 32, (1 as UInt64) << 26, .illegalField),
    field(.segmentHeader, "too high a generation", 40, uncountable, .illegalField),
    field(.segmentHeader, "sequence number 0", 56, 0 as UInt64, .illegalField),
    field(.segmentHeader, "too high a sequence number", 56, uncountable, .illegalField),
    field(.segmentHeader, "cleaned through too high a sequence number", 80, uncountable, .illegalField),
    field(.segmentHeader, "too small a capacity", 48, 128 as UInt64, .illegalField),
    field(.segmentHeader, "too large a capacity", 48, (1 as UInt64) << 40, .illegalField),
    field(.segmentHeader, "a predecessor that is itself", 64, 0x3AB_CDEF as UInt64, .illegalField),
    field(.segmentHeader, "an end in no predecessor", 64, 0 as UInt64, .illegalField, at: 72),
    field(.segmentHeader, "an end not at a multiple of 8", 72, 0x8884 as UInt64, .illegalField),
    field(.segmentHeader, "an end inside the predecessor's header", 72, 64 as UInt64, .illegalField),
    field(.segmentHeader, "an unknown feature", 88, 0x101 as UInt64, .unsupported),
    field(.segmentHeader, "a feature of superblocks alone", 88, 3 as UInt64, .unsupported),
    field(.segmentHeader, "a generation without its feature", 88, 0 as UInt64, .illegalField, at: 40),
    Rejection(.segmentHeader, "cleaned without having been rewritten", .illegalField, at: 80) {
      $0.set(0 as UInt64, at: 40)
      $0.set(0 as UInt64, at: 88)
    },
    Rejection(.segmentHeader, "groups without having been rewritten", .illegalField, at: 88) {
      $0.set(0 as UInt64, at: 40)
      $0.set(4 as UInt64, at: 88)
      $0.set(0 as UInt64, at: 80)
    },
    field(.segmentHeader, "a cipher key", 96, 1 as UInt32, .unsupported),
    field(.segmentHeader, "a nonce", 111, 1 as UInt8, .unsupported),
    field(.segmentHeader, "the last reserved byte", 123, 1 as UInt8, .unsupported),
  ]

  static let frameHeader: [Rejection] = [
    field(.frameHeader, "magic", 0, 0x314D_5247 as UInt32, .wrongMagic),
    field(.frameHeader, "an unknown kind", 8, 4 as UInt8, .unsupported),
    field(.frameHeader, "kind 0", 8, 0 as UInt8, .unsupported),
    field(.frameHeader, "a reserved byte", 11, 1 as UInt8, .unsupported),
    field(.frameHeader, "too many parts", 12, (1 as UInt32) << 20, .illegalField),
    field(.frameHeader, "sequence number 0", 16, 0 as UInt64, .illegalField),
    field(.frameHeader, "too high a sequence number", 16, uncountable, .illegalField),
    field(.frameHeader, "a payload not a multiple of 8", 24, 12 as UInt32, .illegalField),
    field(.frameHeader, "too long a payload", 24, 0x0040_0008 as UInt32, .illegalField),
    field(.frameHeader, "a promise beyond itself", 40, 0x1248 as UInt64, .illegalField),
    field(.frameHeader, "a promise that leaves out the segment's header", 40, 127 as UInt64, .illegalField),
    field(.frameHeader, "a cipher key", 48, 1 as UInt32, .unsupported),
    field(.frameHeader, "a nonce", 63, 1 as UInt8, .unsupported),
    Rejection(.frameHeader, "a mark that is a part", .illegalField, at: 12) { $0[8] = 3 },
    Rejection(.frameHeader, "a mark with a payload", .illegalField, at: 24) {
      $0[8] = 3
      $0.set(0 as UInt32, at: 12)
      $0.set(8 as UInt32, at: 24)
    },
    Rejection(.frameHeader, "a mark with records", .illegalField, at: 28) {
      $0[8] = 3
      $0.set(0 as UInt32, at: 12)
      $0.set(0 as UInt32, at: 24)
      $0.set(1 as UInt32, at: 28)
    },
    Rejection(.frameHeader, "a mark with a digest", .illegalField, at: 36) {
      $0[8] = 3
      $0.set(0 as UInt32, at: 12)
      $0.setInteger(0, in: 24..<32)
      $0.setInteger(0, in: 32..<36)
      $0.set(1 as UInt32, at: 36)
    },
  ]

  static let record: [Rejection] = [
    field(.record, "an unknown kind", 4, 9 as UInt8, .unsupported),
    field(.record, "unknown flags", 5, 1 as UInt8, .unsupported),
    field(.record, "too long a value", 12, 0x0010_0001 as UInt32, .illegalField),
    field(.record, "the longest value that the field can express", 12, UInt32.max, .illegalField),
    field(.record, "a tombstone whose value is not an address", 4, 2 as UInt8, .illegalField, at: 12),
    field(.record, "a blob without a reference", 4, 3 as UInt8, .illegalField, at: 12),
    Rejection(.record, "a packed value without a block", .illegalField, at: 12) {
      $0[4] = 4
      $0.set(4 as UInt32, at: 12)
    },
    Rejection(.record, "a key that is longer than the record", .incomplete, at: 34) {
      $0.set(UInt16.max, at: 6)
    },
  ]

  static let rewrittenFooter: [Rejection] = [
    field(.rewrittenFooter, "magic", 7, 0 as UInt8, .wrongMagic, at: 0),
    field(.rewrittenFooter, "generation 0", 8, 0 as UInt64, .illegalField),
    field(.rewrittenFooter, "too high a generation", 8, uncountable, .illegalField),
    field(
      .rewrittenFooter, "an original end not at a multiple of 8", 16, 0x123_4561 as UInt64, .illegalField),
    field(.rewrittenFooter, "an original end beyond any segment", 16, (1 as UInt64) << 29, .illegalField),
    field(.rewrittenFooter, "frames longer than before the rewrite", 24, 0x123_4568 as UInt64, .illegalField),
    field(.rewrittenFooter, "frames that end in the header", 24, 120 as UInt64, .illegalField),
    field(.rewrittenFooter, "more tombstones than records", 40, 0x55_4401 as UInt64, .illegalField, at: 32),
    field(.rewrittenFooter, "more records than fit into the structure", 32, UInt64.max, .illegalField),
    field(.rewrittenFooter, "more lines than the segment had units", 48, UInt32.max, .illegalField),
    field(.rewrittenFooter, "more groups than fit into the structure", 56, UInt32.max, .illegalField),
  ]

  static let groupEntry: [Rejection] = [
    field(.groupEntry, "a group in the header", 0, 120 as UInt32, .illegalField),
    field(.groupEntry, "a group not at a multiple of 8", 0, 0x98_7651 as UInt32, .illegalField),
    field(.groupEntry, "a group beyond any segment", 0, UInt32(1) << 29, .illegalField),
    field(.groupEntry, "an empty group", 4, 0 as UInt32, .illegalField),
    field(.groupEntry, "a group that is too long", 4, UInt32(FormatLimits.groupLengthMax + 8), .illegalField),
    field(.groupEntry, "a length that is not a multiple of 8", 4, 0x1_2341 as UInt32, .illegalField),
    field(.groupEntry, "a file offset in the header of the file", 8, 64 as UInt32, .illegalField),
    field(.groupEntry, "a file offset not at a multiple of 8", 8, 0x12_345C as UInt32, .illegalField),
    field(.groupEntry, "a file offset beyond the offset of the group", 8, 0x98_7658 as UInt32, .illegalField),
    field(.groupEntry, "nothing stored", 12, 0 as UInt32, .illegalField),
    field(.groupEntry, "a stored group longer than the unpacked one", 12, 0x1_2348 as UInt32, .illegalField),
  ]

  static let blob: [Rejection] = [
    field(.blobHeader, "magic", 7, 0 as UInt8, .wrongMagic, at: 0),
    field(.blobHeader, "another major version", 8, 9 as UInt16, .unsupported),
    field(.blobHeader, "another chunk length", 12, 4096 as UInt32, .unsupported),
    field(.blobHeader, "number 0", 32, 0 as UInt64, .illegalField),
    field(.blobHeader, "too long a value", 40, 0x1_0000_0001 as UInt64, .illegalField),
    field(.blobHeader, "the longest value that the field can express", 40, UInt64.max, .illegalField),
    field(.blobHeader, "the first reserved byte", 48, 1 as UInt8, .unsupported),
    field(.blobHeader, "the last reserved byte", 59, 1 as UInt8, .unsupported),
    field(.blobReference, "number 0", 0, 0 as UInt64, .illegalField),
    field(.blobReference, "too high a number", 0, uncountable - 1, .illegalField),
    field(.blobReference, "too long a value", 8, UInt64.max, .illegalField),
    field(.blobReference, "a reserved byte", 23, 1 as UInt8, .unsupported),
    field(.packedValue, "no bytes at all", 0, 0xFFE0_0000 as UInt32, .illegalField),
    field(.packedValue, "too many bytes", 0, 0x0010_0001 as UInt32, .illegalField),
    Rejection(.packedValue, "no block", .incomplete, at: 4) { $0.removeLast() },
    field(.tombstone, "an address in segment 0", 0, 0x30 as UInt64, .illegalField),
    field(.tombstone, "an address inside a header", 0, (1 as UInt64) << 25 | 23, .illegalField),
    field(.tombstone, "an unknown flag", 0, (1 as UInt64) << 58 | (1 << 25) | 0x30, .illegalField, at: 0),
    field(
      .tombstone, "a size class of no record", 0, ((62 as UInt64) << 51) | (1 << 25) | 0x30, .illegalField),
  ]
}

extension Rejection {
  static let index: [Rejection] = [
    field(.indexFileHeader, "magic", 3, 0 as UInt8, .wrongMagic, at: 0),
    field(.indexFileHeader, "another version", 8, 1 as UInt32, .unsupported),
    field(.indexFileHeader, "another unit", 12, 128 as UInt32, .unsupported),
    field(.indexFileHeader, "number 0", 32, 0 as UInt64, .illegalField),
    field(.indexFileHeader, "the first reserved byte", 40, 1 as UInt8, .unsupported),
    field(.indexFileHeader, "the last reserved byte", 59, 1 as UInt8, .unsupported),
    field(.backupStreamHeader, "another major version", 8, 2 as UInt16, .unsupported),
    field(.backupStreamHeader, "another length", 12, 128 as UInt32, .unsupported),
    field(.backupStreamHeader, "a reserved byte", 59, 1 as UInt8, .unsupported),
    field(.backupStreamChunk, "an unknown kind", 8, 5 as UInt8, .unsupported),
    field(
      .backupStreamChunk, "a flag of the last chunk that is neither 0 nor 1", 9, 2 as UInt8, .illegalField),
    field(.backupStreamChunk, "a reserved byte", 15, 1 as UInt8, .unsupported),
    field(.backupStreamChunk, "blob file 0", 16, 0 as UInt64, .illegalField),
    field(.backupStreamChunk, "too high an offset", 24, UInt64.max, .illegalField),
    field(.backupStreamChunk, "an end with a payload", 8, 4 as UInt8, .illegalField, at: 4),
    field(.readerSlot, "another version", 4, 2 as UInt16, .unsupported),
    field(.readerSlot, "an unknown state", 6, 3 as UInt16, .illegalField),
    field(.readerSlot, "state 0", 6, 0 as UInt16, .illegalField),
    field(.readerSlot, "needs of a reader that is still opening", 6, 1 as UInt16, .illegalField, at: 24),
    field(.readerSlot, "a reserved byte", 15, 1 as UInt8, .unsupported),
    field(.readerSlot, "an index file without a checkpoint", 40, 0 as UInt64, .illegalField),
    field(.readerSlot, "a checkpoint without an index file", 32, 0 as UInt64, .illegalField, at: 40),
    field(.readerSlot, "the last spare byte", 63, 1 as UInt8, .unsupported),
    field(.checkpointRoot, "magic", 0, 0 as UInt8, .wrongMagic),
    field(.checkpointRoot, "a reserved byte", 7, 1 as UInt8, .unsupported),
    field(.checkpointRoot, "number 0", 8, 0 as UInt64, .illegalField),
    field(.checkpointRoot, "an end before the first segment", 16, 0 as UInt64, .illegalField),
    field(.checkpointRoot, "an end not at a multiple of 8", 24, 0x3331 as UInt64, .illegalField, at: 16),
    field(.checkpointRoot, "blob number 0", 40, 0 as UInt64, .illegalField),
    field(.checkpointRoot, "too high a number", 8, uncountable, .illegalField),
    field(.checkpointRoot, "too high a sequence number", 32, uncountable, .illegalField),
    field(.checkpointRoot, "too high a blob number", 40, uncountable, .illegalField),
    field(
      .checkpointRoot, "more keyspaces than fit into the structure", 48, UInt32.max, .incomplete, at: 197),
    field(.checkpointRoot, "more indexes than fit into the structure", 52, UInt32.max, .incomplete, at: 197),
    field(.checkpointRoot, "more blobs than fit into the structure", 56, UInt64.max, .incomplete, at: 197),
    field(.checkpointRoot, "a longer table than there is", 64, UInt64.max, .incomplete, at: 197),
    field(.checkpointRoot, "bytes after the table", 64, 4 as UInt64, .illegalField, at: 196),
    field(.checkpointRoot, "an unknown flag of an index", 160, 4 as UInt8, .unsupported),
  ]
}

@Suite("Illegal fields of structures")
struct RejectionTests {
  @Test(
    "An illegal field with a correct checksum is reported with its offset",
    arguments: [
      Rejection.superblock, Rejection.segmentHeader, Rejection.frameHeader, Rejection.record, Rejection.blob,
      Rejection.rewrittenFooter, Rejection.groupEntry, Rejection.index,
    ].flatMap { $0 })
  func field(_ rejection: Rejection) {
    let error = rejection.structure.error(after: rejection.change)
    #expect(error?.reason == rejection.reason)
    #expect(error?.offset == rejection.offset)
    #expect(error?.structure == rejection.structure.name)
  }

  @Test(
    "A wrong checksum is reported with the offset of the checksum",
    arguments: [
      (Structure.superblock, 200, 4092), (.segmentHeader, 58, 124), (.frameHeader, 20, 4),
      (.blobHeader, 33, 60), (.rewrittenFooter, 33, 60), (.groupEntry, 5, 20),
      (.record, 20, 0), (.indexFileHeader, 20, 60), (.readerSlot, 20, 0),
    ])
  func wrongChecksum(_ structure: Structure, _ changed: Int, _ place: Int) {
    var bytes = structure.sample
    bytes[changed] ^= 0x10
    let error = structure.errorOfDecoding(bytes)
    #expect(error?.reason == .wrongChecksum)
    #expect(error?.offset == place)
  }

  @Test("An error's description has the structure, the reason and the offset")
  func description() {
    let error = FormatError(.illegalField, in: "frame header", at: 24)
    #expect(error.description == "frame header: illegalField at byte 24")
  }
}
