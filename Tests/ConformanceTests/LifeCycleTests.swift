import Perdure
import Testing

// The order of hooks outside of saves: behaviours X5, X6, X7, X8 and X12 of Core Data (README.md).

@Suite("Life-cycle hooks of objects")
struct LifeCycleTests {
  @Test("X5 An insertion awakes the object once, with its defaults, and calls no other hook")
  func insertion() throws {
    try Clubhouse.visit { _, context, diary in
      diary.on("?.awakeFromInsert") { member in
        #expect(member.name == "" && member.age == 0 && member.isInserted)
        member.name = "set while awaking"
      }
      let member = Member(context: context)
      #expect(diary.read() == ["?.awakeFromInsert"])
      #expect(member.name == "set while awaking" && context.insertedObjects == [member])
    }
  }

  @Test("X6 A fault awakes once, at its first read, even if its row was read before")
  func fetch() throws {
    try Clubhouse.visit { container, context, diary in
      for name in ["a", "b"] { _ = context.member(name) }
      try context.save()
      let other = container.newContext()
      _ = diary.read()
      let members = try other.fetch(Member.fetchRequest()).sorted { $0.objectID.uri < $1.objectID.uri }
      #expect(members.count == 2 && diary.read() == [])
      #expect(members[0].name == "a" && members[0].age == 0)
      #expect(diary.read() == ["a.awakeFromFetch"])
      members[1].age = 7
      #expect(diary.read() == ["b.awakeFromFetch"])
      #expect(members[1].name == "b" && other.updatedObjects == [members[1]])
      #expect(diary.read() == [])
    }
  }

  @Test("X6 Objects whose rows are read together awake separately, each at its first read")
  func siblings() throws {
    try Clubhouse.visit { container, context, diary in
      let club = Club(context: context)
      for number in 0..<5 { _ = context.member("\(number)", in: club) }
      try context.save()
      let other = container.newContext()
      _ = diary.read()
      let members = Array(try other.same(club).members).sorted { $0.objectID.uri < $1.objectID.uri }
      #expect(diary.read() == [])
      #expect(members.map(\.name) == ["0", "1", "2", "3", "4"])
      #expect(diary.read() == (0..<5).map { "\($0).awakeFromFetch" })
      #expect(other.statistics.rowRequestCount <= 2)
    }
  }

  /// The saved object in another context, where `awakeFromFetch` sets its age to 40.
  private func awakenWithAge40(
    _ member: Member, in other: ManagedObjectContext, _ diary: Diary
  ) throws -> Member {
    try member.managedObjectContext?.save()
    other.refreshAllObjects()
    diary.on("m.awakeFromFetch") { $0.age = 40 }
    return try other.same(member)
  }

  @Test("X6 A value set by awakeFromFetch is not a change, and is saved with the next change")
  func untrackedWhileAwaking() throws {
    try Clubhouse.visit { container, context, diary in
      let (member, other) = (context.member("m"), container.newContext())
      let copy = try awakenWithAge40(member, in: other, diary)
      #expect(copy.age == 40 && !copy.hasChanges && !other.hasChanges)
      #expect(try other.count(for: Member.fetchRequest { $0.age == 40 }) == 0)
      copy.name = "n"
      #expect(try other.count(for: Member.fetchRequest { $0.age == 40 }) == 1)
      try other.save()
      context.refresh(member, mergeChanges: false)
      #expect(member.age == 40 && member.name == "n")
    }
  }

  @Test("X6 Replacing a value of awakeFromFetch by the stored value does not overwrite a later save")
  func storedValueWhileAwaking() throws {
    try Clubhouse.visit { container, context, diary in
      let (member, other) = (context.member("m"), container.newContext())
      let copy = try awakenWithAge40(member, in: other, diary)
      #expect(copy.age == 40)
      copy.age = 0
      #expect(copy.age == 0 && copy.hasChanges)
      member.age = 7
      try context.save()
      other.refreshAllObjects()
      copy.name = "n"
      try other.save()
      let saved = try container.newContext().same(member)
      #expect(saved.age == 7 && saved.name == "n")
    }
  }

