import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// Headers of a store with numbers that no writer writes, and with correct checksums.
@Suite("Hostile numbers in headers")
struct HostileNumbersTests {
  private static let path = "/s.perdure"

  private static func fileSystem(_ files: [String: [UInt8]]) throws -> InMemoryFileSystem {
    let fileSystem = InMemoryFileSystem()
    try fileSystem.createDirectory(path)
    for (name, bytes) in files { try fileSystem.open(path + "/" + name, .create).write(bytes, at: 0) }
    return fileSystem
  }

  private static func options(_ fileSystem: any FileSystem, readOnly: Bool) -> StoreOptions {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.isReadOnly = readOnly
    options.createsIfMissing = false
    options.compactsAutomatically = false
    options.reserveBytes = 0
    options.checkpoints = .manual
    return options
  }

  /// Opens a store, reads and verifies it, and then writes to it or salvages it. Only `StoreError`
  /// may be thrown.
  private static func use(_ files: [String: [UInt8]], readOnly: Bool) throws {
    let fileSystem = try fileSystem(files)
    let options = options(fileSystem, readOnly: readOnly)
    do {
      let store = try Store(at: path, options: options)
      do { _ = try store.goldenContents() } catch is StoreError {}
      do { _ = try store.goldenEntries() } catch is StoreError {}
      do { _ = try store.verify() } catch is StoreError {}
      if !readOnly {
        do {
          let rows = try store.keyspace("rows", .dense)
          try store.write { try $0.put([1, 2, 3], id: 7, in: rows) }
          try store.checkpoint()
          _ = try store.compact()
        } catch is StoreError {}
      }
      do { try store.close() } catch is StoreError {}
    } catch is StoreError {}
    guard readOnly else { return }
    do {
      _ = try Store.salvage(from: path, to: "/salvaged", options: options)
    } catch is StoreError {}
  }

  @Test(
    "Any numbers in a header lead to a StoreError or to an opened store",
    arguments: [
      GoldenStore(version: 4, kind: .checkpoint), GoldenStore(version: 1, kind: .rewritten),
      GoldenStore(version: 2, kind: .packed), GoldenStore(version: 3, kind: .grouped),
      GoldenStore(version: 1, kind: .cutOff),
    ])
  func numbers(_ golden: GoldenStore) throws {
    var random = SeededGenerator.forTest("numbers in headers of \(golden)")
    let files = try golden.files()
    let structures = SealedStructure.all(in: files)
    #expect(structures.count > 20)
    let byFile = Dictionary(grouping: structures, by: \.file).sorted { $0.key < $1.key }
    let rounds = Environment.value(of: "PERDURE_HOSTILE_ROUNDS").flatMap { Int($0) } ?? 12
    for round in 0..<rounds {
      // Selects the file first. Otherwise almost all choices are headers of records, because these
      // are most frequent.
      let structure = random.pick(random.pick(byFile).value)
      var bytes = try #require(files[structure.file])
      var place = random.pick(structure.fields)
      let value = random.pick(SealedStructure.extremes)
      let width = random.chance(50) ? 8 : 4
      place = max(structure.fields.lowerBound, min(place - place % 4, structure.fields.upperBound - width))
      for byte in 0..<width where place + byte < structure.fields.upperBound {
        bytes[place + byte] = UInt8(truncatingIfNeeded: value >> UInt64(8 * byte))
      }
      structure.seal(&bytes)
      var changed = files
      changed[structure.file] = bytes
      let what = "round \(round): \(structure.file), byte \(place): \(value) in \(width) bytes"
      // Printed before the operations, because a trap ends the process.
      if Environment.value(of: "PERDURE_HOSTILE_ROUNDS") != nil { print(what) }
      do { try Self.use(changed, readOnly: round % 2 == 0) } catch {
        Issue.record("seed \(random.seed), \(what): \(error)")
      }
    }
  }
}
