import Perdure
import PerdureModel
import PerdurePredicates
import PerdureTestSupport
import Testing

@Suite("Merging: uniqueness constraints and upsert")
struct UpsertTests {
  /// Returns two contexts. `there` has an unsaved worker with the email x. `here` has not read this
  /// worker.
  private func scene(
    _ policy: MergePolicy
  ) throws -> (
    container: PersistentContainer, here: ManagedObjectContext, there: ManagedObjectContext, saved: Employee
  ) {
    let container = try Staff.container()
    let (here, there) = (container.newContext(), container.newContext())
    here.mergePolicy = policy
    let saved = there.worker("saved", email: "x")
    return (container, here, there, saved)
  }

  @Test(
    "The saved object keeps its identity and links, and gets the new object's links")
  func identityAndLinks() throws {
    let (container, here, there, saved) = try scene(.mergeByPropertyObjectTrump)
    let (old, friend) = (there.company("old"), there.worker("friend"))
    (saved.company, saved.salary) = (old, 5)
    saved.friends.insert(friend)
    let admirer = there.worker("admirer")
    admirer.mentor = saved
    try there.save()
    let new = here.worker("new", email: "x")
    let company = here.company("new")
    (new.company, new.mentor) = (company, here.worker("mentor"))
    new.friends.insert(here.worker("new friend"))
    new.bookmarks.insert(Project(context: here))
    let pupil = here.worker("pupil")
    (pupil.mentor, pupil.spouse) = (new, new)
    let gone = new.objectID
    try here.save()
    let one = try here.same(saved)
    #expect(new === one && here.mergedObjectIDs == [gone: saved.objectID])
    #expect(one.name == "new" && one.salary == 5 && one.company === company && company.workers.count == 1)
    #expect(
      one.mentor?.name == "mentor" && one.spouse === pupil && pupil.mentor === one && pupil.spouse === one)
    #expect(Set(one.friends.map(\.name)) == ["friend", "new friend"] && one.bookmarks.count == 1)
    #expect(try here.same(admirer).mentor === one && here.same(old).workers.isEmpty)
    #expect(try container.newContext().count(for: FetchRequest<Employee>()) == 6)
    try expectWhole(container)
  }

  @Test(
    "With store trump, a merge only fills absent values of the saved object, and no cascade deletes objects")
  func storeTrump() throws {
    let container = try Self.catalogue()
    let (here, there) = (container.newContext(), container.newContext())
    here.mergePolicy = .mergeByPropertyStoreTrump
    func make(_ context: ManagedObjectContext, _ values: [String: Any]) -> ManagedObject {
      let object = context.insertNewObject(forEntityName: "Article")
      for (key, value) in values { object[key] = value }
      return object
    }
    let saved = make(there, ["number": 1, "title": "saved"])
    let part = there.insertNewObject(forEntityName: "Part")
    part.setValue(saved, forKey: "article")
    try there.save()
    let new = make(here, ["number": 1, "title": "new", "note": "new"])
    let newPart = here.insertNewObject(forEntityName: "Part")
    newPart.setValue(new, forKey: "article")
    try here.save()
    let one = try here.existingObject(with: saved.objectID)
    #expect(one["title"] as? String == "saved" && one["note"] as? String == "new")
    #expect((one.value(forKey: "parts") as? Set<ManagedObject>)?.count == 2)
    #expect(!newPart.isDeleted && newPart.value(forKey: "article") as? ManagedObject === one)
    try expectWhole(container)
  }

  /// Returns a container with articles, parts that are deleted with their article, and posters, a
  /// subentity of articles.
  private static func catalogue() throws -> PersistentContainer {
    let model = try ManagedObjectModel([
      EntityDescription(
        "Article",
        properties: [
          .int64("number"), .int64("code"), .string("title"), .string("note"), .int64("stock", default: 0),
          .toMany("parts", "Part", inverse: "article", deleteRule: .cascade),
        ], uniquenessConstraints: [["number"], ["code"]]),
      EntityDescription("Poster", superentity: "Article", properties: [.string("artist")]),
      EntityDescription(
        "Part", properties: [.toOne("article", "Article", inverse: "parts", optional: false)]),
    ])
    let container = PersistentContainer(
      name: "Catalogue", model: model, classes: [], description: .inMemory, factory: StoreKind.current.factory
    )
    try container.loadPersistentStores()
    return container
  }

  @Test("Rules for properties also apply in an upsert, for example the sum of stock")
  func rules() throws {
    let container = try Self.catalogue()
    func deliver(_ stock: Int64) throws {
      let context = container.newContext()
      context.mergePolicy = .mergeByPropertyStoreTrump.merging("stock", of: "Article", by: .sum)
      let article = context.insertNewObject(forEntityName: "Article")
      (article["number"], article["stock"]) = (1, stock)
      try context.save()
    }
    for stock in [3, 4, 5] as [Int64] { try deliver(stock) }
    let articles = try container.newContext().fetch(FetchRequest<ManagedObject>(entityName: "Article"))
    #expect(articles.map { $0["stock"] as? Int } == [12])
    let context = container.newContext()
    context.mergePolicy = .mergeByPropertyStoreTrump.merging("stock", of: "Article", by: .error)
    let article = context.insertNewObject(forEntityName: "Article")
    (article["number"], article["stock"]) = (1, 9)
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .constraintConflict && article.isInserted && article["stock"] as? Int == 9)
  }

  @Test("An import with many duplicates of unique values creates one object for each value")
  func many() throws {
    let (container, here, there, saved) = try scene(.mergeByPropertyObjectTrump)
    try there.save()
    for number in 0..<60 {
      here.worker("\(number)", email: ["x", "y", "z"][number % 3]).salary = Int64(number)
    }
    try here.save()
    let request = FetchRequest<Employee>(sortDescriptors: [FetchOrder("email")])
    let found = try container.newContext().fetch(request)
    #expect(found.map(\.email) == ["x", "y", "z"] && found.map(\.salary) == [57, 58, 59])
    #expect(found.first?.objectID == saved.objectID && here.mergedObjectIDs.count == 58)
    try expectWhole(container)
  }

  @Test("An ambiguous merge target fails with 133021, and a merge into an object of another entity fails")
  func ambiguous() throws {
    let container = try Self.catalogue()
    let there = container.newContext()
    let saved = (1...2).map { number in
      let article = there.insertNewObject(forEntityName: "Article")
      (article["number"], article["code"]) = (number, number)
      return article
    }
    try there.save()
    let here = container.newContext()
    here.mergePolicy = .mergeByPropertyObjectTrump
    let new = here.insertNewObject(forEntityName: "Article")
    (new["number"], new["code"]) = (1, 2)
    let error = #expect(throws: PerdureError.self) { try here.save() }
    #expect(error?.code == .constraintConflict && error?.conflicts.count == 2 && new.isInserted)
    new["code"] = 3
    try here.save()
    #expect(new.objectID == saved[0].objectID && here.mergedObjectIDs.values.contains(saved[0].objectID))
    let poster = here.insertNewObject(forEntityName: "Poster")
    poster["number"] = 2
    #expect(throws: PerdureError.self) { try here.save() }
    here.mergePolicy = .rollback
    try here.save()
    #expect(poster.managedObjectContext == nil && !here.hasChanges)
    try expectWhole(container)
  }

  @Test("A change of a saved object to a used value is reverted if the store wins, and refused otherwise")
  func savedObjects() throws {
    let (container, here, there, saved) = try scene(.mergeByPropertyStoreTrump)
    let other = there.worker("other", email: "o")
    try there.save()
    here.refreshAllObjects()
    let mine = try here.same(other)
    (mine.email, mine.salary) = ("x", 7)
    try here.save()
    #expect(mine.email == "o" && mine.salary == 7)
    here.mergePolicy = .mergeByPropertyObjectTrump
    mine.email = "x"
    let error = #expect(throws: PerdureError.self) { try here.save() }
    guard case .duplicate(let constraint, let existing) = try #require(error?.conflicts.first).kind else {
      Issue.record("\(error?.description ?? "")")
      return
    }
    #expect(constraint == ["email"] && existing == saved.objectID && mine.email == "x")
    try expectWhole(container)
  }

  @Test("After a refused save, a repaired new object can be saved without a merge")
  func notPoisoned() throws {
    let (container, here, there, _) = try scene(.error)
    try there.save()
    let new = here.worker("new", email: "x")
    let company = here.company("C")
    new.company = company
    for _ in 0..<3 {
      let error = #expect(throws: PerdureError.self) { try here.save() }
      #expect(error?.code == .constraintConflict && error?.code.rawValue == 133_021)
      let conflict = try #require(error?.conflicts.first)
      #expect(conflict.values == [.string("x")] && conflict.properties.map(\.property) == ["email"])
      #expect(conflict.properties.first?.base == .null && conflict.properties.first?.store == .string("x"))
    }
    #expect(new.isInserted && company.workers.count == 1)
    new.email = "free"
    try here.save()
    #expect(!new.isDeleted && here.mergedObjectIDs.isEmpty)
    try expectWhole(container)
  }

  @Test("Contexts that upsert the same values create one object for each value, and lose no link")
  func contention() throws {
    var random = SeededGenerator.forTest("upserts")
    let container = try Staff.container()
    let contexts = (0..<3).map { _ in
      let context = container.newContext()
      context.mergePolicy = random.chance(50) ? .mergeByPropertyObjectTrump : .mergeByPropertyStoreTrump
      return context
    }
    var fans: [String: Set<String>] = [:]
    var number = 0
    for _ in 0..<60 {
      let context = random.pick(contexts)
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        number += 1
        let email = random.pick(["a", "b", "c"])
        let worker = context.worker("w\(number)", email: email)
        let fan = context.worker("fan\(number)")
        if random.chance(50) { worker.friends.insert(fan) } else { fan.mentor = worker }
        fans[email, default: []].insert(fan.name)
      }
      if random.chance(70) { try context.save() }
    }
    for context in contexts { try context.save() }
    let reader = container.newContext()
    for (email, expected) in fans {
      let request = FetchRequest<Employee>(predicate: try FetchPredicate(format: "email == %@", email))
      let found = try reader.fetch(request)
      #expect(found.count == 1)
      let one = try #require(found.first)
      let pupils = try reader.fetch(
        FetchRequest<Employee>(predicate: try FetchPredicate(format: "mentor == %@", one)))
      #expect(Set((Array(one.friends) + pupils).map(\.name)) == expected)
    }
    try expectWhole(container)
  }
}
