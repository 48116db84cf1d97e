import Foundation
import Perdure
import PerdureLog
import PerdureModel
import PerdureTestSupport
import Testing

@Suite("Graphs that earlier versions wrote")
struct GraphGoldenStoreTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  /// Copies a golden store, and returns the path of the copy.
  private func copy(_ store: GraphGoldenStore) throws -> String {
    let path = directory.path + "/\(store)"
    try GraphGoldenStore.write(store.files(), to: path)
    return path
  }

  private func open(_ path: String, _ model: Int, isReadOnly: Bool = false) throws -> PersistentContainer {
    let container = PersistentContainer(
      name: "golden", model: try GraphGoldenModel.version(model),
      description: .init(path: path, isReadOnly: isReadOnly))
    try container.loadPersistentStores()
    return container
  }

  /// Checks all values, and that the index on colours agrees with the rows.
  private func check(_ container: PersistentContainer, _ colours: [String: String], order: [String]) throws {
    let context = container.newContext()
    let notes = try context.fetch(FetchRequest<ManagedObject>(entityName: "Note"))
    let found = notes.map { ($0["name"] as? String ?? "", $0["colour"] as? String ?? "") }
    #expect(Dictionary(uniqueKeysWithValues: found) == colours)
    for colour in Set(colours.values).union(["none"]) {
      var request = FetchRequest<ManagedObject>(entityName: "Note")
      request.predicate = try FetchPredicate(format: "colour == %@", colour)
      let names = try context.fetch(request).compactMap { $0["name"] as? String }
      #expect(Set(names) == Set(colours.filter { $0.value == colour }.keys))
    }
    let folder = try #require(context.fetch(FetchRequest<ManagedObject>(entityName: "Folder")).first)
    let members = folder["notes"] as? [ManagedObject] ?? []
    #expect(members.map { $0["name"] as? String ?? "" } == order && folder["title"] as? String == "both")
  }

  private func storedVersion(_ path: String) throws -> UInt8? {
    var options = StoreOptions()
    options.isReadOnly = true
    let store = try Store(at: path, options: options)
    let meta = try store.keyspace("meta", .bytes)
    let bytes = try store.snapshot().value(key: Array("model".utf8), in: meta)
    try store.close()
    return bytes?[4]
  }

  @Test(
    "Every value is readable, even by index, and reading changes no byte", arguments: GraphGoldenStore.all
  )
  func reads(_ golden: GraphGoldenStore) throws {
    let path = try copy(golden)
    for model in (golden.version < 5 ? 2 : 3)...3 {
      let container = try open(path, model, isReadOnly: true)
      try check(container, golden.colours, order: golden.order)
      try container.close()
    }
    let files = try golden.files()
    for (name, bytes) in files {
      #expect(try [UInt8](Data(contentsOf: URL(fileURLWithPath: path + "/" + name))) == bytes, "\(name)")
    }
    #expect(try storedVersion(path) == UInt8(golden.version))
  }

  @Test(
    "A golden store accepts a newer model and new objects, and older objects keep their default",
    arguments: GraphGoldenStore.all)
  func writes(_ golden: GraphGoldenStore) throws {
    let path = try copy(golden)
    let container = try open(path, 3)
    let context = container.newContext()
    let note = context.insertNewObject(forEntityName: "Note")
    note["name"] = "new"
    var request = FetchRequest<ManagedObject>(entityName: "Note")
    request.predicate = try FetchPredicate(format: "name == 'b'")
    // The save rewrites this row, and then the row has the attribute.
    try context.fetch(request).first?["name"] = "b2"
    try context.save()
    var colours = golden.colours
    colours["b2"] = colours.removeValue(forKey: "b")
    colours["new"] = "blue"
    try check(container, colours, order: golden.order)
    try container.close()
    #expect(try storedVersion(path) == 5)
    let again = try open(path, 3)
    try check(again, colours, order: golden.order)
    try again.close()
  }

  @Test(
    "The generator writes the store of the newest version if there is none",
    .enabled(if: ProcessInfo.processInfo.environment["PERDURE_WRITE_GOLDEN"] != nil))
  func write() throws {
    let store = GraphGoldenStore(version: GraphGoldenStore.newestVersion)
    guard !FileManager.default.fileExists(atPath: store.path) else { return }
    try GraphGoldenStore.write(GraphGoldenGenerator.files(), to: store.path)
  }
}
