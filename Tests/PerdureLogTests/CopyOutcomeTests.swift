import PerdureFileIO
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Errors of copies that say whether the copy is complete")
struct CopyOutcomeTests {
  private func options(_ fileSystem: any FileSystem) -> StoreOptions {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.segmentCapacityBytes = 4096
    options.reserveBytes = 0
    return options
  }

  /// A disk with a closed store at `/a` and its backup at `/b`.
  private func makeDisk() throws -> SimulatedFileSystem {
    let disk = SimulatedFileSystem()
    let store = try Store(at: "/a", options: options(disk))
    let rows = try store.keyspace("rows", .dense)
    try store.write { try $0.put([1], id: 1, in: rows) }
    try store.backup(to: "/b")
    try store.close()
    return disk
  }

  private func backup(_ disk: SimulatedFileSystem, to target: String) throws {
    var options = options(disk)
    options.isReadOnly = true
    let store = try Store(at: "/a", options: options)
    defer { #expect(throws: Never.self) { try store.close() } }
    try store.backup(to: target)
  }

  private static let kinds = ["copy", "backup", "restore"]

  private func make(_ kind: String, _ target: String, on disk: SimulatedFileSystem) throws {
    switch kind {
    case "copy": try Store.copy(at: "/a", to: target, options: options(disk))
    case "backup": try backup(disk, to: target)
    default: try Store.restore(from: "/b", to: target, options: options(disk))
    }
  }

  @Test("An error says that the copy is complete if and only if a complete copy exists", arguments: kinds)
  func kept(_ kind: String) throws {
    var kept = 0
    var nth = 1
    while true {
      let disk = try makeDisk()
      disk.inject(InjectedFailure(of: .syncDirectory, nth: nth, code: .noSpace))
      do {
        try make(kind, "/c", on: disk)
        break
      } catch let error as StoreError {
        let exists = try disk.kind(of: "/c") != nil
        #expect(error.message.contains("The copy is complete") == exists, "sync \(nth): \(error)")
        #expect(!exists || error.code == .io && error.place == "/c" && !"\(error)".contains("removed"))
        guard exists else {
          nth += 1
          continue
        }
        kept += 1
        let store = try Store(at: "/c", options: options(disk))
        #expect(try store.verify().isClean)
        try store.close()
      }
      nth += 1
    }
    #expect(kept == 1)
  }

  @Test("An empty path of a new store is refused before anything is written", arguments: kinds)
  func empty(_ kind: String) throws {
    let disk = try makeDisk()
    let error = #expect(throws: StoreError.self) { try make(kind, "", on: disk) }
    #expect(error?.code == .invalidArgument && error?.message.contains("empty") == true)
    #expect(try disk.contents(of: "/").sorted() == ["a", "b"])
  }
}
