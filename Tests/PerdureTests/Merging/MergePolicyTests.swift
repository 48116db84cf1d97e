import Perdure
import PerdureModel
import PerdurePredicates
import Testing

@Suite("Merge policies: values and rules")
struct MergePolicyTests {
  /// Returns two contexts with the same worker.
  private func scene(
    _ policy: MergePolicy = .error
  ) throws -> (here: ManagedObjectContext, there: ManagedObjectContext, mine: Employee, theirs: Employee) {
    let container = try Staff.container()
    let there = container.newContext()
    let theirs = there.worker("W", email: "w")
    try there.save()
    let here = container.newContext()
    here.mergePolicy = policy
    return (here, there, try here.same(theirs), theirs)
  }

  @Test("By default, a save merges changes of different properties in two contexts")
  func differentProperties() throws {
    let (here, there, mine, theirs) = try scene()
    mine.salary = 7
    theirs.email = "there"
    try there.save()
    try here.save()
    #expect(mine.salary == 7 && mine.email == "there" && !here.hasChanges)
    there.refreshAllObjects()
    #expect(theirs.salary == 7 && theirs.email == "there")
  }

  @Test("A conflict lists each property with its earlier, local and stored value")
  func threeValues() throws {
    let (here, there, mine, theirs) = try scene()
    (mine.name, mine.salary, mine.email) = ("mine", 1, "w2")
    (theirs.name, theirs.salary) = ("theirs", 2)
    try there.save()
    let error = #expect(throws: PerdureError.self) { try here.save() }
    #expect(error?.code == .mergeConflict && error?.code.rawValue == 133_020)
    let conflict = try #require(error?.conflicts.first)
    #expect(error?.conflicts.count == 1 && conflict.kind == .changed && conflict.objectID == mine.objectID)
    #expect(!conflict.isDeletedHere && !conflict.isDeletedInStore)
    let found = Dictionary(uniqueKeysWithValues: conflict.properties.map { ($0.property, $0) })
    #expect(Set(found.keys) == ["name", "salary"])
    #expect(found["name"]?.base == .string("W") && found["salary"]?.base == .integer(1000))
    #expect(found["name"]?.local == .string("mine") && found["salary"]?.local == .integer(1))
    #expect(found["name"]?.store == .string("theirs") && found["salary"]?.store == .integer(2))
    #expect("\(conflict)".contains("salary: was 1000, is 1 here and 2 in the store"))
  }

  @Test("A conflict about a relationship has ids; a conflict about a deletion says which side deleted")
  func relationshipsAndDeletions() throws {
    let (here, there, mine, theirs) = try scene()
    let (first, second) = (there.worker("first"), there.worker("second"))
    try there.save()
    here.refreshAllObjects()
    mine.mentor = try here.same(first)
    theirs.mentor = second
    try there.save()
    let error = #expect(throws: PerdureError.self) { try here.save() }
    let found = try #require(error?.conflicts.first?.properties.first)
    #expect(found.base == .null && found.local == .objectID(first.objectID.uri))
    #expect(found.store == .objectID(second.objectID.uri))
    here.rollback()
    mine.salary = 1
    there.delete(theirs)
    try there.save()
    let gone = #expect(throws: PerdureError.self) { try here.save() }
    #expect(gone?.conflicts.first?.isDeletedInStore == true)
    #expect(gone?.conflicts.first?.properties.map(\.property) == ["salary"])
    #expect(gone?.conflicts.first?.properties.first?.store == .null)
  }

  @Test("The error of a save lists exactly its conflicts")
  func everyConflict() throws {
    let container = try Staff.container()
    let there = container.newContext()
    let theirs = (0..<4).map { there.worker("\($0)") }
    try there.save()
    let here = container.newContext()
    let mine = try theirs.map { try here.same($0) }
    for worker in mine { worker.salary = 1 }
    for worker in theirs[0..<3] { worker.name += "!" }
    for worker in theirs[0..<2] { worker.salary = 2 }
    try there.save()
    let error = #expect(throws: PerdureError.self) { try here.save() }
    #expect(Set(error?.conflicts.map(\.objectID) ?? []) == Set(theirs[0..<2].map(\.objectID)))
    #expect(mine.allSatisfy { $0.salary == 1 } && mine.map(\.name) == ["0", "1", "2", "3"])
  }

