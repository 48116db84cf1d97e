import PerdureFormat
import Testing

/// A layout table of FORMAT.md, the structure that it describes, and the value of each field in the
/// sample.
struct DocumentedLayout: Sendable, CustomTestStringConvertible {
  var name: String
  var structure: Structure
  /// The values by field name. The table may describe only the beginning of the sample.
  var values: [String: UInt64]

  var testDescription: String { name }

  private static let store = ["storeHigh": Sample.store.high, "storeLow": Sample.store.low]
  private static let version: [String: UInt64] = ["majorVersion": 1, "minorVersion": 0]

  static let all: [DocumentedLayout] = [
    DocumentedLayout(
      name: "superblock slot", structure: .superblock,
      values: [
        "slotLength": 4096, "generation": Sample.superblock.generation,
        "compatibleFeatures": 0xF0E0, "readOnlyCompatibleFeatures": 0xD0C1, "incompatibleFeatures": 0,
        "durableEndSegment": 7, "durableEndOffset": 0x0123_4560, "durableSequence": 0x1_0000_0009,
        "nextBlob": 0x2_0000_000B, "isClosed": 1, "segmentCapacity": 65_536,
        "indexFile": 0xA_0000_0077, "rootSlot": 0xB0B0, "rootLength": 0xC0C0, "rootChecksum": 0xABCD_0003,
        "branchHigh": 0x3333_0000_0000_0011, "branchLow": 0x4444_0000_0000_0022, "isUnopenedCopy": 1,
      ].merging(store) { $1 }.merging(version) { $1 }),
    DocumentedLayout(
      name: "segment header", structure: .segmentHeader,
      values: [
        "headerLength": 128, "number": 0x3AB_CDEF, "generation": 0x5_0000_0003, "capacity": 1 << 24,
        "firstSequence": 0x4_0000_0123, "predecessorEndSegment": 0x2AB_CDE0, "predecessorEndOffset": 0x8888,
        "cleanedThrough": 0x6_0000_0077, "incompatibleFeatures": 1, "cipherKey": 0,
      ].merging(store) { $1 }.merging(version) { $1 }),
    DocumentedLayout(
      name: "frame header", structure: .frameHeader,
      values: [
        "kind": 1, "part": 0xA0B0, "sequence": 0x7_0000_0042, "payloadLength": 0x31230,
        "recordCount": 0x1234, "recordDigest": 0xCAFE_0001, "chainDigest": 0xBEEF_0002,
        "syncedOffset": 0x1100,
      ]),
    DocumentedLayout(
      name: "record header", structure: .record,
      values: ["kind": 1, "keyLength": 5, "keyspace": 0x0102_0304, "valueLength": 13]),
    DocumentedLayout(
      name: "blob header", structure: .blobHeader,
      values: ["chunkLength": 65_536, "number": 0x8_0000_0055, "valueLength": 200_001]
        .merging(store) { $1 }.merging(version) { $1 }),
    DocumentedLayout(
      name: "blob reference", structure: .blobReference,
      values: ["number": 0x9_0000_0066, "valueLength": 0x8000_1234, "digest": 0x1357_9BDF]),
    DocumentedLayout(
      name: "packed value", structure: .packedValue, values: ["lengthAndDictionary": 0x5A5 << 21 | 0x1234]),
    DocumentedLayout(
      name: "index file header", structure: .indexFileHeader,
      values: ["version": 3, "unitLength": 64, "number": 0xB_0000_0088].merging(store) { $1 }),
    DocumentedLayout(
      name: "reader slot", structure: .readerSlot,
      values: [
        "version": 1, "state": 2, "processID": 0x1_2345, "since": 0x6_7777_0001,
        "sequence": 0x8_0000_0021, "indexFile": 0x9_0000_0031, "checkpoint": 0xA_0000_0041,
        "lastSequence": 0xB_0000_0051,
      ]),
    DocumentedLayout(
      name: "rewritten footer", structure: .rewrittenFooter,
      values: [
        "generation": 0x7_0000_0044, "originalEnd": 0x123_4560, "dataEnd": 0x98_7650,
        "recordBytes": 0x55_4400, "tombstoneBytes": 0x33_2200, "lineCount": 0x1357,
        "mapDigest": 0x2468_ACE1, "groupCount": 0x0ACE,
      ]),
    DocumentedLayout(
      name: "group entry", structure: .groupEntry,
      values: [
        "offset": 0x98_7650, "unpackedLength": 0x1_2340, "fileOffset": 0x12_3458, "storedLength": 0x4321,
        "groupChecksum": 0xABCD_0005,
      ]),
    DocumentedLayout(
      name: "backup stream header", structure: .backupStreamHeader,
      values: ["headerLength": 64].merging(store) { $1 }.merging(version) { $1 }),
    DocumentedLayout(
      name: "backup stream chunk", structure: .backupStreamChunk,
      values: [
        "payloadLength": 5, "kind": 3, "isLast": 1, "number": 0x9_0000_0077, "offset": 0x1_2345_6780,
      ]),
    DocumentedLayout(
      name: "checkpoint root", structure: .checkpointRoot,
      values: [
        "number": 0xC_0000_0099, "endSegment": 6, "endOffset": 0x3330, "sequence": 0x2_0000_0010,
        "nextBlob": 0x3_0000_000C, "keyspaceCount": 2, "indexCount": 1, "blobCount": 3, "usageLength": 5,
        "unitsInUse": 0x7777_0000_8888_0001,
      ]),
  ]
}

