// Merges of unsaved links whose ends another context has changed and deleted.

import Perdure
import PerdureTestSupport
import Testing

@Entity private final class Branch: ManagedObject {
  var name: String = ""
  @Relationship(inverse: "branches") var parent: Branch?
  @Relationship(inverse: "parent") var branches: ToMany<Branch>
}

@Suite("Merges of links to objects that another context has deleted")
struct DeletedLinkTests {
  private let container: PersistentContainer
  private let here: ManagedObjectContext

  init() throws {
    container = try PersistentContainer(name: "Tree", classes: [Branch.self], description: .inMemory)
    try container.loadPersistentStores()
    here = container.newContext()
  }

  private func pair() throws -> (Branch, Branch) {
    let pair = (Branch(context: here), Branch(context: here))
    try here.save()
    return pair
  }

  @Test("`.rollback` drops a link to a deleted object, and shows the values that the other context saved")
  func writtenAndDeleted() throws {
    let (branch, target) = try pair()
    let there = container.newContext()
    here.mergePolicy = .rollback
    branch.parent = target
    (there.object(with: branch.objectID) as? Branch)?.name = "theirs"
    there.delete(there.object(with: target.objectID))
    try there.save()
    try here.save()
    #expect(branch.name == "theirs" && branch.parent == nil)
  }

  @Test("`.mergeByPropertyStoreTrump` drops an object that was deleted together with its new target")
  func bothDeleted() throws {
    let (branch, target) = try pair()
    let there = container.newContext()
    here.mergePolicy = .mergeByPropertyStoreTrump
    branch.parent = target
    there.delete(there.object(with: branch.objectID))
    there.delete(there.object(with: target.objectID))
    try there.save()
    try here.save()
    #expect(try here.count(for: FetchRequest<Branch>()) == 0 && !here.hasChanges)
  }

  @Test(
    "A link of an object that is inserted again is a conflict if its target was deleted too",
    arguments: [MergePolicy.mergeByPropertyObjectTrump, .overwrite])
  func bothDeletedAndInsertedAgain(policy: MergePolicy) throws {
    let (branch, target) = try pair()
    let there = container.newContext()
    here.mergePolicy = policy
    (branch.parent, branch.name) = (target, "mine")
    there.delete(there.object(with: branch.objectID))
    there.delete(there.object(with: target.objectID))
    try there.save()
    let error = #expect(throws: PerdureError.self) { try here.save() }
    #expect(error?.code == .mergeConflict && error?.conflicts.map(\.kind) == [.targetMissing])
    #expect(branch.parent === target && branch.name == "mine")
    branch.parent = nil
    try here.save()
    let saved = try container.newContext().fetch(FetchRequest<Branch>())
    #expect(saved.map(\.objectID) == [branch.objectID] && saved.first?.name == "mine")
  }

  @Test(
    "An edit without effect does not change what the policy does with a link to a deleted object",
    arguments: [
      (MergePolicy.error, dropsLink: false), (.mergeByPropertyObjectTrump, false), (.overwrite, false),
      (.mergeByPropertyStoreTrump, true), (.rollback, true),
    ], [false, true])
  func editWithoutEffect(_ policy: (MergePolicy, dropsLink: Bool), editsTarget: Bool) throws {
    let (branch, target) = try pair()
    let there = container.newContext()
    here.mergePolicy = policy.0
    branch.parent = target
    if editsTarget { target.name = target.name }
    there.delete(there.object(with: target.objectID))
    try there.save()
    do throws(PerdureError) {
      try here.save()
      #expect(policy.dropsLink && branch.parent == nil)
    } catch {
      #expect(error.code == .mergeConflict && error.conflicts.map(\.kind).contains(.targetMissing))
      #expect(!policy.dropsLink)
      here.rollback()
    }
    #expect(!here.hasChanges && target.isDeleted)
  }
}
