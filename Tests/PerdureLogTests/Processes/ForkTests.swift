import PerdureFileIO
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A store with all kinds of records, and the objects that its process has at a fork.
private struct Parent {
  let path: String
  let store: Store
  let rows: Keyspace
  let names: Keyspace
  let index: DerivedIndex
  let sums: DerivedIndex

  static let rowCount: UInt64 = 205

  static func options(isReadOnly: Bool = false) -> StoreOptions {
    var options = StoreOptions()
    options.isReadOnly = isReadOnly
    options.segmentCapacityBytes = 32 << 10
    options.blobThresholdBytes = 1024
    options.reserveBytes = 0
    return options
  }

  init(_ path: String) throws {
    // Ends a test that waits for a lock that is never released.
    alarm(900)
    self.path = path
    store = try Store(at: path, options: Self.options())
    rows = try store.keyspace("rows", .dense)
    names = try store.keyspace("names", .bytes)
    index = try store.defineIndex(.slices("first bytes", rows, .value(offset: 0, length: 1)))
    sums = try store.defineIndex(.sums("sums", rows))
    for id in 1...Self.rowCount {
      try store.write(durability: .processCrash) { [rows, names] transaction in
        try transaction.put(Self.value(id), id: id, in: rows)
        try transaction.put([1], key: [UInt8(id % 256)], in: names)
      }
    }
    try store.checkpoint()
    try store.write { [rows] in try $0.put(Self.value(1), id: 1, in: rows) }
  }

  static func value(_ id: UInt64) -> [UInt8] {
    [UInt8](repeating: UInt8(id % 256), count: id % 40 == 0 ? 3000 : 200)
  }

  func handles() throws -> ForkedCalls.Handles {
    let snapshot = store.snapshot()
    let (writer, last) = (try store.makeBlobWriter(), try store.makeBlobWriter())
    try writer.append([UInt8](repeating: 1, count: 2000))
    try last.append([UInt8](repeating: 2, count: 2000))
    return ForkedCalls.Handles(
      store, rows: rows, names: names, index: index, sums: sums, snapshot,
      reader: try snapshot.reader(id: 40, in: rows), writer: writer, blob: try last.finish())
  }

  /// Checks that the parent can use the store, that no other process can open it for writing, and
  /// that the next opening finds every record.
  func checkGoesOn() throws {
    for id in 1000..<1050 as Range<UInt64> {
      try store.write { [rows] in try $0.put(Self.value(id), id: id, in: rows) }
    }
    try store.compact()
    try store.checkpoint()
    let other = try ForkedChild.run(seconds: 300) { [path] in
      do {
        _ = try Store(at: path, options: Self.options())
        return "it is open"
      } catch { return (error as? StoreError)?.code.description ?? "\(error)" }
    }
    try expect(other.words == "locked", "another process: \(other)")
    let text = try POSIXFileSystem().open(path + "/LOCK", .read).size()
    try expect(text > 0, "the lock file names no holder")
    for suffix in ["", ".copy"] {
      let backup = path + ForkedCalls.backupSuffix + suffix
      try expect(try POSIXFileSystem().kind(of: backup) == nil, "a child has begun a backup")
    }
    try expect(try store.verify().isClean, "the store is damaged")
    try store.close()
    let again = try Store(at: path, options: Self.options())
    let snapshot = again.snapshot()
    for id in Array(1...Self.rowCount) + Array(1000..<1050) {
      try expect(try snapshot.value(id: id, in: rows) == Self.value(id), "row \(id) is lost")
    }
    try expect(try again.verify().isClean, "the store is damaged when it is opened again")
    try again.close()
  }
}

/// The way in which the process detects a fork. The second way is for systems whose kernel cannot
/// clear a page in a child.
private enum Notice: String, CaseIterable, Codable, Sendable {
  case page, handler

  /// Must be called before the first mark of the process.
  func use() throws {
    if self == .handler { try expect(ProcessMark.clearByHandlerOnly(), "the process has a mark already") }
  }
}

private struct Wrong: Error {
  let what: String
}

private func expect(_ isTrue: @autoclosure () throws -> Bool, _ what: @autoclosure () -> String) throws {
  guard try !isTrue() else { return }
  throw Wrong(what: what())
}

