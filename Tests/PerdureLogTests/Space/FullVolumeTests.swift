import PerdureFileIO
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// These tests fill a small volume of the system. `PERDURE_SMALL_VOLUME` names a directory on the
/// volume, for example on a tmpfs of 24 MiB.
@Suite("On a full volume of the system", .enabled(if: Environment.value(of: "PERDURE_SMALL_VOLUME") != nil))
struct FullVolumeTests {
  @Test("Without free space, a store can be opened, read and compacted, and then accepts values")
  func life() throws {
    let volume = try #require(Environment.value(of: "PERDURE_SMALL_VOLUME"))
    let directory = volume + "/perdure-test-\(Environment.processID).perdure"
    let fileSystem = POSIXFileSystem()
    defer { try? removeAll(directory, fileSystem) }
    var options = StoreOptions()
    options.compactsAutomatically = false
    options.durability = .relaxed
    var store = try Store(at: directory, options: options)
    let rows = try store.keyspace("rows", .dense)
    let value = [UInt8](repeating: 7, count: 1000)
    func fill(from first: UInt64) throws -> UInt64 {
      for id in first... {
        do { try store.write { try $0.put(value, id: id, in: rows) } } catch let error as StoreError {
          #expect(error.code == .diskFull, "\(error)")
          return id - 1
        }
      }
      return first
    }
    let count = try fill(from: 1)
    let others = try fileSystem.open(directory + "/others", .create)
    var size: UInt64 = 0
    for piece in [1 << 20, 4096, 1] {
      let bytes = [UInt8](repeating: 1, count: piece)
      while (try? others.write(bytes, at: size)) != nil { size += UInt64(piece) }
    }
    #expect(try fileSystem.availableBytes(at: volume) == 0)
    try store.close()
    store = try Store(at: directory, options: options)
    #expect(store.snapshot().count(in: rows) == Int(count))
    for id in 1...count where id % 2 == 0 { try store.write { try $0.remove(id: id, in: rows) } }
    let report = try store.compact()
    #expect(report.bytesAfter < report.bytesBefore * 2 / 3)
    #expect(try fill(from: count + 1) > count + 1000)
    #expect(try store.verify().isClean)
    try store.close()
  }

  private func removeAll(_ directory: String, _ fileSystem: POSIXFileSystem) throws {
    for name in try fileSystem.contents(of: directory) { try fileSystem.remove(directory + "/" + name) }
    try fileSystem.remove(directory)
  }

  @Test("Allocation extends a file to the requested length, keeps its content and never shortens it")
  func allocation() throws {
    let path = try #require(Environment.value(of: "PERDURE_SMALL_VOLUME")) + "/allocated"
    let fileSystem = POSIXFileSystem()
    let file = try fileSystem.open(path, .create)
    defer { try? fileSystem.remove(path) }
    let free = try fileSystem.availableBytes(at: path)
    try file.write([1, 2, 3], at: 0)
    try file.allocate(1 << 20)
    #expect(try file.size() == 1 << 20 && file.read(3, at: 0) == [1, 2, 3])
    #expect(try fileSystem.availableBytes(at: path) <= free - 1 << 20)
    try file.allocate(10)
    #expect(try file.size() == 1 << 20)
    let error = #expect(throws: FileIOError.self) { try file.allocate(free * 2) }
    #expect(error?.code == .noSpace)
  }
}