  @Test("X7 A refresh without merging calls both fault hooks, and the object awakes again")
  func refault() throws {
    try Clubhouse.visit { _, context, diary in
      let member = context.member("m")
      try context.save()
      member.age = 3
      _ = diary.read()
      diary.on("m.willTurnIntoFault") { #expect($0.age == 3 && $0.hasChanges) }
      diary.on("m.didTurnIntoFault") { #expect($0.isFault && !$0.hasChanges) }
      context.refresh(member, mergeChanges: false)
      #expect(diary.read() == ["m.willTurnIntoFault", "m.didTurnIntoFault"])
      context.refresh(member, mergeChanges: false)
      #expect(diary.read() == [], "A fault does not become a fault again.")
      #expect(member.age == 0)
      #expect(diary.read() == ["m.awakeFromFetch"])
    }
  }

  @Test("X12 A merging refresh calls the refresh hook, and refreshAllObjects creates faults")
  func refreshes() throws {
    try Clubhouse.visit { _, context, diary in
      let (changed, clean) = (context.member("changed"), context.member("clean"))
      try context.save()
      changed.age = 3
      _ = diary.read()
      context.refresh(changed, mergeChanges: true)
      #expect(diary.read() == ["changed.awake(32)"] && changed.age == 3)
      context.refreshAllObjects()
      #expect(diary.read() == ["clean.willTurnIntoFault", "clean.didTurnIntoFault", "changed.awake(32)"])
      #expect(clean.isFault && changed.age == 3)
      let new = context.member("new")
      _ = diary.read()
      context.refresh(new, mergeChanges: false)
      context.refresh(new, mergeChanges: true)
      #expect(diary.read() == [] && new.isInserted)
    }
  }

  @Test("X6 Values of another context's save appear at the next read, after the refresh hook")
  func movedOn() throws {
    try Clubhouse.visit { container, context, diary in
      let (member, untouched) = (context.member("m"), context.member("u"))
      try context.save()
      let other = container.newContext()
      try other.same(member).age = 5
      try other.save()
      context.member("other").age = 1
      try context.save()
      _ = diary.read()
      #expect(member.age == 5)
      #expect(diary.read() == ["m.awake(32)"])
      #expect(member.age == 5 && untouched.age == 0)
      #expect(diary.read() == [])
    }
  }

  @Test("X12 A rollback calls the hooks of changed, deleted and new objects")
  func rollback() throws {
    try Clubhouse.visit { _, context, diary in
      let (changed, deleted, clean) = (context.member("c"), context.member("d"), context.member("x"))
      try context.save()
      changed.age = 3
      context.delete(deleted)
      let new = context.member("n")
      _ = diary.read()
      diary.on("n.willTurnIntoFault") { #expect($0.name == "n" && $0.isInserted) }
      diary.on("c.awake") { #expect($0.age == 0 && !$0.hasChanges) }
      context.rollback()
      #expect(
        diary.read() == ["n.willTurnIntoFault", "n.didTurnIntoFault", "c.awake(16)", "d.awake(20)"])
      #expect(new.managedObjectContext == nil && !deleted.isDeleted && clean.age == 0)
      #expect(diary.read() == [])
    }
  }

  @Test("X7 A reset calls the fault hooks of every object with values, but not of freed objects")
  func reset() throws {
    try Clubhouse.visit { container, context, diary in
      let member = context.member("m")
      try context.save()
      let other = container.newContext()
      _ = diary.read()
      do { _ = try other.same(member).name }
      #expect(other.registeredObjects.isEmpty)
      #expect(diary.read() == ["m.awakeFromFetch"])
      let fault = other.object(with: member.objectID)
      other.reset()
      #expect(diary.read() == [] && fault.managedObjectContext == nil)
      context.reset()
      #expect(diary.read() == ["m.willTurnIntoFault", "m.didTurnIntoFault"])
      #expect(member.name == "m")
    }
  }

  @Test("X8 delete calls prepareForDeletion before it marks the object; a cascade calls it for its objects")
  func deletion() throws {
    try Clubhouse.visit { container, context, diary in
      let club = Club(context: context)
      for name in ["a", "b"] { _ = context.member(name, in: club) }
      try context.save()
      let other = container.newContext()
      let copy = try other.same(club)
      _ = diary.read()
      other.delete(copy)
      #expect(diary.read() == [])
      other.processPendingChanges()
      #expect(diary.read() == ["?.prepareForDeletion", "?.prepareForDeletion"])
      #expect(other.deletedObjects.count == 3)
      let member = context.member("m")
      diary.on("m.prepareForDeletion") { #expect(!$0.isDeleted) }
      context.delete(member)
      context.delete(member)
      #expect(diary.read() == ["?.awakeFromInsert", "m.prepareForDeletion"])
    }
  }

  @Test("X8 prepareForDeletion in a cascade may change links, insert objects and roll back")
  func cascadeThatIsDisturbed() throws {
    try Clubhouse.visit { _, context, diary in
      let (club, other) = (Club(context: context), Club(context: context))
      let (leaver, loser) = (context.member("leaver", in: club), context.member("loser", in: club))
      try context.save()
      diary.on("leaver.prepareForDeletion") { $0.club = other }
      diary.on("loser.prepareForDeletion") { member in
        let late = Member(context: context)
        (late.title, late.club) = ("late", club)
        context.processPendingChanges()
        member.age = 9
      }
      context.delete(club)
      try context.save()
      #expect(diary.read().filter { $0.hasPrefix("late") } == ["late.prepareForDeletion"])
      #expect(leaver.club === other && loser.managedObjectContext == nil)
      #expect(try context.fetch(Member.fetchRequest()) == [leaver])
      diary.on("leaver.prepareForDeletion") { _ in context.rollback() }
      context.delete(other)
      context.processPendingChanges()
      #expect(!context.hasChanges && leaver.club === other)
    }
  }

  @Test("X8 A cascade creates no instance of an object whose class has no hook")
  func noInstances() throws {
    try Clubhouse.visit { container, context, _ in
      let club = Club(context: context)
      Locker(context: context).club = club
      try context.save()
      let other = container.newContext()
      let copy = try other.same(club)
      other.delete(copy)
      other.processPendingChanges()
      #expect(other.registeredObjects == [copy])
      try other.save()
      #expect(try container.newContext().count(for: Locker.fetchRequest()) == 0)
    }
  }

  @Test("A class with @Entity declares its own hooks, and a class without @Entity declares all hooks")
  func declared() {
    class Plain: ManagedObject {}
    class Grown: Member {}
    #expect(ManagedObject._lifeCycle == [] && Club._lifeCycle == [])
    #expect(Plain._lifeCycle == .all && Grown._lifeCycle == .all)
    // `Member` declares all hooks except `validateValue`.
    let listed = Member._lifeCycle.union([.validateValue])
    #expect(!Member._lifeCycle.contains(.validateValue) && listed.rawValue == (1 << 12) - 1)
    #expect(Listener._lifeCycle == [.willSave] && Silent._lifeCycle == [.willSave])
  }
}

@Entity
class Listener: ManagedObject {
  var x: Int = 0
  override func willSave() {}
}

@Entity
final class Silent: Listener {
  var y: Int = 0
}