@Suite("Forked processes")
struct ForkTests {
  @Test(
    "Every call of a forked child throws, and the parent can still use its store",
    arguments: Notice.allCases)
  fileprivate func refusals(_ notice: Notice) async throws {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    let path = directory.file("s.perdure")
    await #expect(processExitsWith: .success) { [path = path as String, notice = notice as Notice] in
      #expect(throws: Never.self) {
        try notice.use()
        let parent = try Parent(path)
        let handles = try parent.handles()
        for call in ForkedCalls.all {
          let child = try ForkedChild.run(seconds: 300) { ForkedCalls.complaint(call, handles) ?? "refused" }
          try expect(child.words == "refused" && child.signal == 0, "\(call.name): \(child)")
        }
        let child = try ForkedChild.run(seconds: 300) {
          ForkedCalls.all.compactMap { ForkedCalls.complaint($0, handles) }.joined(separator: "; ")
        }
        try expect(child == .init(words: "", signal: 0), "all in one: \(child)")
        try handles.writer?.append([3])
        withExtendedLifetime(handles) {}
        try parent.checkGoesOn()
      }
    }
  }

  @Test("A snapshot taken in a child has the sequence and the counts at the fork")
  func snapshotInChild() async throws {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    await #expect(processExitsWith: .success) { [path = directory.file("s.perdure") as String] in
      #expect(throws: Never.self) {
        let parent = try Parent(path)
        let sequence = parent.store.snapshot().sequence
        let child = try ForkedChild.run(seconds: 300) {
          let snapshot = parent.store.snapshot()
          return "\(snapshot.sequence) \(snapshot.count(in: parent.rows))"
        }
        try expect(child.words == "\(sequence) \(Parent.rowCount)", "\(child)")
        try parent.checkGoesOn()
      }
    }
  }

  @Test(
    "The parent keeps its lock and files when a child closes or releases the store, or ends",
    arguments: Notice.allCases)
  fileprivate func ends(_ notice: Notice) async throws {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    let path = directory.file("s.perdure")
    await #expect(processExitsWith: .success) { [path = path as String, notice = notice as Notice] in
      #expect(throws: Never.self) {
        try notice.use()
        let parent = try Parent(path)
        var handles: ForkedCalls.Handles? = try parent.handles()
        var second: Store? = try Store(at: path + "2", options: Parent.options())
        let rows = try #require(try second?.keyspace("rows", .dense))
        try second?.write { try $0.put([7], id: 7, in: rows) }
        let files = try POSIXFileSystem().files(in: path)
        let ends: [(String, () throws -> Void)] = [
          ("closes", { try parent.store.close() }),
          (
            "closes twice",
            {
              try parent.store.close()
              try parent.store.close()
            }
          ),
          (
            "releases",
            {
              _ = handles
              handles = nil
            }
          ),
          ("releases a store", { second = nil }),
          ("is killed", { ForkedChild.endBySignal() }),
          ("exits", { exit(0) }),
        ]
        for (name, end) in ends {
          let child = try ForkedChild.run(seconds: 300) {
            do { try end() } catch { return "\(error)" }
            return "ended"
          }
          let isKilled = name == "is killed"
          try expect(child.signal == (isKilled ? SIGKILL : 0), "\(name): \(child)")
          try expect(["ended", ""].contains(child.words), "\(name): \(child)")
          try expect(try POSIXFileSystem().files(in: path) == files, "\(name): other files")
          try expect(
            (try? Store(at: path + "2", options: Parent.options())) == nil, "\(name): the lock was released"
          )
        }
        try expect(try second?.snapshot().value(id: 7, in: rows) == [7], "the second store")
        handles = nil
        try parent.checkGoesOn()
      }
    }
  }

  @Test(
    "While its parent writes, a child's calls throw and never return wrong values")
  func readsBesideParent() async throws {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    await #expect(processExitsWith: .success) { [path = directory.file("s.perdure") as String] in
      #expect(throws: Never.self) {
        let parent = try Parent(path)
        let handles = try parent.handles()
        let done = path + ".done"
        let child = try ForkedChild(seconds: 900) {
          var count = 0
          while (try? POSIXFileSystem().kind(of: done)) != .file {
            for call in ForkedCalls.all {
              if let complaint = ForkedCalls.complaint(call, handles) { return complaint }
            }
            count += 1
          }
          return count > 0 ? "refused" : "it did nothing"
        }
        for round in 0..<20 as Range<UInt64> {
          for id in 1...Parent.rowCount where id % 3 == round % 3 {
            try parent.store.write(durability: .processCrash) {
              try $0.put(Parent.value(id), id: id, in: parent.rows)
            }
          }
          try parent.store.checkpoint()
          try parent.store.compact()
        }
        _ = try POSIXFileSystem().open(done, .create)
        let outcome = child.wait()
        try expect(outcome == .init(words: "refused", signal: 0), "\(outcome)")
        withExtendedLifetime(handles) {}
        try parent.checkGoesOn()
      }
    }
  }

  @Test("A child can open the store after its parent has closed it", arguments: Notice.allCases)
  fileprivate func opensItself(_ notice: Notice) async throws {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    let path = directory.file("s.perdure")
    await #expect(processExitsWith: .success) { [path = path as String, notice = notice as Notice] in
      #expect(throws: Never.self) {
        try notice.use()
        let parent = try Parent(path)
        let snapshot = parent.store.snapshot()
        let child = try ForkedChild(seconds: 900) {
          do {
            let store = try openWhenFree(path)
            try store.write { try $0.put([42], id: 42, in: parent.rows) }
            let grandchild = try ForkedChild.run(seconds: 300) {
              do { try store.sync() } catch { return (error as? StoreError)?.code.description ?? "\(error)" }
              return "not refused"
            }
            guard grandchild.words == "forked" else { return "a child of the child: \(grandchild)" }
            guard (try? snapshot.value(id: 1, in: parent.rows)) == nil else {
              return "an old snapshot was read"
            }
            let isRefused =
              (try? store.write { $0.require(.rangeUnchanged(parent.names, .all, since: snapshot)) }) == nil
            guard isRefused else { return "an old snapshot was compared with" }
            try store.close()
            return "committed"
          } catch { return "\(error)" }
        }
        try parent.store.close()
        let outcome = child.wait()
        try expect(outcome == .init(words: "committed", signal: 0), "\(outcome)")
        let store = try Store(at: path, options: Parent.options())
        try expect(try store.snapshot().value(id: 42, in: parent.rows) == [42], "the child's commit is lost")
      }
    }
  }

  @Test(
    "A daemon's calls throw until it closes the inherited store and opens it again",
    arguments: Notice.allCases)
  fileprivate func daemon(_ notice: Notice) async throws {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    let path = directory.file("s.perdure")
    await #expect(processExitsWith: .success) { [path = path as String, notice = notice as Notice] in
      #expect(throws: Never.self) {
        try notice.use()
        let program = try ForkedChild(seconds: 900) {
          do {
            let parent = try Parent(path)
            let id = ForkedChild.processID
            try parent.store.write(durability: .ordered) { try $0.put([5], id: 5, in: parent.rows) }
            let daemon = try ForkedChild(seconds: 900) {
              while !ForkedChild.hasLost(parent: id) { ForkedChild.waitAMillisecond() }
              do {
                var codes: [String] = []
                for _ in 0..<20 {
                  do {
                    try parent.store.write(durability: .ordered) { try $0.put([6], id: 5, in: parent.rows) }
                  } catch let error as StoreError { codes.append(error.code.description) }
                }
                guard codes == [String](repeating: "forked", count: 20) else {
                  return report("\(codes)", path)
                }
                try parent.store.close()
                let store = try openWhenFree(path)
                let value = try store.snapshot().value(id: 5, in: parent.rows)
                try store.write(durability: .ordered) { try $0.put([9], id: 9, in: parent.rows) }
                try store.close()
                return report(value == [5] ? "opened" : "\(value ?? [])", path)
              } catch { return report("\(error)", path) }
            }
            _ = daemon
            ForkedChild.endAtOnce()
          } catch { return "\(error)" }
        }
        _ = program.wait()
        var text = ""
        for _ in 0..<600_000 where text.isEmpty {
          ForkedChild.waitAMillisecond()
          let file = try? POSIXFileSystem().open(path + ".report", .read)
          text = String(decoding: (try? file?.read(4096, at: 0)) ?? [], as: UTF8.self)
        }
        try expect(text == "opened", text)
      }
    }
  }

  @Test("A child cannot use an inherited reader, but it can open its own")
  func readers() async throws {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    await #expect(processExitsWith: .success) { [path = directory.file("s.perdure") as String] in
      #expect(throws: Never.self) {
        let parent = try Parent(path)
        let reader = try Store(at: path, options: Parent.options(isReadOnly: true))
        let snapshot = reader.snapshot()
        let handles = ForkedCalls.Handles(
          reader, rows: parent.rows, names: parent.names, index: parent.index, sums: parent.sums, snapshot)
        let child = try ForkedChild.run(seconds: 300) {
          do {
            let complaints = ForkedCalls.all.compactMap { ForkedCalls.complaint($0, handles) }
            guard complaints.isEmpty else { return complaints.joined(separator: "; ") }
            try reader.close()
            let own = try Store(at: path, options: Parent.options(isReadOnly: true))
            guard try own.snapshot().value(id: 3, in: parent.rows) == Parent.value(3) else { return "row 3" }
            try own.close()
            return "read"
          } catch { return "\(error)" }
        }
        try expect(child == .init(words: "read", signal: 0), "\(child)")
        try expect(try parent.store.readers.count == 1, "the parent is no longer a reader")
        try expect(try snapshot.value(id: 3, in: parent.rows) == Parent.value(3), "row 3")
        try reader.close()
        try parent.checkGoesOn()
      }
    }
  }
}

/// Opens the store when no other process has it open.
private func openWhenFree(_ path: String) throws -> Store {
  for _ in 0..<600_000 {
    do { return try Store(at: path, options: Parent.options()) } catch let error as StoreError
      where error.code == .locked
    { ForkedChild.waitAMillisecond() }
  }
  throw Wrong(what: "\(path) is still locked")
}

/// Writes a report to a file, because no process waits for a grandchild.
private func report(_ words: String, _ path: String) -> String {
  let bytes = Array(words.utf8)
  if let file = try? POSIXFileSystem().open(path + ".part", .create) {
    try? file.write(bytes, at: 0)
    try? POSIXFileSystem().rename(path + ".part", to: path + ".report")
  }
  return words
}
