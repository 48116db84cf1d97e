import PerdureFileIO
import PerdureLog
import PerdureModel
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Indexes that are added and removed with the model")
struct IndexChangesTests {
  private static let path = "/items.perdure"

  private static func model(
    _ indexes: [FetchIndexDescription], _ change: (inout EntityDescription) -> Void = { _ in }
  ) throws -> ManagedObjectModel {
    var item = EntityDescription(
      "Item",
      properties: [
        .string("name"), .int64("size"), .boolean("done"),
        .toMany("parts", "Item", inverse: "whole"), .toOne("whole", "Item", inverse: "parts"),
        .derived("partCount", "parts.@count"), .derived("partSize", "parts.size.@sum"),
      ], indexes: indexes)
    change(&item)
    return try ManagedObjectModel([item])
  }

  private static let old = [
    FetchIndexDescription(on: "size"), FetchIndexDescription(on: "partCount"),
    FetchIndexDescription(on: "partSize"),
    FetchIndexDescription("both", [.init("name"), .init("size", ascending: false)]),
  ]

  private static func new() throws -> [FetchIndexDescription] {
    [
      FetchIndexDescription(on: "canonical:(name)"),
      FetchIndexDescription(
        "open", [.init("size")], partialPredicate: try FetchPredicate(format: "done == NO")),
      FetchIndexDescription("both", [.init("name"), .init("size", ascending: false)]),
    ]
  }

  private static func open(
    _ model: ManagedObjectModel?, _ fileSystem: SimulatedFileSystem
  ) throws -> LogPersistentStore {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.durability = .powerLoss
    return try LogPersistentStore(at: path, model: model, options: options)
  }

  /// Adds objects whose sizes are the numbers of a range. Every third object is done.
  private static func add(_ sizes: Range<Int>, to store: LogPersistentStore, padding: Int = 0) throws {
    let entity = store.schema.entity(named: "Item")!
    var change = StoreChange(view: store.view(), schema: store.schema, durability: .powerLoss)
    let ids = try store.allocateIDs(entity: entity.number, count: sizes.count)
    for (id, size) in zip(ids, sizes) {
      let values: [String: Value] = [
        "name": .string("É\(size % 7)" + String(repeating: "x", count: padding)),
        "size": .integer(Int64(size)), "done": .bool(size % 3 == 0),
      ]
      let row = RowWriter(entity.layouts!).row { .value(values[entity.properties[$0].name] ?? .null) }
      change.puts.append(ObjectReference(entity: entity.number, id: id), row)
    }
    _ = try store.commit(change)
  }

  /// The names of the indexes in the engine.
  private static func names(_ store: LogPersistentStore) throws -> [String] {
    try store.store.indexes.map(\.index.name).sorted()
  }

  private static func fetch(
    _ store: LogPersistentStore, _ format: String
  ) throws -> (plan: String, count: Int) {
    var query = FetchQuery(entity: store.schema.entity(named: "Item")!.number)
    query.predicate = try FetchPredicate(format: format)
    let view = store.view()
    let fetch = try PreparedFetch(query, store.schema)
    let plan = FetchPlanner.plan(fetch, FetchStatistics(view))
    return (plan.description, try FetchExecutor(fetch, plan, view: view).count())
  }

  private static let oldNames = ["attr/1,-2", "attr/2", "count/6", "rel/5", "sums/5,2"]

  @Test("An opening with another model builds the new indexes and drops the removed indexes")
  func exchange() throws {
    let fileSystem = SimulatedFileSystem()
    var store = try Self.open(Self.model(Self.old), fileSystem)
    try Self.add(0..<30, to: store)
    #expect(try Self.names(store) == Self.oldNames)
    try store.close()

    store = try Self.open(Self.model(Self.new()), fileSystem)
    let names = try Self.names(store)
    #expect(names.count == 4 && names.contains("attr/c1") && names.contains { $0.hasPrefix("attr/2?") })
    #expect(!names.contains("attr/2") && !names.contains("count/6") && !names.contains("sums/5,2"))
    let canonical = try Self.fetch(store, "name ==[cd] 'e3'")
    #expect(canonical.plan.contains("canonical:(name)") && canonical.count == 4)
    let open = try Self.fetch(store, "done == NO AND size > 20")
    #expect(open.plan.contains("where done == FALSE") && open.count == 6)
    try Self.add(30..<40, to: store)
    #expect(try Self.fetch(store, "done == NO AND size > 20").count == 12)
    #expect(try store.store.verify().findings.isEmpty)
    try store.close()

    // The rebuilt indexes of the earlier model also contain the rows that were added meanwhile.
    store = try Self.open(Self.model(Self.old), fileSystem)
    #expect(try Self.names(store) == Self.oldNames)
    let size = try Self.fetch(store, "size > 35")
    #expect(size.plan.contains("index on size") && size.count == 4)
    #expect(try store.store.verify().findings.isEmpty)
    try store.close()
  }

