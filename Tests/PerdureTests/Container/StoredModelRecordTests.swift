import Foundation
import Perdure
import PerdureLog
import PerdureModel
import PerdureTestSupport
import Testing

@Suite("The stored model and the program's model")
struct StoredModelRecordTests {
  private func model(
    _ rules: [ValidationRule] = [], identifiers: Set<String> = [], _ more: PropertyDescription...
  ) throws -> ManagedObjectModel {
    try ManagedObjectModel(
      [EntityDescription("E", properties: [.string("a", rules: rules)] + more)],
      versionIdentifiers: identifiers)
  }

  private func container(
    _ model: ManagedObjectModel, _ path: String, isReadOnly: Bool = false
  ) throws -> PersistentContainer {
    let container = PersistentContainer(
      name: "E", model: model, description: .init(path: path, isReadOnly: isReadOnly))
    try container.loadPersistentStores()
    return container
  }

  private func add(_ text: String, _ container: PersistentContainer) throws {
    let context = container.newContext()
    context.insertNewObject(forEntityName: "E")["a"] = text
    try context.save()
  }

  private func texts(_ context: ManagedObjectContext) throws -> [String?] {
    try context.fetch(FetchRequest<ManagedObject>(entityName: "E")).map { $0["a"] as? String }
  }

  /// Returns the model record. If bytes are given, first replaces the record by them.
  private func record(_ path: String, _ bytes: [UInt8]? = nil) throws -> [UInt8]? {
    let store = try Store(at: path)
    let meta = try store.keyspace("meta", .bytes)
    let key = Array("model".utf8)
    if let bytes { try store.write { try $0.put(bytes, key: key, in: meta) } }
    let found = try store.snapshot().value(key: key, in: meta)
    try store.close()
    return found
  }

  @Test("A store with a model record of version 1 keeps the record until the model changes")
  func versionOne() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/e.perdure"
    let first = try container(model(), path)
    try add("x", first)
    try first.close()
    let hex =
      "504d444c" + "0100" + "0100" + "01000000" + "0100" + "01000000" + "0100000045" + "00" + "00"
      + "0100000045" + "00" + "01000000" + "00" + "0100000061" + "bc02" + "01" + "00" + "00" + "00"
      + "00000000" + "00000000" + "0100" + "0100" + "01000000" + "01000000"
      + "01000000" + "0100" + "0100" + "01000000" + "01000000"
    let digits = Array(hex.utf8)
    let old = try stride(from: 0, to: digits.count, by: 2).map {
      try #require(UInt8(String(decoding: digits[$0...$0 + 1], as: UTF8.self), radix: 16))
    }
    #expect(try record(path, old) == old)
    let reader = try container(model(), path, isReadOnly: true)
    #expect(try texts(reader.newContext()) == ["x"])
    try reader.close()
    let writer = try container(model(), path)
    try add("y", writer)
    #expect(try texts(writer.newContext()) == ["x", "y"])
    try writer.close()
    #expect(try record(path) == old)
    let next = try container(model([.maximumLength(3)]), path)
    #expect(try texts(next.newContext()) == ["x", "y"])
    try next.close()
    #expect(try record(path) != old)
  }

  @Test("The rules and version identifiers of a reader may differ from those of the writer")
  func otherRules() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/e.perdure"
    let writer = try container(model([.maximumLength(3)], identifiers: ["2"]), path)
    try add("x", writer)
    let reader = try container(model(identifiers: ["1"]), path, isReadOnly: true)
    let context = reader.newContext()
    #expect(try texts(context) == ["x"])
    try add("y", writer)
    context.rollback()
    #expect(try texts(context) == ["x", "y"])
    try reader.close()
    #expect(throws: (any Error).self) {
      try container(model([], .int64("b")), path, isReadOnly: true)
    }
    try writer.close()
  }

  @Test("A save reads a row at most twice, for any number of attributes with rules")
  func reads() throws {
    let model = try ManagedObjectModel([
      EntityDescription("Top", properties: [.toMany("leaves", "Leaf", inverse: "top")]),
      EntityDescription(
        "Leaf",
        properties: [
          .toOne("top", "Top", inverse: "leaves"), .int64("a", rules: [.minimum(0)]),
          .int64("b", rules: [.maximum(9)]), .string("c", optional: false), .string("d", optional: false),
        ]),
    ])
    let store = UnreadableStore(try StoreKind.current.factory.open(.inMemory, model))
    let container = PersistentContainer(
      name: "T", model: model, classes: [], description: .inMemory, factory: StoreFactory { _, _ in store })
    try container.loadPersistentStores()
    let making = container.newContext()
    let (top, leaf) = (
      making.insertNewObject(forEntityName: "Top"), making.insertNewObject(forEntityName: "Leaf")
    )
    let values: [String: Any] = ["a": 1, "b": 2, "c": "c", "d": "d", "top": top]
    for (name, value) in values { leaf[name] = value }
    try making.save()
    let context = container.newContext()
    let tops = try context.fetch(FetchRequest<ManagedObject>(entityName: "Top"))
    context.delete(try #require(tops.first))
    context.processPendingChanges()
    store.failing.set([.rows], after: 2)
    try context.save()
    #expect(context.registeredObjects.allSatisfy { $0.entity.name == "Top" })
  }
}
