import Perdure
import Testing

// Hooks that roll back, refresh or reset the objects of the operation in progress: behaviours X6,
// X7, X8 and X12 of Core Data (README.md).

@Suite("Hooks that interfere with their callers")
struct DisturbedHooksTests {
  @Test("X8 If prepareForDeletion cancels a deletion, one-way references to the object stay")
  func deletionTakenBack() throws {
    try Clubhouse.visit { container, context, diary in
      let (club, sponsor) = (Club(context: context), Sponsor(context: context))
      sponsor.club = club
      let member = context.member("m", in: club)
      try context.save()
      diary.on("m.prepareForDeletion") { _ in context.rollback() }
      context.delete(club)
      context.processPendingChanges()
      #expect(!context.hasChanges && sponsor.club === club)
      diary.on("m.prepareForDeletion") { _ in context.refresh(club, mergeChanges: false) }
      context.delete(club)
      context.processPendingChanges()
      #expect(!club.isDeleted && !sponsor.isUpdated && sponsor.club === club && member.club === club)
      try context.save()
      #expect(try container.newContext().same(sponsor).club?.objectID == club.objectID)
      context.delete(club)
      context.processPendingChanges()
      #expect(sponsor.club == nil && member.isDeleted)
    }
  }

  @Test("X8 A cascade calls prepareForDeletion and the save hooks on one and the same instance")
  func preparedInstance() throws {
    try Clubhouse.visit { container, context, diary in
      let club = Club(context: context)
      _ = context.member("m", in: club)
      try context.save()
      let other = container.newContext()
      let copy = try other.same(club)
      _ = diary.read()
      diary.on("?.prepareForDeletion") { $0.title = "prepared" }
      other.delete(copy)
      try other.save()
      #expect(
        diary.read() == [
          "?.prepareForDeletion", "prepared.willSave deleted", "prepared.validateForDelete",
          "prepared.didSave deleted",
        ])
    }
  }

  @Test("X8 If the class at the other end has no hooks, a cascade reads the other end once")
  func scans() throws {
    let container = try Sandbox(Crate.self, CrateItem.self).container
    let context = container.newContext()
    let crate = Crate(context: context)
    for _ in 0..<3 { CrateItem(context: context).crate = crate }
    try context.save()
    let other = container.newContext()
    other.delete(try other.same(crate))
    other.processPendingChanges()
    #expect(other.statistics.relationshipRequestCount == 1 && other.deletedObjects.count == 4)
  }

  enum Disturbance: CaseIterable {
    case refresh
    case refreshAll
    case rollback
    case reset

    func callAsFunction(_ context: ManagedObjectContext, _ member: Member) {
      switch self {
      case .refresh: context.refresh(member, mergeChanges: false)
      case .refreshAll: context.refreshAllObjects()
      case .rollback: context.rollback()
      case .reset: context.reset()
      }
    }
  }

  @Test(
    "X7 willTurnIntoFault and didTurnIntoFault are called equally often, and at most once",
    arguments: ["willTurnIntoFault", "didTurnIntoFault"], Disturbance.allCases)
  func turning(hook: String, inside: Disturbance) throws {
    for outside in Disturbance.allCases {
      try Clubhouse.visit { _, context, diary in
        let stored = ["a", "b"].map { context.member($0) }
        try context.save()
        let new = context.member("new")
        _ = diary.read()
        for name in ["a", "b", "new"] { diary.on("\(name).\(hook)", 9) { inside(context, $0) } }
        outside(context, stored[0])
        let lines = diary.read()
        for name in ["a", "b", "new"] {
          let count = lines.count { $0 == "\(name).willTurnIntoFault" }
          #expect(count <= 1 && lines.count { $0 == "\(name).didTurnIntoFault" } == count, "\(lines)")
        }
        #expect(lines.contains("a.willTurnIntoFault") || outside == .rollback)
        #expect(lines.contains("new.willTurnIntoFault") || new.isInserted)
        #expect(stored.allSatisfy { $0.name == $0.title || $0.managedObjectContext == nil })
      }
    }
  }

  @Test("X12 A rollback inside a rollback calls the refresh hook of a changed object once")
  func rollbackInRollback() throws {
    try Clubhouse.visit { _, context, diary in
      let changed = context.member("c")
      try context.save()
      changed.age = 1
      _ = context.member("n")
      _ = diary.read()
      diary.on("n.willTurnIntoFault", 9) { _ in context.rollback() }
      context.rollback()
      #expect(diary.read() == ["n.willTurnIntoFault", "c.awake(16)", "n.didTurnIntoFault"])
      #expect(changed.age == 0 && !context.hasChanges)
    }
  }

  @Test("X6 If another context replaced the values, a setter first runs the refresh hook")
  func setting() throws {
    try Clubhouse.visit { container, context, diary in
      let (member, bystander) = (context.member("m"), context.member("x"))
      try context.save()
      let other = container.newContext()
      try other.same(member).age = 5
      try other.save()
      context.refresh(bystander, mergeChanges: false)
      _ = diary.read()
      diary.on("m.awake") { $0.name = "age is \($0.age)" }
      member.name = "mine"
      #expect(diary.read() == ["m.awake(32)"])
      #expect(member.name == "mine" && member.age == 5 && diary.read() == [])
    }
  }

  @Test("X6 The refresh hook for changes by other contexts is also called if this context saves first")
  func savedBeforeTold() throws {
    try Clubhouse.visit { container, context, diary in
      let (member, bystander, club) = (context.member("m"), context.member("x"), Club(context: context))
      try context.save()
      let other = container.newContext()
      try other.same(member).age = 5
      try other.save()
      context.refresh(bystander, mergeChanges: false)
      _ = diary.read()
      club.members.insert(member)
      try context.save()
      #expect(diary.read() == ["m.willSave", "m.validateForUpdate", "m.didSave"])
      #expect(member.age == 5 && diary.read() == ["m.awake(32)"])
      #expect(member.club === club && diary.read() == [])
    }
  }

  @Test("X6 Refresh hooks run after a save, not during it, and their changes stay pending")
  func awakingInSave() throws {
    let container = try Sandbox(Watcher.self).container
    let context = container.newContext()
    let watchers = [Watcher(context: context), Watcher(context: context)]
    try context.save()
    let other = container.newContext()
    try other.same(watchers[1]).count = 1
    try other.save()
    watchers[1].note = "set"
    context.refresh(watchers[0], mergeChanges: true)
    watchers[1].onRefresh = { watchers[0].count = 7 }
    try context.save()
    #expect(!context.hasChanges)
    #expect(watchers[1].count == 1 && context.hasChanges && watchers[0].count == 7)
    try context.save()
    #expect(try container.newContext().same(watchers[0]).count == 7)
    watchers[1].onRefresh = nil
  }
}

@Entity
final class Crate: ManagedObject {
  @Relationship(inverse: "crate", deleteRule: .cascade) var items: ToMany<CrateItem>
}

@Entity
final class CrateItem: ManagedObject {
  @Relationship(inverse: "items") var crate: Crate?
}

@Entity
final class Watcher: ManagedObject {
  var count: Int = 0
  @Attribute(.transient, .length(1...9)) var note: String?
  @Transient var onRefresh: (() -> Void)?
  override func awake(fromSnapshotEvents events: SnapshotEventType) { onRefresh?() }
}
