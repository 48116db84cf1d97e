import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Synchronization
import Testing

@testable import PerdureLog

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// An entry of any kind may replace a file of a store. A salvage reports the file's name and
/// continues.
@Suite("Salvaging a store with entries that are not files")
struct SalvageHostileFileTests {
  /// An entry with the name of a file.
  enum Thing: String, CaseIterable {
    case directory, pipe, linkToNowhere, loop, empty, noise

    func put(at path: String) throws {
      let fileSystem = POSIXFileSystem()
      if try fileSystem.kind(of: path) != nil { try fileSystem.remove(path) }
      switch self {
      case .directory: try fileSystem.createDirectory(path)
      case .pipe: try #require(mkfifo(path, 0o600) == 0)
      case .linkToNowhere: try #require(symlink("/nowhere/at/all", path) == 0)
      case .loop: try #require(symlink(path, path) == 0)
      case .empty: try fileSystem.open(path, .create).close()
      case .noise: try fileSystem.open(path, .create).write([1, 2, 3], at: 0)
      }
    }
  }

  private static func options() -> StoreOptions {
    var options = SalvagedStore.options(POSIXFileSystem(), 4096)
    options.checkpoints = .manual
    options.compactsAutomatically = false
    options.reserveBytes = 0
    return options
  }

  /// Creates a closed store with a checkpoint, ids 1 to 12 in segments, and 101 to 103 in blob
  /// files.
  private static func make(at path: String) throws -> UInt64 {
    let store = try Store(at: path, options: options())
    let rows = try store.keyspace("rows", .dense)
    for id in 1...12 as ClosedRange<UInt64> {
      try store.write(durability: .relaxed) {
        try $0.put([UInt8](repeating: 1, count: 700), id: id, in: rows)
      }
    }
    for id in 101...103 as ClosedRange<UInt64> {
      try store.write(durability: .relaxed) {
        try $0.put([UInt8](repeating: 1, count: 2000), id: id, in: rows)
      }
    }
    try store.checkpoint()
    let last = try store.engine.readingState { $0.end.segment }
    try store.close()
    return last
  }

  private static func keys(in path: String) throws -> Int {
    try SalvagedStore.content(of: path, POSIXFileSystem()).count
  }

  @Test("A replaced segment is reported, and the others are restored", arguments: Thing.allCases)
  func segments(_ thing: Thing) throws {
    for place in [1, 2, nil] as [UInt64?] {
      let directory = try TemporaryDirectory()
      let (source, target) = (directory.file("damaged"), directory.file("salvaged"))
      let last = try Self.make(at: source)
      let name = StoreFileName.segment(place ?? last).string
      try thing.put(at: source + "/" + name)
      let report = try Store.salvage(from: source, to: target, options: Self.options())
      #expect(report.damages.contains { $0.file == name }, "\(report.damages)")
      #expect(report.damages.count { $0.file == name && $0.reason == .segmentMissing } == 0)
      let keys = try Self.keys(in: target)
      #expect(keys == report.keys && (5..<15).contains(keys), "\(keys) keys")
      #expect(place == 1 || report.keysMaybeOlder > 0)
    }
  }

  @Test("A replaced blob file is reported, and the other values are restored", arguments: Thing.allCases)
  func blobs(_ thing: Thing) throws {
    let directory = try TemporaryDirectory()
    let (source, target) = (directory.file("damaged"), directory.file("salvaged"))
    _ = try Self.make(at: source)
    let name = StoreFileName.blob(2).string
    try thing.put(at: source + "/" + name)
    let report = try Store.salvage(from: source, to: target, options: Self.options())
    #expect(report.damages.map(\.file) == [name])
    #expect(try Self.keys(in: target) == 14)
  }

  @Test(
    "If any other file is replaced, all values are restored", arguments: Thing.allCases,
    ["SUPERBLOCK", "LOCK", "READERS", "index", "0000000000000009.reserve", "x.tmp"])
  func others(_ thing: Thing, name: String) throws {
    let directory = try TemporaryDirectory()
    let (source, target) = (directory.file("damaged"), directory.file("salvaged"))
    _ = try Self.make(at: source)
    let index = try POSIXFileSystem().contents(of: source).first { $0.hasSuffix(".index") }
    let file = try name == "index" ? #require(index) : name
    try thing.put(at: source + "/" + file)
    let report = try Store.salvage(from: source, to: target, options: Self.options())
    #expect(report.damages.map(\.file) == (name == "SUPERBLOCK" ? [name] : []))
    #expect(try Self.keys(in: target) == 15)
  }

