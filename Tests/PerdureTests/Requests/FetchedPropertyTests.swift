import FoundationEssentials
import Perdure
import PerdureModel
import PerdurePredicates
import PerdureTestSupport
import Testing

private let messageRequest: FetchRequestDescription = {
  FetchRequestDescription(
    "Message", "author == $FETCH_SOURCE AND size > $FETCH_SOURCE.least",
    sortDescriptors: [FetchOrder("size", ascending: false)], fetchLimit: 3)
}()

private func entities(_ more: [FetchedPropertyDescription] = []) -> [EntityDescription] {
  [
    EntityDescription(
      "Author",
      properties: [.string("name"), .int64("least"), .toMany("messages", "Message", inverse: "author")],
      fetchedProperties: [
        FetchedPropertyDescription("live", messageRequest, isCached: false),
        FetchedPropertyDescription("kept", messageRequest),
        FetchedPropertyDescription(
          "urgent", "Message", "text BEGINSWITH $FETCHED_PROPERTY.userInfo.mark", isCached: false,
          userInfo: ["mark": "!"]),
        FetchedPropertyDescription(
          "own", "Message", "SELF IN $FETCH_SOURCE.messages", sortDescriptors: [FetchOrder("size")],
          isCached: false),
      ] + more),
    EntityDescription("Editor", superentity: "Author", properties: [.string("desk")]),
    EntityDescription(
      "Message",
      properties: [.string("text"), .int64("size"), .toOne("author", "Author", inverse: "messages")]),
  ]
}

private func container(_ more: FetchedPropertyDescription...) throws -> PersistentContainer {
  let container = PersistentContainer(
    name: "Messages", model: try ManagedObjectModel(entities(more)), description: .inMemory)
  try container.loadPersistentStores()
  return container
}

extension ManagedObjectContext {
  fileprivate func author(_ name: String = "a", least: Int = 0, entity: String = "Author") -> ManagedObject {
    let author = insertNewObject(forEntityName: entity)
    author["name"] = name
    author["least"] = least
    return author
  }

  @discardableResult
  fileprivate func message(_ author: ManagedObject?, _ size: Int, _ text: String = "") -> ManagedObject {
    let message = insertNewObject(forEntityName: "Message")
    message["size"] = size
    message["author"] = author
    message["text"] = text
    return message
  }
}

private func sizes(_ object: ManagedObject, _ key: String) -> [Int] {
  object.fetchedObjects(forKey: key).map { $0["size"] as? Int ?? -1 }
}

@Suite("Fetched properties")
struct FetchedPropertyTests {
  @Test("A live fetched property includes unsaved changes of owner and targets, and has its order and limit")
  func live() throws {
    let context = try container().newContext()
    let author = context.author()
    let messages = [5, 1, 9, 7].map { context.message(author, $0) }
    context.message(context.author("b"), 100)
    #expect(sizes(author, "live") == [9, 7, 5])
    messages[2]["size"] = 6
    #expect(sizes(author, "live") == [7, 6, 5])
    author["least"] = 5
    #expect(sizes(author, "live") == [7, 6])
    messages[3]["author"] = nil
    #expect(sizes(author, "live") == [6])
    context.delete(messages[2])
    #expect(sizes(author, "live") == [])
  }

  @Test("A live fetched property has the same result before and after a save, and after a rollback")
  func saved() throws {
    let context = try container().newContext()
    let author = context.author(least: 2)
    let message = context.message(author, 5)
    context.message(author, 1)
    #expect(sizes(author, "live") == [5])
    try context.save()
    #expect(sizes(author, "live") == [5])
    message["size"] = 1
    #expect(sizes(author, "live") == [])
    context.rollback()
    #expect(sizes(author, "live") == [5])
  }

