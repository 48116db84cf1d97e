import ArgumentParser
import Perdure
import PerdureLog
import PerdureTestSupport
import Testing

@testable import PerdureCommands

@Entity private final class Note: ManagedObject {
  var text: String
}

/// Stores without a graph whose keyspaces have the names that graphs use.
@Suite("Stores with a keyspace named meta")
struct MetaKeyspaceTests {
  private let directory: TemporaryDirectory
  private let path: String

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.file("store")
  }

  private func expectReadable() throws {
    for command in ["verify", "stats", "dump", "compact"] {
      for options in [[], ["--json"]] {
        let outcome = try Outcome([command, path] + options)
        #expect(outcome.code == .success && outcome.errors == "", "\(command): \(outcome.errors)")
      }
    }
    let model = try Outcome("model", "show", path)
    #expect(model.code == .failed && model.errors.contains("has no objects"), "\(model.errors)")
  }

  @Test("A store with a dense keyspace named meta is not a graph")
  func dense() throws {
    let store = try Store(at: path)
    let meta = try store.keyspace("meta", .dense)
    try store.write { try $0.put([1], id: 1, in: meta) }
    try store.close()
    try expectReadable()
  }

  @Test(
    "A store with another program's value under the key of the stored model is not a graph",
    arguments: [nil, [], [1, 2, 3], Array("PMD".utf8)] as [[UInt8]?])
  func bytes(_ value: [UInt8]?) throws {
    let store = try Store(at: path)
    let meta = try store.keyspace("meta", .bytes)
    // These are not row keyspaces: one has byte strings as keys, and the other names have no valid
    // entity number.
    _ = try store.keyspace("rows/1", .bytes)
    for name in ["rows", "rows/", "rows/01", "rows/x", "rows/70000"] { _ = try store.keyspace(name, .dense) }
    if let value { try store.write { try $0.put(value, key: Array("model".utf8), in: meta) } }
    try store.close()
    try expectReadable()
  }

  @Test(
    "An unreadable stored model is reported if its header or row keyspaces identify it as a model",
    arguments: [("PMDL", "numbers"), ("????", "rows/1")])
  func undecodable(_ value: String, _ name: String) throws {
    let store = try Store(at: path)
    let meta = try store.keyspace("meta", .bytes)
    _ = try store.keyspace(name, .dense)
    try store.write { try $0.put(Array(value.utf8), key: Array("model".utf8), in: meta) }
    try store.close()
    for command in ["verify", "stats", "dump", "compact"] {
      let outcome = try Outcome(command, path)
      #expect(outcome.code == .failed)
      #expect(outcome.errors.contains("The stored model cannot be read"), "\(outcome.errors)")
    }
  }

  @Test("Damage in the record of a stored model is a finding")
  func damaged() throws {
    let container = try PersistentContainer(name: "Notes", classes: [Note.self], at: path)
    try container.loadPersistentStores()
    let context = container.newContext()
    Note(context: context).text = "x"
    try context.save()
    try container.close()
    try damageLog("PMDL", in: path)
    let verify = try Outcome("verify", path)
    #expect(verify.code == .findings, "\(verify.errors)")
    let stats = try Outcome("stats", path)
    #expect(stats.code == .failed && stats.errors.hasPrefix("error: corruption"), "\(stats.errors)")
  }

  @Test("A damaged value of another program under the model's key does not hide other records")
  func damagedValue() throws {
    let store = try Store(at: path)
    let meta = try store.keyspace("meta", .bytes)
    for (key, value) in [("model", "first"), ("other", "second")] {
      try store.write { try $0.put(Array(value.utf8), key: Array(key.utf8), in: meta) }
    }
    // With a checkpoint, an opening does not read the whole log.
    try store.checkpoint()
    try store.close()
    try damageLog("first", in: path)
    let dump = try Outcome("dump", path)
    #expect(dump.code == .findings && dump.lines.count == 2, "\(dump.errors)")
    #expect(dump.lines.last?.hasSuffix("\"second\"") == true)
    #expect(try Outcome("verify", path).code == .findings)
  }
}
