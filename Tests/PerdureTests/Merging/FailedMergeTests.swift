import Perdure
import PerdureModel
import PerdureTestSupport
import Testing

@Suite("Merging: saves that fail although their conflicts can be merged")
struct FailedMergeTests {
  /// A span of time whose validation compares two properties.
  final class Span: ManagedObject {
    override class var entityDescription: EntityDescription {
      EntityDescription(
        "Span",
        properties: [
          .int64("first", optional: false, default: 0), .int64("last", optional: false, default: 10),
          .string("note"),
        ])
    }
    var first: Int64 {
      get { _get(0) }
      set { _set(0, newValue) }
    }
    var last: Int64 {
      get { _get(1) }
      set { _set(1, newValue) }
    }
    var note: String? {
      get { _get(2) }
      set { _set(2, newValue) }
    }
    var willSaveHook: (() -> Void)?

    override func willSave() { willSaveHook?() }
    override func validateForUpdate() throws {
      if last < first { throw PerdureError.invalid(self, "last", "must not be before the first") }
    }
  }

  private func spans() throws -> (
    here: ManagedObjectContext, there: ManagedObjectContext, mine: Span, theirs: Span
  ) {
    let container = PersistentContainer(
      name: "Spans", model: try ManagedObjectModel([Span.entityDescription]), classes: [Span.self],
      description: .inMemory, factory: StoreKind.current.factory)
    try container.loadPersistentStores()
    let there = container.newContext()
    let theirs = Span(context: there)
    try there.save()
    let here = container.newContext()
    return (here, there, try here.same(theirs), theirs)
  }

  @Test("If the merged changes together violate a rule, the save fails and changes nothing")
  func brokenTogether() throws {
    let (here, there, mine, theirs) = try spans()
    mine.first = 8
    theirs.last = 5
    theirs.note = "short"
    try there.save()
    let error = #expect(throws: PerdureError.self) { try here.save() }
    #expect(error?.code == .mergeConflict && error?.conflicts.map(\.objectID) == [mine.objectID])
    #expect(error?.details.map(\.property) == ["last"])
    #expect(error?.message.contains("must not be before the first") == true)
    #expect(mine.first == 8 && mine.last == 10 && mine.note == nil && here.hasChanges)
    mine.first = 4
    try here.save()
    #expect(mine.first == 4 && mine.last == 5 && mine.note == "short")
  }

  @Test(
    "If another context saves first at each attempt, the save throws after some attempts and changes nothing")
  func alwaysFaster() throws {
    let (here, there, mine, rival) = try spans()
    mine.first = 1
    var count = 0
    mine.willSaveHook = {
      count += 1
      rival.note = "\(count)"
      try? there.save()
    }
    let error = #expect(throws: PerdureError.self) { try here.save() }
    #expect(error?.code == .mergeConflict && count > 10 && count < 100)
    #expect(mine.first == 1 && mine.note == nil)
    mine.willSaveHook = nil
    try here.save()
    #expect(mine.note == "\(count)" && mine.first == 1)
  }

  @Test("Changes dropped by a policy are pending again if the save fails for another reason")
  func droppedAndBack() throws {
    let container = try Staff.container()
    let there = container.newContext()
    let theirs = (0..<3).map { there.worker("\($0)", email: "\($0)") }
    let company = there.company("C")
    company.workers.insert(contentsOf: theirs)
    try there.save()
    let here = container.newContext()
    here.mergePolicy = .rollback
    let mine = try theirs.map { try here.same($0) }
    mine[0].salary = 1
    here.delete(mine[1])
    mine[2].salary = 3
    mine[2].friends.insert(mine[0])
    let contract = Contract(context: here)
    theirs[0].salary = 10
    theirs[1].salary = 10
    there.delete(theirs[2])
    try there.save()
    here.processPendingChanges()
    let before = here.updatedObjects
    for _ in 0..<2 {
      let error = #expect(throws: PerdureError.self) { try here.save() }
      #expect(error?.code == .missingMandatoryProperty)
      #expect(here.updatedObjects == before && here.deletedObjects == [mine[1]])
      #expect(here.insertedObjects == [contract])
      #expect(mine[0].salary == 1 && mine[2].salary == 3 && mine[2].friends.contains(mine[0]))
    }
    contract.company = try here.same(company)
    try here.save()
    #expect(mine[0].salary == 10 && !mine[1].isDeleted && mine[1].salary == 10 && mine[2].isDeleted)
    #expect(mine[0].friends.isEmpty && !here.hasChanges)
    try expectWhole(container)
  }

  @Test("If a merge is refused in its second round, the state before the first round is restored")
  func secondRound() throws {
    let container = try Staff.container()
    let there = container.newContext()
    let (theirs, company) = (there.worker("W", email: "w"), there.company("C"))
    try there.save()
    let here = container.newContext()
    here.mergePolicy = .mergeByPropertyStoreTrump.merging("name", of: "Party", by: .error)
    let mine = try here.same(theirs)
    mine.salary = 1
    // The uniqueness conflict is found only after the conflicts of rows are resolved.
    let new = here.worker("mine", email: "x")
    new.company = try here.same(company)
    _ = there.worker("theirs", email: "x")
    theirs.salary = 2
    try there.save()
    let error = #expect(throws: PerdureError.self) { try here.save() }
    #expect(error?.code == .constraintConflict)
    #expect(mine.salary == 1 && new.isInserted && new.email == "x" && new.company?.name == "C")
    #expect(try here.same(company).workers.count == 1)
    try expectAgreement(here, container.managedObjectModel)
    new.email = "y"
    try here.save()
    #expect(mine.salary == 2 && new.company?.name == "C")
    try expectWhole(container)
  }
}