  @Test("After a refresh, a live fetched property includes the saves of another context")
  func others() throws {
    let container = try container()
    let (context, other) = (container.newContext(), container.newContext())
    let author = context.author()
    context.message(author, 1)
    try context.save()
    #expect(sizes(author, "live") == [1])
    other.refreshAllObjects()
    other.message(other.object(with: author.objectID), 2)
    try other.save()
    context.refreshAllObjects()
    #expect(sizes(author, "live") == [2, 1])
  }

  @Test("A cached fetched property keeps its result until its owner is refreshed")
  func cached() throws {
    let context = try container().newContext()
    let author = context.author()
    context.message(author, 1)
    #expect(sizes(author, "kept") == [1])
    context.message(author, 2)
    try context.save()
    #expect(sizes(author, "kept") == [1])
    #expect(sizes(author, "live") == [2, 1])
    context.refresh(author, mergeChanges: true)
    #expect(sizes(author, "kept") == [2, 1])
    for end in [
      { context.refresh(author, mergeChanges: false) }, context.refreshAllObjects, context.rollback,
    ] {
      context.message(author, 3 + sizes(author, "kept").count)
      try context.save()
      let before = sizes(author, "kept")
      #expect(sizes(author, "kept") == before)
      end()
      #expect(sizes(author, "kept") == sizes(author, "live"))
    }
  }

  @Test("A cached fetched property makes no request before its first read, and one for all its reads")
  func lazy() throws {
    let container = try container()
    let context = container.newContext()
    context.message(context.author(), 1)
    try context.save()
    let reader = container.newContext()
    let author = try #require(try reader.fetch(FetchRequest<ManagedObject>(entityName: "Author")).first)
    #expect(author["name"] as? String == "a")
    let before = reader.statistics
    #expect(author["least"] as? Int == 0)
    #expect(reader.statistics.since(before).fetchRequestCount == 0)
    for _ in 0..<3 {
      #expect(sizes(author, "kept") == [1])
      #expect(reader.statistics.since(before).fetchRequestCount == 1)
    }
    #expect(sizes(author, "live") == [1])
    #expect(reader.statistics.since(before).fetchRequestCount == 2)
  }

  @Test("Cached results of different owners are independent, and freeing an owner removes its result")
  func owners() throws {
    let context = try container().newContext()
    var first: ManagedObject? = context.author()
    let second = context.author("b")
    context.message(first, 1)
    context.message(second, 2)
    try context.save()
    let id = try #require(first).objectID
    #expect(try sizes(#require(first), "kept") == [1])
    #expect(sizes(second, "kept") == [2])
    first = nil
    context.message(context.object(with: id), 3)
    try context.save()
    #expect(sizes(context.object(with: id), "kept") == [3, 1])
    #expect(sizes(second, "kept") == [2])
  }

  @Test("A cached result omits deleted objects, before and after the save")
  func deleted() throws {
    let context = try container().newContext()
    let author = context.author()
    let messages = (1...3).map { context.message(author, $0) }
    try context.save()
    #expect(sizes(author, "kept") == [3, 2, 1])
    context.delete(messages[1])
    #expect(sizes(author, "kept") == [3, 1])
    try context.save()
    #expect(sizes(author, "kept") == [3, 1])
  }

  @Test("A predicate can use the user info, and the objects of a relationship of the owner")
  func variables() throws {
    let context = try container().newContext()
    let author = context.author()
    let urgent = context.message(nil, 1, "!now")
    context.message(author, 2, "later")
    context.message(author, 3)
    for _ in 0..<2 {
      #expect(author.fetchedObjects(forKey: "urgent") == [urgent])
      #expect(sizes(author, "own") == [2, 3])
      try context.save()
    }
  }

