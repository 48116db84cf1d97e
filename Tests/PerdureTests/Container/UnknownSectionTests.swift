import Foundation
import Perdure
import PerdureLog
import PerdureModel
import PerdureTestSupport
import Testing

@Suite("A store whose model has a section that this version does not know")
struct UnknownSectionTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private var path: String { directory.path + "/e.perdure" }

  private func container(_ properties: PropertyDescription...) throws -> PersistentContainer {
    let entity = EntityDescription(
      "E", properties: [.string("a")] + properties, indexes: [FetchIndexDescription(on: "a")])
    let container = PersistentContainer(
      name: "E", model: try ManagedObjectModel([entity]), description: .init(path: path))
    try container.loadPersistentStores()
    return container
  }

  private func add(_ container: PersistentContainer) throws {
    let context = container.newContext()
    context.insertNewObject(forEntityName: "E")["a"] = "x"
    try context.save()
  }

  /// Changes the stored model by `body`, and returns the result.
  @discardableResult
  private func record(_ body: ([UInt8]) -> [UInt8] = { $0 }) throws -> [UInt8] {
    let store = try Store(at: path)
    let meta = try store.keyspace("meta", .bytes)
    let key = Array("model".utf8)
    let found = try #require(try store.snapshot().value(key: key, in: meta))
    let changed = body(found)
    if changed != found { try store.write { try $0.put(changed, key: key, in: meta) } }
    try store.close()
    return changed
  }

  private func addSection(_ number: UInt8, required: Bool) throws {
    try record { bytes in
      var bytes = bytes + [number, 0, required ? 1 : 0, 0, 2, 0, 0, 0, 7, 8]
      bytes[6] += 1
      return bytes
    }
  }

  /// The files of the store, except `LOCK` and `READERS`.
  private func files() throws -> [String: Data] {
    var files: [String: Data] = [:]
    let names = try FileManager.default.contentsOfDirectory(atPath: path)
    for name in names where !["LOCK", "READERS"].contains(name) {
      files[name] = try Data(contentsOf: URL(fileURLWithPath: path + "/" + name))
    }
    return files
  }

  @Test("A required unknown section is refused with its number, and no byte changes")
  func required() throws {
    let first = try container()
    try add(first)
    try first.close()
    try addSection(35, required: true)
    let before = try files()
    let writing = try #require(throws: PerdureError.self) { try container() }
    let reading = try #require(throws: PerdureError.self) {
      try PersistentContainer.metadataForPersistentStore(at: path)
    }
    let storing = try #require(throws: PerdureError.self) {
      try PersistentContainer.setMetadata(["a": "b"], forPersistentStoreAt: path)
    }
    for error in [writing, reading, storing] {
      let cause = error.cause as? ModelError
      #expect(cause?.code == .unreadableModel && cause?.section == 35, "\(error)")
      #expect(cause?.message.contains("external values") == true)
    }
    let after = try files()
    #expect(after == before, "\(after.filter { before[$0.key] != $0.value }.keys)")
  }

  @Test("An optional unknown section survives saves and additions to the model")
  func skipped() throws {
    let first = try container()
    try add(first)
    try first.close()
    try addSection(34, required: false)
    let bytes = try record()
    let second = try container()
    try add(second)
    try second.close()
    #expect(try record() == bytes)
    let third = try container(.int64("b", default: 3))
    try third.close()
    let grown = try record()
    #expect(grown != bytes && grown.suffix(10) == bytes.suffix(10))
  }

  @Test("A first or extended model is stored in one commit with all its keyspaces and indexes")
  func oneCommit() throws {
    func commits() throws -> UInt64 {
      var options = StoreOptions()
      options.isReadOnly = true
      let store = try Store(at: path, options: options)
      defer { try? store.close() }
      return store.snapshot().sequence
    }
    try container().close()
    // One commit for the keyspace "meta", and one for the model with everything else.
    #expect(try commits() == 2)
    try container().close()
    #expect(try commits() == 2)
    let many = try (0..<4).map { number in
      try ManagedObjectModel(
        [
          EntityDescription(
            "E",
            properties: [
              .string("a"), .int64("b", default: 1), .toMany("f", "F", inverse: "e", ordered: true),
            ],
            indexes: number % 2 == 0 ? [FetchIndexDescription(on: "b")] : []),
          EntityDescription(
            "F", properties: [.toOne("e", "E", inverse: "f"), .toMany("g", "F", inverse: "g")]),
        ], versionIdentifiers: ["\(number)"])
    }
    for (number, model) in many.enumerated() {
      let container = PersistentContainer(name: "E", model: model, description: .init(path: path))
      try container.loadPersistentStores()
      try container.close()
      #expect(try commits() == UInt64(3 + number))
    }
  }
}
