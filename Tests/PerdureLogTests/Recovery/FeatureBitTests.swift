import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Feature bits that this version does not know")
struct FeatureBitTests {
  private typealias Field = HandmadeLog.FeatureField

  /// A call that reads a whole store.
  private struct Call {
    let name: String
    let body: (HandmadeLog, StoreOptions) throws -> Void

    init(_ name: String, _ body: @escaping (HandmadeLog, StoreOptions) throws -> Void) {
      (self.name, self.body) = (name, body)
    }
  }

  private let opening = [
    Call("open for writing") { log, _ in _ = try log.open() },
    Call("open for reading") { log, _ in _ = try log.open(readOnly: true) },
    Call("restore") { _, options in
      _ = try Store.restore(from: HandmadeLog.path, to: "/target", options: options)
    },
  ]

  private let copying = [
    Call("copy") { _, options in try Store.copy(at: HandmadeLog.path, to: "/target", options: options) },
    Call("replace") { _, options in
      try Store.replace("/target", with: HandmadeLog.path, options: options)
    },
  ]

  private let searching = [
    Call("salvage") { _, options in
      _ = try Store.salvage(from: HandmadeLog.path, to: "/target", options: options)
    },
    Call("survey") { _, options in _ = try Store.survey(at: HandmadeLog.path, options: options) },
  ]

  /// Expects that a call is refused with the name of the bit, changes no byte, and creates no
  /// store.
  private func expectRefusal(_ log: HandmadeLog, _ bit: Int, in field: Field, _ call: Call) throws {
    let place: Comment = "\(call.name), bit \(bit), \(field)"
    let before = try log.files()
    let error = #expect(throws: StoreError.self, place) {
      try call.body(log, HandmadeLog.options(log.fileSystem))
    }
    #expect(error?.code == .unsupportedFormat, place)
    #expect(error?.message.contains(field.text(bit)) == true, "\(place): \(String(describing: error))")
    #expect(error?.message.contains("newer version") == true, "\(place): \(String(describing: error))")
    #expect(try log.files() == before, place)
    #expect(try log.fileSystem.contents(of: "/") == ["s.perdure"], place)
  }

  @Test(
    "A store with a reserved or unknown incompatible feature is refused by name, and no byte changes",
    arguments: [4, 5, 6, 63], [HandmadeLog.FeatureField.incompatible, .segment])
  func incompatible(bit: Int, field: HandmadeLog.FeatureField) throws {
    // A copy is made byte by byte, and reads no header of a segment.
    for call in opening + searching + (field == .segment ? [] : copying) {
      let log = try HandmadeLog()
      try log.set(bit, in: field)
      try expectRefusal(log, bit, in: field, call)
    }
  }

  @Test(
    "An unknown feature that only writers need allows reading and salvage, but no writing and no copies",
    arguments: [1, 40])
  func readOnlyCompatible(bit: Int) throws {
    let field = Field.readOnlyCompatible
    let log = try HandmadeLog()
    try log.set(bit, in: field)
    let before = try log.files()
    let reader = try log.open(readOnly: true)
    #expect(try reader.snapshot().value(id: 1, in: log.rows) == [1, 2, 3])
    #expect(try reader.verify().isClean)
    let backups = [
      Call("backup in a folder") { _, _ in _ = try reader.backup(to: "/target") },
      Call("backup as a stream") { _, _ in
        _ = try reader.backup { _ in Issue.record("a stream was begun") }
      },
    ]
    for call in opening.filter({ $0.name != "open for reading" }) + copying + backups {
      try expectRefusal(log, bit, in: field, call)
    }
    _ = try Store.salvage(
      from: HandmadeLog.path, to: "/target", options: HandmadeLog.options(log.fileSystem))
    var options = HandmadeLog.options(log.fileSystem)
    options.isReadOnly = true
    let salvaged = try Store(at: "/target", options: options)
    let rows = try salvaged.keyspace("rows", .dense)
    #expect(salvaged.snapshot().count(in: rows) == HandmadeLog.ids.count)
    #expect(try log.files() == before)
  }

  @Test("An earlier backup with an unknown feature is refused by name, and is not changed")
  func earlierBackup() throws {
    for (bit, field) in [(4, Field.incompatible), (63, .incompatible), (1, .readOnlyCompatible)] {
      let log = try HandmadeLog()
      let store = try log.open()
      try store.backup(to: "/earlier")
      let file = try log.fileSystem.open("/earlier/SUPERBLOCK", .readWrite)
      let bytes = try file.read(Superblock.fileLength, at: 0)
      var superblock = try bytes.withUnsafeBytes { try Superblock.newest(in: $0) }
      superblock.generation += 1
      if field == .incompatible {
        superblock.incompatibleFeatures |= 1 << UInt64(bit)
      } else {
        superblock.readOnlyCompatibleFeatures |= 1 << UInt64(bit)
      }
      var slot = [UInt8](repeating: 0, count: Superblock.slotLength)
      slot.withUnsafeMutableBytes { superblock.write(to: $0) }
      try file.write(slot, at: UInt64(superblock.slot * Superblock.slotLength))
      let before = try log.fileSystem.files(in: "/earlier").filter { $0.key != "LOCK" }
      let options = HandmadeLog.options(log.fileSystem)
      var calls: [() throws -> Void] = [
        { try Store.restore(from: "/earlier", to: "/target", options: options) }
      ]
      if field == .incompatible { calls.append { try store.backup(to: "/target", since: "/earlier") } }
      for call in calls {
        let error = #expect(throws: StoreError.self) { try call() }
        #expect(error?.code == .unsupportedFormat)
        #expect(error?.message.contains(field.text(bit)) == true, "\(String(describing: error))")
      }
      #expect(try log.fileSystem.files(in: "/earlier").filter { $0.key != "LOCK" } == before)
      #expect(try Set(log.fileSystem.contents(of: "/")) == ["s.perdure", "earlier"])
    }
  }

  @Test("An unknown compatible feature stays set in the store and in its copies")
  func compatible() throws {
    for bit in [0, 1, 40] {
      let log = try HandmadeLog()
      try log.set(bit, in: .compatible)
      let options = HandmadeLog.options(log.fileSystem)
      let store = try log.open()
      try store.write { try $0.put([9], id: 9, in: log.rows) }
      try store.checkpoint()
      try store.backup(to: "/backup")
      try store.close()
      try Store.copy(at: HandmadeLog.path, to: "/copy", options: options)
      try Store.restore(from: "/backup", to: "/restored", options: options)
      for path in [HandmadeLog.path, "/backup", "/copy", "/restored"] {
        let superblock = try SuperblockFile.open(in: log.fileSystem.openDirectory(path), .read).current
        #expect(superblock.compatibleFeatures == 1 << UInt64(bit), "\(path), bit \(bit)")
      }
    }
  }
}
