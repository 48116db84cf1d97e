import PerdureFileIO
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// A store with random writes, and its content after every commit.
///
/// Rows and names have values of all lengths, and some are in blob files. An index groups the rows.
/// Tests compact the store and write checkpoints explicitly.
final class WitnessedStore {
  static let path = "/s.perdure"
  private static let blobLength = 3000

  /// The content after a commit.
  struct Content: Equatable {
    var rows: [UInt64: [UInt8]] = [:]
    var names: [[UInt8]: [UInt8]] = [:]
  }

  let fileSystem: any FileSystem
  var options = StoreOptions()
  private(set) var store: Store?
  /// The contents by sequence number.
  private(set) var history: [UInt64: Content] = [:]
  private var random: SeededGenerator
  private var known: (Keyspace, Keyspace, DerivedIndex)?

  init(
    _ random: SeededGenerator, _ fileSystem: any FileSystem = InMemoryFileSystem(),
    segmentCapacityBytes: Int = 8 << 10, hasRoom: Bool? = nil
  ) throws {
    self.fileSystem = fileSystem
    self.random = random
    options.fileSystem = fileSystem
    options.segmentCapacityBytes = segmentCapacityBytes
    options.blobThresholdBytes = 1024
    options.checkpoints = .manual
    options.compactsAutomatically = false
    options.durability = .processCrash
    if hasRoom ?? self.random.chance(50) { options.logRoom = .always(upTo: 1000) }
    if self.random.chance(50) {
      options.compression.groupsColdRecords = true
      options.compression.groupLengthTarget = 1000
      options.compression.groupCacheBytes = 4000
    }
    try open()
    let rows = try writer.keyspace("rows", .dense)
    history[try last] = Content()
    let names = try writer.keyspace("names", .bytes)
    history[try last] = Content()
    let definition = IndexDefinition.slices("groups", rows, .value(offset: 0, length: 1))
    known = (rows, names, try writer.defineIndex(definition))
    history[try last] = Content()
  }

  var writer: Store { get throws { try #require(store) } }
  var last: UInt64 { get throws { try writer.statistics.sequence } }

  func open() throws { store = try Store(at: Self.path, options: options) }

  /// Ends the writer without closing the store, as a killed process does.
  func kill() { store = nil }

  func reader(on fileSystem: (any FileSystem)? = nil, registers: Bool = true) throws -> Store {
    var options = options
    options.isReadOnly = true
    options.registersAsReader = registers
    if let fileSystem { options.fileSystem = fileSystem }
    return try Store(at: Self.path, options: options)
  }

  /// Makes a commit with random puts and removals.
  func commit() throws {
    let store = try writer
    let (rows, names, _) = try parts()
    var content = try #require(history[try last])
    let sequence = try store.write { transaction in
      for _ in 0..<Int.random(in: 1...12, using: &random) {
        let id = UInt64.random(in: 0..<60, using: &random)
        let name = Array("name \(Int.random(in: 0..<40, using: &random))".utf8)
        let value = makeValue()
        switch Int.random(in: 0..<8, using: &random) {
        case 0:
          try transaction.remove(id: id, in: rows)
          content.rows[id] = nil
        case 1:
          try transaction.remove(key: name, in: names)
          content.names[name] = nil
        case 2, 3:
          try transaction.put(value, key: name, in: names)
          content.names[name] = value
        default:
          try transaction.put(value, id: id, in: rows)
          content.rows[id] = value
        }
      }
    }.sequence
    history[sequence] = content
  }

  private func makeValue() -> [UInt8] {
    let length = random.chance(4) ? Self.blobLength : Int.random(in: 1..<200, using: &random)
    return (0..<length).map { _ in UInt8.random(in: 0..<8, using: &random) }
  }

  /// Makes some commits, and then compacts, writes a checkpoint, reopens the store or does nothing.
  func act() throws {
    for _ in 0..<Int.random(in: 1...6, using: &random) { try commit() }
    switch Int.random(in: 0..<6, using: &random) {
    case 0: try writer.compact()
    case 1, 2: try writer.checkpoint()
    case 3:
      try writer.close()
      try open()
    case 4:
      kill()
      try open()
    default: break
    }
  }

  /// Compares the snapshot with the content after its commit.
  func check(_ snapshot: Snapshot, _ place: String, mayLackBlobs: Bool = false) throws {
    let content = try #require(history[snapshot.sequence], "\(place): commit \(snapshot.sequence)")
    let (rows, names, index) = try parts()
    #expect(snapshot.count(in: rows) == content.rows.count, "\(place)")
    #expect(snapshot.count(in: names) == content.names.count, "\(place)")
    for id in 0..<60 as Range<UInt64> {
      let expected = content.rows[id]
      if mayLackBlobs, expected?.count == Self.blobLength { continue }
      guard try snapshot.value(id: id, in: rows) == expected else {
        Issue.record("\(place): row \(id) at commit \(snapshot.sequence)")
        return
      }
    }
    for number in 0..<40 {
      let name = Array("name \(number)".utf8)
      let expected = content.names[name]
      if mayLackBlobs, expected?.count == Self.blobLength { continue }
      guard try snapshot.value(key: name, in: names) == expected else {
        Issue.record("\(place): name \(number) at commit \(snapshot.sequence)")
        return
      }
    }
    for group in 0..<8 as Range<UInt8> {
      var found: [UInt64] = []
      try snapshot.forEachEntry(in: index, range: .prefix([group])) {
        found.append($1); return true
      }
      let expected = content.rows.filter { $0.value.first == group }.keys.sorted()
      #expect(found.sorted() == expected, "\(place): group \(group) at commit \(snapshot.sequence)")
    }
  }

  private func parts() throws -> (Keyspace, Keyspace, DerivedIndex) {
    try #require(known)
  }
}