@Suite("Consistency of FORMAT.md and the codecs")
struct FormatDocumentTests {
  private let document: FormatDocument

  init() throws {
    document = try FormatDocument()
  }

  @Test("Layout tables list every byte exactly once, with types of the right size")
  func coverage() throws {
    #expect(
      Set(document.layouts.keys)
        == Set(DocumentedLayout.all.map { $0.name }).union([
          "keyspace entry", "index entry", "dictionary entry", "checkpoint index entry", "node header",
          "offset map line",
        ]))
    for (name, layout) in document.layouts {
      var offset = 0
      for field in layout.fields {
        #expect(field.offset == offset, "\(name), \(field.name)")
        offset += field.size
        let size = ["u8": 1, "u16": 2, "u32": 4, "u64": 8][field.type]
        let isKnown = size == field.size || ["bytes", "zero"].contains(field.type)
        #expect(isKnown, "\(name), \(field.name)")
      }
      #expect(offset == layout.length, "\(name)")
      #expect(Set(layout.fields.map { $0.name }).count == layout.fields.count, "\(name): duplicate field")
    }
  }

  @Test("The table of feature flags has the names that errors use")
  func features() throws {
    let names = document.features.reduce(into: [:]) { $0[$1.field, default: [:]][$1.bit] = $1.name }
    #expect(names["incompatibleFeatures"] == FormatFeatures.incompatible.names)
    #expect(names["readOnlyCompatibleFeatures"] == FormatFeatures.readOnlyCompatible.names)
    #expect(names["compatibleFeatures"] == FormatFeatures.compatible.names)
    let reserved = document.features.filter { $0.isReserved && $0.field == "incompatibleFeatures" }
      .reduce(0 as UInt64) { $0 | 1 << UInt64($1.bit) }
    #expect(reserved & FormatFeatures.incompatible.known == 0)
    #expect(
      FormatFeatures.incompatible.missing(1 << 4 | 1 << 40).contains("4 (external values), 40 (a feature"))
  }

  @Test("Each field is encoded at the offset in its table", arguments: DocumentedLayout.all)
  func encoding(_ documented: DocumentedLayout) throws {
    let layout = try document.layout(documented.name)
    let bytes = documented.structure.sample
    for field in layout.fields {
      switch field.type {
      case "zero": #expect(bytes[field.range].allSatisfy { $0 == 0 }, "\(field.name)")
      case "bytes": #expect(Array(bytes[field.range]) == Self.literal(field.meaning), "\(field.name)")
      default:
        guard field.name != "checksum" else { continue }
        #expect(bytes.integer(in: field.range) == documented.values[field.name], "\(field.name)")
      }
    }
    #expect(Set(documented.values.keys).isSubset(of: layout.fields.map { $0.name }))
  }

  @Test("Bytes built from the table alone decode to the sample", arguments: DocumentedLayout.all)
  func decoding(_ documented: DocumentedLayout) throws {
    let layout = try document.layout(documented.name)
    var bytes = [UInt8](repeating: 0, count: layout.length)
    for field in layout.fields {
      if field.type == "bytes" { bytes.replaceSubrange(field.range, with: Self.literal(field.meaning)) }
      if let value = documented.values[field.name] { bytes.setInteger(value, in: field.range) }
    }
    bytes += documented.structure.sample[layout.length...]
    documented.structure.repair(&bytes)
    #expect(bytes == documented.structure.sample)
    #expect(try documented.structure.decode(bytes) == documented.structure.sample)
  }

  @Test(
    "Nonzero reserved bytes are refused, nonzero spare bytes are ignored", arguments: DocumentedLayout.all)
  func reserved(_ documented: DocumentedLayout) throws {
    for field in try document.layout(documented.name).fields where field.type == "zero" {
      for place in [field.range.lowerBound, field.range.upperBound - 1] {
        let error = documented.structure.error { $0[place] = 1 }
        if field.name == "spare" {
          #expect(error == nil, "\(field.name)")
        } else {
          #expect(error == FormatError(.unsupported, in: documented.structure.name, at: place))
        }
      }
    }
  }

  @Test("The table of limits is complete and correct")
  func limits() {
    #expect(
      document.limits == [
        "alignment": UInt64(FormatLimits.alignment),
        "keyLengthMax": UInt64(FormatLimits.keyLengthMax),
        "inlineValueLengthMax": UInt64(FormatLimits.inlineValueLengthMax),
        "blobLengthMax": FormatLimits.blobLengthMax,
        "dictionaryLengthMax": UInt64(FormatLimits.dictionaryLengthMax),
        "dictionaryNumberMax": UInt64(FormatLimits.dictionaryNumberMax),
        "recordLengthMax": UInt64(FormatLimits.recordLengthMax),
        "framePayloadTarget": UInt64(FormatLimits.framePayloadTarget),
        "framePayloadMax": UInt64(FormatLimits.framePayloadMax),
        "groupLengthTarget": UInt64(FormatLimits.groupLengthTarget),
        "groupLengthMax": UInt64(FormatLimits.groupLengthMax),
        "commitPartsMax": UInt64(FormatLimits.commitPartsMax),
        "backupChunkMax": UInt64(FormatLimits.backupChunkMax),
        "segmentCapacityMin": UInt64(FormatLimits.segmentCapacityMin),
        "segmentCapacityMax": UInt64(FormatLimits.segmentCapacityMax),
        "segmentNumberMax": FormatLimits.segmentNumberMax,
        "counterMax": FormatLimits.counterMax,
      ])
  }

  @Test("Rule numbers are unique and consecutive, and every cited rule exists")
  func rules() {
    let defined = document.text.matches(of: #/(?m)^- \*\*([A-Z][0-9]+)\*\* /#).map { String($0.1) }
    #expect(Set(defined).count == defined.count)
    let cited = Set(document.text.matches(of: #/\b([ACPBLSRTMKW][0-9]+)\b/#).map { String($0.1) })
    #expect(cited == Set(defined))
    for series in "ACPBLSRTMKW" {
      let numbers = defined.filter { $0.first == series }.map { $0.dropFirst() }
      #expect(numbers == (1...numbers.count).map { "\($0)" }[...].map { $0[...] }, "\(series)")
    }
  }

  @Test("The table of contents lists the chapters in order")
  func contents() {
    let chapters = document.text.matches(of: #/(?m)^## ([0-9]+)\. (.*)$/#).map { "\($0.1) \($0.2)" }
    let contents = document.text.matches(of: #/(?m)^([0-9]+)\. \[(.*)\]\(#/#).map { "\($0.1) \($0.2)" }
    #expect(chapters == contents)
    #expect(chapters.count > 10)
  }

  /// The bytes in backquotes at the beginning of the meaning.
  private static func literal(_ meaning: String) -> [UInt8] {
    meaning.split(separator: "`").first.map { $0.split(separator: " ").compactMap { UInt8($0, radix: 16) } }
      ?? []
  }
}