  @Test("A context that has advanced still knows the earlier values of its changes")
  func movedOn() throws {
    let (here, there, mine, theirs) = try scene()
    let other = here.worker("other")
    try here.save()
    mine.salary = 1
    theirs.name = "theirs"
    try there.save()
    here.refresh(other, mergeChanges: true)
    #expect(mine.name == "theirs" && mine.salary == 1)
    theirs.salary = 2
    try there.save()
    here.refresh(other, mergeChanges: true)
    theirs.email = "late"
    try there.save()
    let error = #expect(throws: PerdureError.self) { try here.save() }
    let found = try #require(error?.conflicts.first?.properties)
    #expect(found.map(\.property) == ["salary"])
    #expect(found.first?.base == .integer(1000) && found.first?.local == .integer(1))
    #expect(found.first?.store == .integer(2))
    here.mergePolicy = .mergeByPropertyStoreTrump
    try here.save()
    #expect(mine.salary == 2 && mine.email == "late" && mine.name == "theirs")
  }

  @Test("Equal changes of a number conflict by default, and a sum rule adds both changes")
  func counts() throws {
    let (here, there, mine, theirs) = try scene()
    mine.salary += 1
    theirs.salary += 1
    try there.save()
    #expect(throws: PerdureError.self) { try here.save() }
    #expect(mine.salary == 1001)
    here.mergePolicy = .error.merging("salary", of: "Employee", by: .sum)
    try here.save()
    #expect(mine.salary == 1002)
    there.refreshAllObjects()
    #expect(theirs.salary == 1002)
  }

  @Test(
    "Rules of properties precede rules of entities, and the nearest entity's rule applies")
  func inheritance() throws {
    for (policy, name, salary) in [
      (MergePolicy.error.merging("Party", by: .mergeByPropertyStoreTrump), "theirs", 2),
      (
        .error.merging("Party", by: .mergeByPropertyStoreTrump).merging(
          "Employee", by: .mergeByPropertyObjectTrump), "mine", 1
      ),
      (.mergeByPropertyObjectTrump.merging("name", of: "Party", by: .store), "theirs", 1),
      (
        .mergeByPropertyStoreTrump.merging("name", of: "Party", by: .custom { $0.base })
          .merging("salary", of: "Employee", by: .maximum), "W", 2
      ),
      (.mergeByPropertyStoreTrump.merging("salary", of: "Employee", by: .minimum), "theirs", 1),
    ] {
      let (here, there, mine, theirs) = try scene(policy)
      (mine.name, mine.salary) = ("mine", 1)
      (theirs.name, theirs.salary) = ("theirs", 2)
      try there.save()
      try here.save()
      #expect(mine.name == name && mine.salary == salary)
    }
  }

  @Test("If a rule has no valid result, the conflict remains")
  func noAnswer() throws {
    for answer in [nil, .string("much"), .integer(1)] as [Value?] {
      let (here, there, mine, theirs) = try scene(
        .overwrite.merging("salary", of: "Employee", by: .custom { _ in answer }))
      mine.salary = 1
      theirs.salary = 2
      try there.save()
      if answer == .integer(1) {
        try here.save()
      } else {
        let error = #expect(throws: PerdureError.self) { try here.save() }
        #expect(error?.conflicts.first?.properties.map(\.property) == ["salary"])
      }
      #expect(mine.salary == 1)
    }
  }

  @Test("A rule for a to-one relationship takes and returns ids")
  func toOneRule() throws {
    let (here, there, mine, theirs) = try scene(
      .error.merging(
        "company", of: "Employee", by: .custom { [$0.local, $0.store].min { "\($0)" < "\($1)" } }))
    let (first, second) = (there.company("first"), there.company("second"))
    try there.save()
    here.refreshAllObjects()
    mine.company = try here.same(second)
    theirs.company = first
    try there.save()
    try here.save()
    #expect(mine.company?.name == "first" && mine.company?.workers.count == 1)
    #expect(try here.same(second).workers.isEmpty)
  }

