import Perdure
import Testing

// `changedValuesForCurrentEvent`, and the end of an event.

@Suite("Changes in the current event")
struct EventChangeTests {
  private func names(_ object: ManagedObject) -> [String] {
    object.changedValuesForCurrentEvent().keys.sorted()
  }

  @Test("X2 An event has the changes since the last processing of changes, with earlier values")
  func attributes() throws {
    try Clubhouse.visit { _, context, _ in
      let member = context.member("m")
      try context.save()
      #expect(names(member).isEmpty)
      member.age = 5
      member.age = 6
      #expect(names(member) == ["age"] && member.changedValuesForCurrentEvent()["age"] as? Int == 0)
      context.processPendingChanges()
      #expect(names(member).isEmpty && member.changedValues().count == 1)
      member.age = 7
      member.name = "n"
      #expect(names(member) == ["age", "name"])
      #expect(member.changedValuesForCurrentEvent()["age"] as? Int == 6)
      #expect(member.changedValuesForCurrentEvent()["name"] as? String == "m")
      (member.age, member.name) = (6, "m")
      #expect(names(member).isEmpty)
      try context.save()
      #expect(names(member).isEmpty)
    }
  }

  @Test("X2 The event of a changed relationship has the earlier objects of both ends")
  func relationships() throws {
    try Clubhouse.visit { _, context, _ in
      let (old, new, member) = (Club(context: context), Club(context: context), context.member("m"))
      member.club = old
      try context.save()
      member.club = new
      #expect(member.changedValuesForCurrentEvent()["club"] as? Club === old)
      #expect(old.changedValuesForCurrentEvent()["members"] as? Set<ManagedObject> == [member])
      #expect(new.changedValuesForCurrentEvent()["members"] as? Set<ManagedObject> == [])
      context.processPendingChanges()
      #expect(names(member).isEmpty && names(old).isEmpty && names(new).isEmpty)
      let other = context.member("o", in: new)
      #expect(names(member).isEmpty && names(old).isEmpty)
      #expect(new.changedValuesForCurrentEvent()["members"] as? Set<ManagedObject> == [member])
      member.club = nil
      #expect(member.changedValuesForCurrentEvent()["club"] as? Club === new)
      other.club = nil
      #expect(new.changedValuesForCurrentEvent()["members"] as? Set<ManagedObject> == [member])
      member.club = new
      #expect(names(member).isEmpty && names(new).isEmpty)
    }
  }

  @Test("X2 The event of a new object has the changed properties with their earlier values, until a rollback")
  func inserted() throws {
    try Clubhouse.visit { _, context, _ in
      let member = context.member("m")
      #expect(member.changedValuesForCurrentEvent()["name"] as? String == "" && names(member) == ["name"])
      context.processPendingChanges()
      #expect(names(member).isEmpty)
      member.age = 3
      #expect(member.changedValuesForCurrentEvent()["age"] as? Int == 0)
      try context.save()
      member.age = 4
      context.rollback()
      #expect(names(member).isEmpty && member.age == 3)
    }
  }

  @Test("X10 A save begins a new event before willSave, and perform ends an event")
  func ends() async throws {
    try Clubhouse.visit { container, context, diary in
      let member = context.member("m")
      var seen: [[String]] = []
      diary.on("m.willSave") { member in
        seen.append(member.changedValuesForCurrentEvent().keys.sorted())
        member.age = 9
        seen.append(member.changedValuesForCurrentEvent().keys.sorted())
      }
      try context.save()
      #expect(seen == [[], ["age"]] && member.age == 9)
    }
    let background = try Clubhouse.container().newBackgroundContext()
    try await background.perform { context in
      let club = Club(context: context)
      club.name = "c"
      #expect(club.changedValuesForCurrentEvent().count == 1)
    }
    try await background.perform { context in
      let clubs = context.insertedObjects
      #expect(clubs.count == 1 && clubs.allSatisfy { $0.changedValuesForCurrentEvent().isEmpty })
    }
  }
}
