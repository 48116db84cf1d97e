import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// Opens stores in memory that compress values, and makes compressible values.
struct PackedStore {
  static let path = "/store.perdure"
  var memory: MemoryStore

  init(_ mode: CompressionOptions.Mode, segmentCapacityBytes: Int = 64 << 10) throws {
    memory = try MemoryStore(segmentCapacityBytes: segmentCapacityBytes)
    memory.options.compression.mode = mode
    memory.options.compression.trainsAutomatically = false
    memory.options.compression.dictionaryBytes = 2048
    memory.options.checkpoints = .manual
  }

  func open() throws -> Store { try memory.open() }

  /// Text that hardly repeats within one value, but is common to all values.
  static func value(_ number: UInt64, kind: Int = 0) -> [UInt8] {
    let kinds = [
      "{\"identifier\":%,\"description\":\"an ordinary row of the table\",\"amount\":@,\"currency\":\"EUR\"}",
      "<entry number='%'><colour>ultramarine</colour><weight unit='kilogram'>@</weight></entry>",
    ]
    let text = kinds[kind].split(separator: "%", omittingEmptySubsequences: false)
    let amount = "\(number &* 7919 % 100_003)"
    return Array((text[0] + "\(number)" + text[1].replacing("@", with: amount)).utf8)
  }

  /// Text that repeats within one value.
  static func repetitive(_ number: UInt64) -> [UInt8] {
    Array(String(repeating: "row \(number) ", count: 40 + Int(number % 7)).utf8)
  }

  /// The kind of each record of the log, with the dictionary if the record is packed.
  static func records(of store: Store) throws -> [(kind: RecordHeader.Kind, dictionary: Int?)] {
    var found: [(RecordHeader.Kind, Int?)] = []
    try store.engine.readingState { state in
      for (number, segment) in state.segments.segments.sorted(by: { $0.key < $1.key }) {
        let isLast = number == state.end.segment
        let end = isLast ? Int(state.end.offset) : state.segments.entries[Int(number)].end
        try LogScan.visitFrames(of: segment, upTo: end, state.storeID) { part in
          var records = SealedRecords(in: part.payload)
          while let (record, _, _) = try records.next() {
            let isPacked = record.header.kind == .packed
            found.append(
              (record.header.kind, isPacked ? try PackedValueHeader(reading: record.value).dictionary : nil))
          }
        }
      }
    }
    return found
  }
}