  @Test(
    "Paths from the owner may lead through to-many relationships, and may end with an operator",
    arguments: [
      ("size > $FETCH_SOURCE.messages.@count", [4, 5]), ("size == $FETCH_SOURCE.messages.@max.size", [5]),
      ("text IN $FETCH_SOURCE.messages.text AND size < 4", [1]),
      ("size < $FETCH_SOURCE.name.length", [1, 2]),
      ("author.name == $FETCH_SOURCE.name", [1, 4, 5]), ("$FETCH_SOURCE.messages.@count == 2", []),
      ("author != $FETCH_SOURCE", [2]), ("size > 4 OR $FETCH_SOURCE.least != nil", [5]),
    ])
  func paths(predicate: String, expected: [Int]) throws {
    let found = FetchedPropertyDescription(
      "found", "Message", predicate, sortDescriptors: [FetchOrder("size")], isCached: false)
    let context = try container(found).newContext()
    let author = context.author("ada")
    for size in [1, 4, 5] { context.message(author, size, "\(size % 4)") }
    context.message(nil, 2)
    author["least"] = nil
    for _ in 0..<2 {
      #expect(sizes(author, "found") == expected)
      try context.save()
    }
  }

  @Test("Key-value coding reads fetched properties, even in paths, and refuses to set them")
  func keyed() throws {
    let context = try container().newContext()
    let author = context.author(entity: "Editor")
    let message = context.message(author, 4)
    context.message(author, 3)
    #expect((author.value(forKey: "live") as? [ManagedObject])?.first === message)
    #expect((try author.checkedValue(forKey: "live") as? [ManagedObject])?.count == 2)
    #expect(author.value(forKeyPath: "live.size") as? [Int] == [4, 3])
    #expect(author.value(forKeyPath: "live.@sum.size") as? Int == 7)
    #expect(author.value(forKeyPath: "live.@count") as? Int == 2)
    #expect(message.value(forKeyPath: "author.live.@max.size") as? Int == 4)
    let error = #expect(throws: PerdureError.self) {
      try author.setCheckedValue([message], forKey: "live")
    }
    #expect(error?.code == .unknownKey && error?.message.contains("read-only") == true)
    author.setValue("x", forKeyPath: "live.text")
    #expect(message["text"] as? String == "x")
  }

  @Test("A predicate or a sort descriptor that names a fetched property causes a typed error")
  func named() throws {
    let context = try container().newContext()
    for format in ["live.@count > 0", "ANY live.size > 3", "SUBQUERY(live, $m, $m.size > 3).@count > 0"] {
      let error = #expect(throws: FetchError.self) {
        try context.fetch(
          FetchRequest<ManagedObject>(entityName: "Editor", predicate: try FetchPredicate(format: format)))
      }
      #expect(error?.code == .fetchedProperty && error?.key == "live")
    }
    let error = #expect(throws: FetchError.self) {
      try context.fetch(
        FetchRequest<ManagedObject>(entityName: "Author", sortDescriptors: [FetchOrder("live")]))
    }
    #expect(error?.code == .fetchedProperty)
  }

  @Test(
    "A fetched property whose fetch fails is empty, and fetches and saves throw the error until a rollback")
  func failing() throws {
    let wrong = FetchedPropertyDescription("wrong", "Message", "text == 3", isCached: false)
    let context = try container(wrong).newContext()
    let author = context.author()
    context.message(author, 1)
    try context.save()
    #expect(author.fetchedObjects(forKey: "wrong") == [])
    for _ in 0..<2 {
      let fetchError = #expect(throws: PerdureError.self) {
        try context.fetch(FetchRequest<ManagedObject>(entityName: "Message"))
      }
      #expect(fetchError?.code == .readFailed)
      #expect((fetchError?.cause as? FetchError)?.code == .typeMismatch)
      let error = #expect(throws: PerdureError.self) { try context.save() }
      #expect((error?.cause as? FetchError)?.code == .typeMismatch)
      #expect(error?.message.contains("wrong") == true)
    }
    #expect(sizes(author, "live") == [])
    context.rollback()
    #expect(sizes(author, "live") == [1])
    try context.save()
  }

  @Test(
    "A snapshot has the objects of the fetched properties that are included, even at the end of relationships"
  )
  func snapshots() throws {
    let context = try container().newContext()
    let author = context.author(entity: "Editor")
    let messages = [2, 3, 1].map { context.message(author, $0) }
    for _ in 0..<2 {
      let alone = try author.snapshot()
      #expect(alone["live"] == nil && alone["kept"] == nil)
      let snapshot = try author.snapshot(including: ["live.author", "kept"])
      #expect(snapshot["live"]?.objects.map { $0["size"]?.value } == [.integer(3), .integer(2), .integer(1)])
      #expect(
        snapshot["live"]?.objects.map { $0["author"]?.object?.objectID }
          == messages.map { _ in author.objectID })
      #expect(snapshot["kept"]?.objects.first?["author"] == .reference(author.objectID))
      let deeper = try messages[0].snapshot(including: ["author.live"])
      #expect(deeper["author"]?.object?["live"]?.objects.count == 3)
      try context.save()
    }
  }

  @Test("The snapshot of a fetched property without objects has an empty list, and a failed fetch throws")
  func failingSnapshots() throws {
    let wrong = FetchedPropertyDescription("wrong", "Message", "text == 3")
    let context = try container(wrong).newContext()
    let author = context.author()
    try context.save()
    #expect(try author.snapshot(including: ["live"])["live"] == .objects([]))
    let error = #expect(throws: PerdureError.self) { try author.snapshot(including: ["wrong"]) }
    #expect(error?.code == .readFailed && (error?.cause as? FetchError)?.code == .typeMismatch)
    context.rollback()
    #expect(try author.snapshot()["wrong"] == nil)
  }

  @Test("In a child context, a fetched property includes unsaved objects of the child and of the parent")
  func child() throws {
    let parent = try container().newContext()
    let author = parent.author()
    parent.message(author, 1)
    let child = parent.newChildContext()
    let same = child.object(with: author.objectID)
    child.message(same, 2)
    #expect(sizes(same, "live") == [2, 1])
    #expect(sizes(author, "live") == [1])
    try child.save()
    #expect(sizes(author, "live") == [2, 1])
  }

  @Test("A fetched property can find objects of another store by values of its owner")
  func stores() throws {
    let owner = EntityDescription(
      "Owner", properties: [.string("name"), .int64("least")],
      fetchedProperties: [
        FetchedPropertyDescription(
          "things", "Thing", "owner == $FETCH_SOURCE.name AND size >= $FETCH_SOURCE.least",
          sortDescriptors: [FetchOrder("size")], isCached: false)
      ])
    let thing = EntityDescription("Thing", properties: [.string("owner"), .int64("size")])
    let model = try ManagedObjectModel([owner, thing], configurations: ["A": ["Owner"], "B": ["Thing"]])
    let descriptions = ["A", "B"].map { name in
      var description = PersistentStoreDescription.inMemory
      description.configuration = name
      return description
    }
    let container = PersistentContainer(name: "Two", model: model, storeDescriptions: descriptions)
    try container.loadPersistentStores()
    let context = container.newContext()
    let object = context.insertNewObject(forEntityName: "Owner")
    object["name"] = "ada"
    object["least"] = 2
    for (name, size) in [("ada", 1), ("ada", 3), ("bob", 4), ("ada", 2)] {
      let thing = context.insertNewObject(forEntityName: "Thing")
      thing["owner"] = name
      thing["size"] = size
    }
    #expect(sizes(object, "things") == [2, 3])
    try context.save()
    #expect(sizes(object, "things") == [2, 3])
  }

  @Test("Cached results do not retain their objects or the context")
  func lifetime() throws {
    let container = try container()
    weak var context: ManagedObjectContext?
    weak var message: ManagedObject?
    do {
      let strong = container.newContext()
      context = strong
      let author = strong.author()
      strong.message(author, 1)
      try strong.save()
      message = author.fetchedObjects(forKey: "kept").first
      #expect(sizes(author, "kept") == [1])
    }
    #expect(context == nil && message == nil)
  }
}
