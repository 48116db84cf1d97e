import DebianIndexReading
import Foundation
import Testing

@testable import ArchiveBenchmark

/// A small archive with alternatives, a virtual package, a cycle, two versions of one package, a
/// missing package and a package that is only recommended.
private let index = """
  Package: a
  Version: 1
  Depends: b | c, virtual (>= 2)
  Tag: x::{y,z}

  Package: b
  Version: 1

  Package: b
  Version: 2

  Package: c
  Version: 1
  Pre-Depends: a

  Package: p
  Version: 1
  Provides: virtual (= 3)
  Depends: q

  Package: q
  Version: 1
  Depends: missing
  Recommends: apart

  Package: apart
  Version: 1
  Depends: a

  """

private func withFolder<Value>(_ body: (URL) throws -> Value) throws -> Value {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent("perdure-bench-test-\(UUID())")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  return try body(folder)
}

private func packages() throws -> [PackageRecord] {
  try withFolder { folder in
    let file = folder.appendingPathComponent("Packages")
    let fields = "\nArchitecture: all\nMaintainer: Ada <ada@example.org>\nSection: test\nVersion"
    try Data(index.replacingOccurrences(of: "\nVersion", with: fields).utf8).write(to: file)
    var reader = try PackageReader(file: IndexFile(path: file.path))
    var records: [PackageRecord] = []
    while let record = try reader.next() { records.append(record) }
    return records
  }
}

@Suite("The archive in SQLite") struct SQLiteArchiveTests {
  private func withArchive(_ body: (SQLiteArchive) throws -> Void) throws {
    try withFolder { folder in
      let archive = try SQLiteArchive(folder: folder, durability: .normal)
      try body(archive)
      try archive.finish()
    }
  }

  @Test("The archive returns inserted records after reopening and counts repeated records once")
  func digest() throws {
    let records = try packages()
    try withArchive { archive in
      try archive.importBatch(Array(records[..<4]))
      try archive.importBatch(Array(records[2...]))
      try archive.finish()
      try archive.reopen()
      try archive.importBatch([records[0]])
      var expected = ExpectedDigest()
      for record in records + records { expected.add(record) }
      #expect(try archive.resultDigest() == expected.digest)
      #expect(expected.digest.count == 7)
    }
  }

  @Test(
    "Closures follow alternatives, versions, providers and cycles",
    arguments: SQLiteArchive.closureMethods)
  func closures(method: String) throws {
    try withArchive { archive in
      try archive.importBatch(try packages())
      func closure(_ name: String) throws -> ArchiveDigest {
        try archive.digest(of: try archive.closure(of: name, method: method))
      }
      func keys(_ keys: (String, String)...) -> ArchiveDigest {
        keys.reduce(into: ArchiveDigest()) { digest, key in
          digest.add(PackageHash(name: key.0, version: key.1, architecture: "all"))
        }
      }
      #expect(
        try closure("a") == keys(("a", "1"), ("b", "1"), ("b", "2"), ("c", "1"), ("p", "1"), ("q", "1")))
      #expect(try closure("b") == keys(("b", "1"), ("b", "2")))
      #expect(try closure("q") == keys(("q", "1")))
      #expect(try closure("virtual") == keys())
      #expect(try closure("unheard-of") == keys())
    }
  }
}

@Suite("Digests of archives") struct ArchiveDigestTests {
  @Test("A digest is independent of the order of records and changes with every field")
  func fields() throws {
    let records = try packages()
    func digest(_ records: [PackageRecord]) -> ArchiveDigest {
      records.reduce(into: ArchiveDigest()) { $0.add(PackageHash($1)) }
    }
    #expect(digest(records) == digest(records.reversed()))
    #expect(digest(records) != digest(Array(records.dropLast())))
    #expect(digest(records + [records[0]]) != digest(records))
    let changes: [(inout PackageRecord) -> Void] = [
      { $0.name += "x" }, { $0.version += "x" }, { $0.architecture = "amd64" }, { $0.maintainer = nil },
      { $0.section = nil }, { $0.tags.removeLast() }, { $0.dependencies.removeLast() },
      { $0.dependencies[0].group += 1 }, { $0.dependencies[0].constraint = VersionConstraint(.equal, "9") },
    ]
    for (number, change) in changes.enumerated() {
      var changed = records
      change(&changed[0])
      #expect(digest(changed) != digest(records), "change \(number)")
    }
  }
}