  @Test(
    "For a many-to-many relationship, union keeps removed members; other rules choose a set or refuse"
  )
  func sets() throws {
    for (rule, expected) in [
      (PropertyMergeRule.union, ["kept", "mine", "removed", "theirs"]),
      (.store, ["kept", "removed", "theirs"]),
      (.object, ["kept", "mine"]), (.error, nil),
    ] as [(PropertyMergeRule, [String]?)] {
      let (here, there, mine, theirs) = try scene(.error.merging("bookmarks", of: "Employee", by: rule))
      let projects = ["kept", "removed", "mine", "theirs"].map { title in
        let project = Project(context: there)
        project.title = title
        return project
      }
      theirs.bookmarks.insert(contentsOf: projects[0...1])
      try there.save()
      here.refreshAllObjects()
      mine.bookmarks.remove(try here.same(projects[1]))
      mine.bookmarks.insert(try here.same(projects[2]))
      theirs.bookmarks.insert(projects[3])
      try there.save()
      if let expected {
        try here.save()
        #expect(mine.bookmarks.map(\.title).sorted() == expected)
        there.refreshAllObjects()
        #expect(theirs.bookmarks.map(\.title).sorted() == expected)
      } else {
        let error = #expect(throws: PerdureError.self) { try here.save() }
        #expect(error?.conflicts.map(\.kind) == [.linksChanged])
        #expect(mine.bookmarks.map(\.title).sorted() == ["kept", "mine"])
      }
    }
  }

  @Test(
    "An object with detectConflicts conflicts under the error policy, but not under object trump"
  )
  func watched() throws {
    let (here, there, mine, theirs) = try scene()
    let other = here.worker("other")
    here.detectConflicts(for: mine)
    theirs.salary = 2
    try there.save()
    for _ in 0..<2 {
      let error = #expect(throws: PerdureError.self) { try here.save() }
      #expect(error?.conflicts.map(\.objectID) == [mine.objectID] && other.isInserted)
    }
    here.mergePolicy = .mergeByPropertyObjectTrump
    try here.save()
    #expect(!here.hasChanges && mine.salary == 2)
  }

  @Test(
    "A policy that discards a deletion also discards the effects of its delete rules")
  func givenUpDeletion() throws {
    let container = try Staff.container()
    let there = container.newContext()
    let company = there.company("C")
    let worker = there.worker("W")
    worker.company = company
    let department = Department(context: there)
    department.company = company
    let child = Department(context: there)
    child.parent = department
    let alone = Department(context: there)
    alone.company = company
    try there.save()
    let here = container.newContext()
    here.mergePolicy = .mergeByPropertyStoreTrump
    let mine = try here.same(company)
    here.delete(try here.same(alone))
    here.delete(mine)
    here.processPendingChanges()
    #expect(here.deletedObjects.count == 4)
    company.name = "renamed"
    try there.save()
    try here.save()
    let seen = container.newContext()
    #expect(try seen.same(company).name == "renamed" && seen.same(company).workers.map(\.name) == ["W"])
    #expect(try seen.same(company).departments.count == 1 && seen.same(department).children.count == 1)
    #expect((try? seen.existingObject(with: alone.objectID)) == nil)
    try expectWhole(container)
  }

  @Test("An object that is inserted again keeps its id, its instance and its unchanged columns")
  func insertedAgain() throws {
    let (here, there, mine, theirs) = try scene(.mergeByPropertyObjectTrump)
    let (mentor, lost) = (there.worker("mentor"), there.company("lost"))
    (theirs.mentor, theirs.company) = (mentor, lost)
    try there.save()
    here.refreshAllObjects()
    let id = mine.objectID
    mine.salary = 5
    there.delete(theirs)
    there.delete(lost)
    try there.save()
    try here.save()
    #expect(mine.objectID == id && !mine.isDeleted && !mine.objectID.isTemporaryID && !here.hasChanges)
    #expect(mine.salary == 5 && mine.email == "w" && mine.mentor?.name == "mentor" && mine.company == nil)
    there.refreshAllObjects()
    let again = try #require(try there.existingObject(with: id) as? Employee)
    #expect(again.salary == 5 && again.name == "W")
    mine.salary = 6
    try here.save()
  }

  #if os(Linux) || os(macOS)
    @Test(
      "A policy with unknown names or a rule of the wrong type stops the program"
    )
    func misuse() async {
      func expect(_ words: String, _ result: ExitTest.Result?) {
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains(words))
      }
      expect(
        "has no entity",
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          try Staff.context().mergePolicy = .error.merging("Nobody", by: .overwrite)
        })
      expect(
        "has no property",
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          try Staff.context().mergePolicy = .error.merging("pay", of: "Employee", by: .sum)
        })
      expect(
        "is not a number",
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          try Staff.context().mergePolicy = .error.merging("name", of: "Party", by: .sum)
        })
      expect(
        "set the rule of its inverse",
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          try Staff.context().mergePolicy = .error.merging("workers", of: "Company", by: .union)
        })
    }
  #endif
}
