import Foundation
import Perdure
import PerdureLog
import PerdureModel
import PerdureTestSupport
import Testing

@Suite("Objects that are older than an attribute")
struct FrozenDefaultTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private var path: String { directory.path + "/users.perdure" }

  /// - Parameter flag: The default of the added attribute, or nil for the first version of the
  ///   program, which lacks the attribute.
  private func open(_ flag: Bool?, isReadOnly: Bool = false) throws -> PersistentContainer {
    var user = EntityDescription("User", properties: [.string("name")])
    if let flag {
      user.properties += [
        .boolean("wantsMail", optional: false, default: .bool(flag)),
        .int64("points", optional: false, default: flag ? 10 : 20),
        .string("note", default: .string("new")),
        .toOne("club", "Club", inverse: "members"),
      ]
      user.indexes = [FetchIndexDescription(on: "wantsMail"), FetchIndexDescription(on: "points")]
    }
    var club = EntityDescription("Club", properties: [.string("title")])
    if flag != nil {
      club.properties += [
        .toMany("members", "User", inverse: "club"), .derived("total", "members.points.@sum"),
      ]
      club.indexes = [FetchIndexDescription(on: "total")]
    }
    let container = PersistentContainer(
      name: "users", model: try ManagedObjectModel([user, club]),
      description: .init(path: path, isReadOnly: isReadOnly))
    try container.loadPersistentStores()
    return container
  }

  private func add(_ names: [String], _ container: PersistentContainer) throws {
    let context = container.newContext()
    for name in names { context.insertNewObject(forEntityName: "User")["name"] = name }
    try context.save()
  }

  private func users(_ context: ManagedObjectContext, _ format: String = "TRUEPREDICATE") throws -> [String] {
    var request = FetchRequest<ManagedObject>(entityName: "User")
    request.predicate = try FetchPredicate(format: format)
    return try context.fetch(request).compactMap { $0["name"] as? String }.sorted()
  }

  private func flags(_ context: ManagedObjectContext) throws -> [String: Bool] {
    let users = try context.fetch(FetchRequest<ManagedObject>(entityName: "User"))
    return Dictionary(
      uniqueKeysWithValues: users.map { ($0["name"] as? String ?? "", $0["wantsMail"] as? Bool ?? false) })
  }

  /// Verifies the store, and returns the definitions of all indexes and the last commit.
  private func state() throws -> (definitions: [PerdureLog.IndexDefinition], sequence: UInt64) {
    var options = StoreOptions()
    options.isReadOnly = true
    let store = try LogPersistentStore(at: path, model: nil, options: options)
    defer { try? store.close() }
    let graph = GraphVerification(store.view(), store.model.model).run()
    let engine = try store.store.verify()
    #expect(graph.isClean && engine.isClean, "\(graph.findings) \(engine.findings)")
    return (try store.store.indexes.map(\.definition), store.view().sequence)
  }

  @Test("Old objects keep the first default of an added attribute under later models")
  func keep() throws {
    var container = try open(nil)
    try add(["a", "b", "c"], container)
    try container.close()
    container = try open(true)
    try add(["d"], container)
    let context = container.newContext()
    var request = FetchRequest<ManagedObject>(entityName: "User")
    request.predicate = try FetchPredicate(format: "name == 'b'")
    let b = try #require(context.fetch(request).first)
    // Sets the value that the object already has, so that nothing is written.
    b["wantsMail"] = true
    try context.save()
    try container.close()
    let before = try state()
    container = try open(false)
    try add(["e"], container)
    #expect(try flags(container.newContext()) == ["a": true, "b": true, "c": true, "d": true, "e": false])
    try container.close()
    let after = try state()
    #expect(after.definitions == before.definitions)
  }

  @Test("A nil for an attribute that an old row lacks stays a change when the context advances")
  func absentNil() throws {
    var container = try open(nil)
    try add(["a"], container)
    try container.close()
    container = try open(true)
    let (here, there) = (container.newContext(), container.newContext())
    let request = FetchRequest<ManagedObject>(entityName: "User")
    let user = try #require(here.fetch(request).first)
    #expect(user["note"] as? String == "new")
    user["note"] = nil
    try #require(there.fetch(request).first)["name"] = "b"
    try there.save()
    here.refreshAllObjects()
    #expect(user["note"] == nil && user["name"] as? String == "b" && here.hasChanges)
    try here.save()
    let stored = try #require(container.newContext().fetch(request).first)
    #expect(stored["note"] == nil && stored["name"] as? String == "b")
    try container.close()
  }

  @Test("After every opening, reads, fetches, indexes, sums and rewritten rows have the same default")
  func agree() throws {
    var container = try open(nil)
    try add(["a", "b", "c"], container)
    let club = container.newContext()
    club.insertNewObject(forEntityName: "Club")["title"] = "x"
    try club.save()
    try container.close()
    for flag in [true, false, true, false] {
      container = try open(flag)
      let context = container.newContext()
      let old = ["a", "b", "c"]
      #expect(try users(context, "wantsMail == YES").filter(old.contains) == old)
      #expect(try users(context, "wantsMail == NO").filter(old.contains) == [])
      #expect(try users(context, "points == 10").filter(old.contains) == old)
      #expect(
        try users(context, "points == 10 AND wantsMail == YES AND name != nil").filter(old.contains) == old)
      // Changes another column, so that the row is written in the newest layout.
      let clubs = try context.fetch(FetchRequest<ManagedObject>(entityName: "Club"))
      var request = FetchRequest<ManagedObject>(entityName: "User")
      request.predicate = try FetchPredicate(format: "name == %@", flag ? "a" : "b")
      try context.fetch(request).first?["club"] = clubs[0]
      try context.save()
      let members = try users(context, "club != nil").count
      #expect(clubs[0]["total"].map { "\($0)" } == "\(10 * members)")
      try container.close()
      _ = try state()
    }
  }

  @Test("A new default costs one commit and rebuilds no index")
  func oneCommit() throws {
    var container = try open(nil)
    try add(["a"], container)
    try container.close()
    try open(true).close()
    let before = try state()
    container = try open(false)
    try container.close()
    let after = try state()
    #expect(after.definitions == before.definitions && after.sequence == before.sequence + 1)
  }

  @Test("A reader whose model has another default reads the default of the store")
  func reader() throws {
    let first = try open(nil)
    try add(["a"], first)
    try first.close()
    let writer = try open(true)
    let reader = try open(false, isReadOnly: true)
    let context = reader.newContext()
    #expect(try flags(context) == ["a": true])
    try add(["b"], writer)
    context.rollback()
    #expect(try flags(context) == ["a": true, "b": true])
    try reader.close()
    try writer.close()
  }
}
