import Perdure
import Testing

// Behaviours C1, X16 and X17 of Core Data (README.md): contexts that are pinned to a state,
// contexts that merge saves of other contexts, and `detectConflicts(for:)`.

@Entity private final class Account: ManagedObject {
  var owner: String?
  var cents: Int = 0
}

@Suite("Query generations and merging")
struct QueryGenerationTests {
  private let container: PersistentContainer
  private let writer: ManagedObjectContext
  private let account: Account

  init() throws {
    container = try Sandbox(Account.self).container
    writer = container.newContext()
    account = Account(context: writer)
    account.owner = "a"
    try writer.save()
  }

  private func write(_ cents: Int) throws {
    account.cents = cents
    try writer.save()
  }

  private func cents(_ context: ManagedObjectContext) throws -> Int64 {
    Int64(try #require(try context.existingObject(with: account.objectID).value(forKey: "cents") as? Int))
  }

  @Test("X17 A pinned context stays at its state while another context writes")
  func pinned() throws {
    let context = container.newContext()
    #expect(context.queryGenerationToken == nil)
    try context.setQueryGeneration(from: .current)
    try write(1)
    context.refreshAllObjects()
    context.rollback()
    #expect(try cents(context) == 0 && context.count(for: FetchRequest<Account>()) == 1)
    _ = Account(context: writer)
    try write(2)
    #expect(try context.count(for: FetchRequest<Account>()) == 1)
    try context.setQueryGeneration(from: .current)
    #expect(try cents(context) == 2 && context.count(for: FetchRequest<Account>()) == 2)
    try write(3)
    try context.setQueryGeneration(from: nil)
    #expect(try cents(context) == 2)
    context.refreshAllObjects()
    #expect(try cents(context) == 3)
  }

  @Test("X17 Two contexts with the same token see the same state, even after newer saves")
  func token() throws {
    let (first, second) = (container.newContext(), container.newContext())
    try first.setQueryGeneration(from: .current)
    let token = try #require(first.queryGenerationToken)
    try write(5)
    #expect(try cents(second) == 0)
    second.refreshAllObjects()
    #expect(try cents(second) == 5)
    try second.setQueryGeneration(from: token)
    #expect(try cents(second) == 0 && second.queryGenerationToken == token)
    try second.setQueryGeneration(from: .current)
    #expect(try cents(second) == 5 && second.queryGenerationToken != token)
  }

  @Test("X17 A save and a reset advance a pinned context")
  func saving() throws {
    let context = container.newContext()
    try context.setQueryGeneration(from: .current)
    try write(7)
    _ = Account(context: context)
    try context.save()
    #expect(try cents(context) == 7 && context.queryGenerationToken != nil)
    try write(8)
    #expect(try cents(context) == 7)
    context.reset()
    #expect(try cents(context) == 8 && context.queryGenerationToken != nil)
  }

  @Test("X17 A token of another store is rejected, and so is an older token if there are unsaved changes")
  func refused() throws {
    let stranger = try Sandbox(Account.self).container.newContext()
    try stranger.setQueryGeneration(from: .current)
    let context = container.newContext()
    let foreign = #expect(throws: PerdureError.self) {
      try context.setQueryGeneration(from: stranger.queryGenerationToken)
    }
    #expect(foreign?.code == .storeOperation && context.queryGenerationToken == nil)
    try context.setQueryGeneration(from: .current)
    let token = context.queryGenerationToken
    try write(1)
    try context.setQueryGeneration(from: .current)
    context.object(with: account.objectID).setValue("b", forKey: "owner")
    #expect(throws: PerdureError.self) { try context.setQueryGeneration(from: token) }
    context.rollback()
    try context.setQueryGeneration(from: token)
    #expect(try cents(context) == 0)
  }

  @Test(
    "X16 mergeChanges applies insertions, updates and deletions, and keeps own changes")
  func mergedByHand() async throws {
    let gone = Account(context: writer)
    try writer.save()
    let context = container.newContext()
    let (mine, doomed) = (context.object(with: account.objectID), context.object(with: gone.objectID))
    mine.setValue("mine", forKey: "owner")
    #expect(doomed.value(forKey: "cents") as? Int == 0)
    var saves = writer.events().makeAsyncIterator()
    let new = Account(context: writer)
    writer.delete(gone)
    try write(9)
    var event = await saves.next()
    while event?.kind != .didSave { event = await saves.next() }
    let saved = try #require(event)
    #expect(saved.insertedObjectIDs == [new.objectID] && saved.updatedObjectIDs == [account.objectID])
    #expect(saved.deletedObjectIDs == [gone.objectID])
    #expect(saved.values[account.objectID] == ["cents": .integer(9)])
    context.mergeChanges(fromContextDidSave: saved)
    #expect(mine.value(forKey: "cents") as? Int == 9 && mine.value(forKey: "owner") as? String == "mine")
    #expect(doomed.isDeleted && mine.hasChanges)
    #expect(try context.count(for: FetchRequest<Account>()) == 2)
    try context.save()
  }

  @Test("X16 A context with automatic merging merges at its next fetch")
  func automatic() throws {
    let context = container.newContext()
    context.automaticallyMergesChangesFromParent = true
    let mine = context.object(with: account.objectID)
    mine.setValue("mine", forKey: "owner")
    try write(4)
    #expect(mine.value(forKey: "cents") as? Int == 0)
    #expect(try context.count(for: FetchRequest<Account>()) == 1)
    #expect(mine.value(forKey: "cents") as? Int == 4 && mine.value(forKey: "owner") as? String == "mine")
    try context.save()
    context.automaticallyMergesChangesFromParent = false
    writer.refreshAllObjects()
    try write(6)
    context.processPendingChanges()
    #expect(try cents(context) == 4)
  }

  @Test("X16 A background context with automatic merging merges soon after a save and sends an event")
  func automaticOnQueue() async throws {
    let background = container.newBackgroundContext()
    let id = account.objectID
    try await background.perform { context in
      context.automaticallyMergesChangesFromParent = true
      _ = try context.existingObject(with: id)
    }
    var events = background.events().makeAsyncIterator()
    try write(4)
    let event = try #require(await events.next())
    #expect(event.kind == .didMerge && event.updatedObjectIDs == [id])
    try background.performAndWait { $0.automaticallyMergesChangesFromParent = false }
  }

  @Test("C1 After detectConflicts, a save also checks objects that it does not write")
  func conflicts() throws {
    let context = container.newContext()
    let looked = try context.existingObject(with: account.objectID)
    context.detectConflicts(for: looked)
    _ = Account(context: context)
    try write(1)
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .mergeConflict && error?.conflicts.map(\.objectID) == [account.objectID])
    context.rollback()
    context.detectConflicts(for: looked)
    _ = Account(context: context)
    try context.save()
    try write(2)
    _ = Account(context: context)
    try context.save()
  }
}