  @Test("A changed predicate creates a new index, and an opening without a model drops no index")
  func otherPredicate() throws {
    let fileSystem = SimulatedFileSystem()
    func index(_ text: String) throws -> FetchIndexDescription {
      FetchIndexDescription("open", [.init("size")], partialPredicate: try FetchPredicate(format: text))
    }
    var store = try Self.open(Self.model([index("done == NO")]), fileSystem)
    try Self.add(0..<9, to: store)
    let before = try Self.names(store)
    try store.close()
    store = try Self.open(Self.model([index("done == YES")]), fileSystem)
    let after = try Self.names(store)
    #expect(before.count == after.count && before != after)
    #expect(try Self.fetch(store, "done == YES AND size >= 3").count == 2)
    try store.close()
    store = try Self.open(nil, fileSystem)
    #expect(try Self.names(store) == after)
    #expect(try store.store.verify().findings.isEmpty)
    try store.close()
  }

  @Test("Building and dropping indexes writes no rows, and adds little more than the model to the log")
  func bytes() throws {
    let fileSystem = SimulatedFileSystem()
    var store = try Self.open(Self.model(Self.old), fileSystem)
    try Self.add(0..<500, to: store, padding: 200)
    try store.close()
    let rows = try Self.open(Self.model(Self.old), fileSystem)
    #expect(try rows.store.statistics.logBytes > 100_000)
    #expect(try rows.store.statistics.logBytesSinceOpen == 0)
    try rows.close()
    store = try Self.open(Self.model(Self.new()), fileSystem)
    let grown = try Int(store.store.statistics.logBytesSinceOpen) - store.model.encode().count
    // Two definitions, two removals and the frame of a commit.
    #expect(grown > 0 && grown < 1000, "\(grown)")
    try store.close()
    store = try Self.open(Self.model(Self.new()), fileSystem)
    #expect(try store.store.statistics.logBytesSinceOpen == 0)
    try store.close()
  }

  @Test(
    "After a power cut during the change, all objects exist and all indexes are built")
  func powerCut() throws {
    let before = SimulatedFileSystem()
    var store = try Self.open(Self.model(Self.old), before)
    try Self.add(0..<6, to: store)
    try store.close()
    let fileSystem = SimulatedFileSystem(before.currentImage)
    let begin = fileSystem.journal.operationCount
    store = try Self.open(Self.model(Self.new()), fileSystem)
    let names = try Self.names(store)
    try store.close()
    var explorer = CrashExplorer(seed: 1)
    explorer.imagesPerOperationMax = 12
    let journal = fileSystem.journal
    var seen: Set<CrashImage> = []
    for operation in begin...journal.operationCount {
      for image in explorer.images(of: journal, after: operation) where seen.insert(image).inserted {
        let recovered = try Self.open(Self.model(Self.new()), image.fileSystem())
        #expect(try Self.names(recovered) == names)
        #expect(try Self.fetch(recovered, "done == NO AND size > 1").count == 3)
        #expect(try Self.fetch(recovered, "name ==[cd] 'e3'").count == 1)
        #expect(try recovered.store.verify().findings.isEmpty)
        try recovered.close()
      }
    }
    #expect(seen.count > 5)
  }

  @Test("A reader with the old model keeps its state and indexes, and fails when it advances")
  func reader() throws {
    let directory = try TemporaryDirectory()
    func container(_ model: ManagedObjectModel, isReadOnly: Bool) throws -> PersistentContainer {
      let container = PersistentContainer(
        name: "Items", model: model,
        description: .init(
          path: directory.file("items.perdure"), isReadOnly: isReadOnly, durability: .relaxed))
      try container.loadPersistentStores()
      return container
    }
    let first = try container(Self.model(Self.old), isReadOnly: false)
    let writing = first.newContext()
    for size in 0..<20 { writing.insertNewObject(forEntityName: "Item")["size"] = size }
    try writing.save()
    let reader = try container(Self.model(Self.old), isReadOnly: true)
    let context = reader.newContext()
    let request = FetchRequest<ManagedObject>(
      entityName: "Item", predicate: try FetchPredicate(format: "size > 15"))
    #expect(try context.fetch(request).count == 4)
    try first.close()
    let second = try container(Self.model(Self.new()), isReadOnly: false)
    #expect(try context.explain(request).contains("index on size"))
    #expect(try context.fetch(request).count == 4)
    context.rollback()
    let error = #expect(throws: PerdureError.self) { try context.fetch(request) }
    #expect((error?.cause as? PerdureError)?.code == .incompatibleModel)
    #expect(try context.fetch(request).count == 4)
    try reader.close()
    try second.close()
  }

  @Test(
    "An index uses the first default of an added attribute for older rows, not later defaults")
  func otherDefault() throws {
    let fileSystem = SimulatedFileSystem()
    var store = try Self.open(Self.model([]), fileSystem)
    try Self.add(0..<5, to: store)
    try store.close()
    for value in [5, 7] as [Int64] {
      store = try Self.open(
        Self.model([FetchIndexDescription(on: "level")]) {
          $0.properties.append(.int64("level", default: .integer(value)))
        }, fileSystem)
      #expect(try Self.fetch(store, "level == 5").count == 5, "\(value)")
      #expect(try Self.fetch(store, "level == 7").count == 0, "\(value)")
      #expect(try store.store.verify().findings.isEmpty, "\(value)")
      try store.close()
    }
  }
}
