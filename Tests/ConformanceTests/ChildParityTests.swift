import Perdure
import Testing

// Behaviours X15, Q5 and Q6 of Core Data (README.md): child contexts.

@Entity private final class Shelf: ManagedObject {
  var label: String?
  @Relationship(inverse: "shelf") var jars: ToMany<Jar>
  @Relationship(inverse: "shelves") var lists: OrderedToMany<List>
}

@Entity private final class List: ManagedObject {
  var title: String?
  @Relationship(inverse: "lists") var shelves: OrderedToMany<Shelf>
}

@Entity private final class Jar: ManagedObject {
  var content: String?
  var grams: Int = 0
  @Relationship(inverse: "jars") var shelf: Shelf?
  @Transient var awakenings: Int = 0

  override func awakeFromInsert() { awakenings += 1 }
  override func willSave() {
    if content == nil { content = "unnamed" }
  }
}

@Suite("Parity with Core Data: child contexts")
struct ChildParityTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext

  init() throws {
    container = try Sandbox(Shelf.self, List.self, Jar.self).container
    context = container.newContext()
  }

  @Test("X15 A child's save passes its changes to the parent and writes no file")
  func oneLevel() throws {
    let child = context.newChildContext()
    Jar(context: child).content = "salt"
    try child.save()
    #expect(context.hasChanges && !child.hasChanges)
    #expect(try container.newContext().count(for: Jar.fetchRequest()) == 0)
    try context.save()
    #expect(try container.newContext().count(for: Jar.fetchRequest()) == 1)
  }

  @Test("X15 A fetch sees the parent's unsaved changes: predicates, sort descriptors, windows and counts")
  func fetches() throws {
    for grams in [1, 2, 3, 4] { Jar(context: context).grams = grams }
    try context.save()
    let jars = try context.fetch(FetchRequest<Jar>(sortDescriptors: [FetchOrder(\Jar.grams)]))
    jars[0].grams = 9
    context.delete(jars[1])
    Jar(context: context).grams = 6
    let child = context.newChildContext()
    var request = FetchRequest<Jar>(sortDescriptors: [FetchOrder(\Jar.grams, ascending: false)])
    #expect(try child.fetch(request).map(\.grams) == [9, 6, 4, 3])
    (request.fetchOffset, request.fetchLimit) = (1, 2)
    #expect(try child.fetch(request).map(\.grams) == [6, 4])
    #expect(try child.count(for: FetchRequest<Jar> { $0.grams > 3 }) == 3)
    // A fetch also sees the child's own changes.
    try #require(try child.fetch(FetchRequest<Jar> { $0.grams == 6 }).first).grams = 0
    #expect(try child.count(for: FetchRequest<Jar> { $0.grams > 3 }) == 2)
  }

  @Test("X15 object(with:), existingObject(with:) and ids are the same at every level")
  func ids() throws {
    let jar = Jar(context: context)
    #expect(jar.objectID.isTemporaryID)
    let child = context.newChildContext()
    let same = try child.existingObject(with: jar.objectID)
    #expect(child.object(with: jar.objectID) === same && same.objectID == jar.objectID)
    let new = Jar(context: child)
    try child.obtainPermanentIDs(for: [new])
    #expect(!new.objectID.isTemporaryID)
    try child.save()
    #expect(try context.existingObject(with: new.objectID).objectID == new.objectID)
    try context.save()
    #expect(try container.newContext().existingObject(with: new.objectID).objectID == new.objectID)
  }

  @Test("X15 Hooks are called in the child, and awakeFromInsert is not called again in the parent")
  func hooks() throws {
    let child = context.newChildContext()
    let jar = Jar(context: child)
    try child.save()
    let above = try #require(try context.existingObject(with: jar.objectID) as? Jar)
    #expect(jar.content == "unnamed" && above.content == "unnamed")
    #expect(jar.awakenings == 1 && above.awakenings == 0)
  }

  @Test("X15 A refresh reads the parent's values and keeps or discards changes")
  func refreshes() throws {
    let jar = Jar(context: context)
    (jar.content, jar.grams) = ("salt", 1)
    let child = context.newChildContext()
    let same = try #require(try child.existingObject(with: jar.objectID) as? Jar)
    same.grams = 2
    jar.content = "sugar"
    child.refresh(same, mergeChanges: true)
    #expect(same.content == "sugar" && same.grams == 2)
    child.refresh(same, mergeChanges: false)
    #expect(same.grams == 1 && !child.hasChanges)
  }

  @Test("Q6 Q5 Prefetching and fetch batches work in children")
  func prefetching() throws {
    let shelf = Shelf(context: context)
    for grams in 0..<10 {
      let jar = Jar(context: context)
      (jar.grams, jar.shelf) = (grams, shelf)
    }
    let child = context.newChildContext()
    var request = FetchRequest<Shelf>()
    request.prefetch { $0.jars }
    let fetched = try child.fetch(request)
    let before = child.statistics
    #expect(fetched.flatMap { $0.jars.map(\.grams) }.reduce(0, +) == 45 && child.statistics == before)
    let other = context.newChildContext()
    var batches = FetchRequest<Jar>(sortDescriptors: [FetchOrder(\Jar.grams)])
    batches.fetchBatchSize = 4
    let jars = try other.fetch(batches)
    #expect(jars.allSatisfy { $0.isFault } && jars.map(\.grams) == Array(0..<10))
    #expect(other.statistics.rowRequestCount == 3)
  }

  @Test("A child reads the parent's order of an ordered relationship, and can save another order")
  func orders() throws {
    let list = List(context: context)
    let shelves = (0..<4).map { number in
      let shelf = Shelf(context: context)
      shelf.label = "\(number)"
      return shelf
    }
    for shelf in shelves { list.shelves.append(shelf) }
    try context.save()
    list.shelves.move(shelves[3], to: 0)
    let child = context.newChildContext()
    let same = try #require(try child.existingObject(with: list.objectID) as? List)
    #expect(same.shelves.map(\.label) == ["3", "0", "1", "2"] && same.shelves[1].label == "0")
    same.shelves.move(same.shelves[3], to: 1)
    let new = Shelf(context: child)
    new.label = "new"
    same.shelves.insert(new, at: 2)
    child.delete(same.shelves[0])
    try child.save()
    #expect(
      list.shelves.map(\.label) == ["2", "new", "0", "1"]
        && same.shelves.map(\.label) == ["2", "new", "0", "1"])
    try context.save()
    let stored = try #require(try container.newContext().existingObject(with: list.objectID) as? List)
    #expect(stored.shelves.map(\.label) == ["2", "new", "0", "1"])
  }

  @Test("A child of the view context belongs to the main actor")
  @MainActor func mainActor() throws {
    let child = container.viewContext.newChildContext()
    Jar(context: child).grams = 5
    try child.save()
    #expect(try container.viewContext.count(for: Jar.fetchRequest()) == 1)
  }

  @Test("A child that is created inside perform belongs to the parent's queue")
  func background() async throws {
    let background = container.newBackgroundContext()
    let count = try await background.perform { context in
      let child = context.newChildContext()
      Jar(context: child).grams = 5
      try child.save()
      try context.save()
      return try child.count(for: Jar.fetchRequest())
    }
    #expect(count == 1)
    #expect(try container.newContext().count(for: Jar.fetchRequest()) == 1)
  }
}