  @Test("A file that becomes shorter during the salvage is reported")
  func shrinking() throws {
    for place in [1, 2, 3] as [UInt64] {
      let base = SimulatedFileSystem()
      let name = StoreFileName.segment(place).string
      let store = try Store(at: SalvagedStore.path, options: SalvagedStore.options(base, 4096))
      let rows = try store.keyspace("rows", .dense)
      for id in 1...12 as ClosedRange<UInt64> {
        try store.write { try $0.put([UInt8](repeating: 1, count: 700), id: id, in: rows) }
      }
      try store.close()
      let options = SalvagedStore.options(ShrinkingFileSystem(behind: base, name: name), 4096)
      let report = try Store.salvage(from: SalvagedStore.path, to: SalvagedStore.target, options: options)
      #expect(report.damages.contains { $0.file == name && $0.reason == .unreadable }, "\(report.damages)")
      #expect(report.keys < 12 && report.keys > 5)
    }
  }

  @Test(
    "If permission for a file is denied, the salvage throws an error with its name and writes nothing",
    arguments: [StoreFileName.superblock, .segment(2), .blob(1)],
    [FileOperation.open, .read])
  func permission(_ name: StoreFileName, _ call: FileOperation) throws {
    let fileSystem = SimulatedFileSystem()
    let store = try Store(at: SalvagedStore.path, options: SalvagedStore.options(fileSystem, 4096))
    let rows = try store.keyspace("rows", .dense)
    for id in 1...12 as ClosedRange<UInt64> {
      try store.write { try $0.put([UInt8](repeating: 1, count: id == 3 ? 2000 : 700), id: id, in: rows) }
    }
    try store.close()
    let path = SalvagedStore.path + "/" + name.string
    let paths = fileSystem.currentImage.paths
    #expect(paths.contains(path))
    fileSystem.inject(
      InjectedFailure(of: call, repeats: true, code: .permissionDenied, pathContains: path))
    let error = #expect(throws: StoreError.self) {
      try Store.salvage(
        from: SalvagedStore.path, to: SalvagedStore.target, options: SalvagedStore.options(fileSystem, 4096))
    }
    #expect(error?.code == .io && error?.cause?.code == .permissionDenied && error?.place == path)
    #expect(fileSystem.currentImage.paths == paths)
  }

  @Test("A shortage of file descriptors is an error, not damage")
  func shortage() throws {
    let fileSystem = SimulatedFileSystem()
    let store = try Store(at: SalvagedStore.path, options: SalvagedStore.options(fileSystem, 4096))
    let rows = try store.keyspace("rows", .dense)
    for id in 1...8 as ClosedRange<UInt64> {
      try store.write { try $0.put([UInt8](repeating: 1, count: id == 3 ? 2000 : 700), id: id, in: rows) }
    }
    try store.close()
    let image = fileSystem.currentImage
    for nth in 1...100 {
      let fileSystem = image.fileSystem()
      fileSystem.inject(
        InjectedFailure(
          of: .open, nth: nth, code: .tooManyOpenFiles, pathContains: "\(SalvagedStore.path)/"))
      let options = SalvagedStore.options(fileSystem, 4096)
      do {
        let report = try Store.salvage(from: SalvagedStore.path, to: SalvagedStore.target, options: options)
        #expect(report.isClean && report.keys == 8 && nth > 8, "after \(nth) openings: \(report)")
        return
      } catch let error as StoreError {
        #expect(error.code == .io && error.cause?.code == .tooManyOpenFiles)
        #expect(try fileSystem.kind(of: SalvagedStore.target) == nil)
      }
    }
    Issue.record("The salvage opened more than 100 files")
  }
}

/// A file system on which one file has only half of its bytes after its length was first read.
private final class ShrinkingFileSystem: ForwardingFileSystem {
  let behind: any FileSystem
  private let name: String
  private let state = ShrinkingState()

  init(behind: any FileSystem, name: String) { (self.behind, self.name) = (behind, name) }

  func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    let file = try behind.open(path, mode)
    return path == SalvagedStore.path + "/" + name ? ShrinkingFile(behind: file, state) : file
  }
}

private final class ShrinkingState: Sendable {
  let isShort = Atomic<Bool>(false)
}

private final class ShrinkingFile: ForwardingFile {
  let behind: any File
  private let state: ShrinkingState

  init(behind: any File, _ state: ShrinkingState) { (self.behind, self.state) = (behind, state) }

  func size() throws(FileIOError) -> UInt64 {
    let size = try behind.size()
    return state.isShort.exchange(true, ordering: .relaxed) ? size / 2 : size
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileIOError) -> Int {
    let size = try behind.size()
    let end = state.isShort.load(ordering: .relaxed) ? size / 2 : size
    guard offset < end else { return 0 }
    let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, Int(end - offset))])
    return try behind.read(into: part, at: offset)
  }
}
