import Perdure
import Testing

// The hooks of a save and their order, and validation methods: behaviours X8, X9, X10 and V1 to V6
// of Core Data (README.md).

@Suite("Hooks of a save")
struct SaveHooksTests {
  @Test("X9 A save calls all willSave hooks, then all validation, and all didSave hooks after the commit")
  func order() throws {
    try Clubhouse.visit { _, context, diary in
      let (changed, deleted) = (context.member("c"), context.member("d"))
      #expect(diary.read().count == 2)
      try context.save()
      #expect(
        diary.read() == [
          "c.willSave", "d.willSave", "c.validateForInsert", "d.validateForInsert", "c.didSave inserted",
          "d.didSave inserted",
        ])
      changed.age = 1
      context.delete(deleted)
      _ = diary.read()
      diary.on("d.didSave") { member in
        #expect(member.isDeleted && member.managedObjectContext === context && member.name == "d")
        #expect(!context.hasChanges)
      }
      try context.save()
      #expect(
        diary.read() == [
          "c.willSave", "d.willSave deleted", "c.validateForUpdate", "d.validateForDelete", "c.didSave",
          "d.didSave deleted",
        ])
      #expect(!changed.isUpdated && !deleted.isDeleted && deleted.managedObjectContext == nil)
      try context.save()
      #expect(diary.read() == [])
    }
  }

  @Test("X8 A save calls no hooks of a new object that was deleted, even by a cascade")
  func insertedAndDeleted() throws {
    try Clubhouse.visit { _, context, diary in
      let club = Club(context: context)
      let (gone, taken) = (context.member("gone"), context.member("taken", in: club))
      context.delete(gone)
      context.delete(club)
      try context.save()
      #expect(
        diary.read() == [
          "?.awakeFromInsert", "?.awakeFromInsert", "gone.prepareForDeletion", "taken.prepareForDeletion",
        ])
      #expect(taken.managedObjectContext == nil)
    }
  }

  @Test("X9 Changes by willSave are saved, and willSave is called again for changed objects")
  func mutatingWillSave() throws {
    try Clubhouse.visit { container, context, diary in
      let (one, two) = (context.member("1"), context.member("2"))
      diary.on("1.willSave") { _ in two.age = 1 }
      diary.on("2.willSave") { _ in one.age = 1 }
      try context.save()
      #expect(
        diary.read().filter { $0.hasSuffix("willSave") } == ["1.willSave", "2.willSave", "1.willSave"],
        "The second object gets its call after the first object's change.")
      let other = container.newContext()
      #expect(try other.same(one).age == 1 && other.same(two).age == 1)
    }
  }

  @Test("X9 A primitive value that willSave sets is saved, and does not cause a second call of willSave")
  func primitiveInWillSave() throws {
    try Clubhouse.visit { container, context, diary in
      let member = context.member("m")
      diary.on("m.willSave", 5) { $0.setPrimitiveValue($0.age + 1, forKey: "age") }
      try context.save()
      #expect(diary.read().filter { $0 == "m.willSave" }.count == 1)
      #expect(try container.newContext().same(member).age == 1)
    }
  }

  @Test("V6 A willSave that always changes its object causes an error that names the object")
  func endless() throws {
    try Clubhouse.visit { container, context, diary in
      let (calm, restless) = (context.member("calm"), context.member("restless"))
      diary.on("restless.willSave", .max) { $0.age += 1 }
      let error = #expect(throws: PerdureError.self) { try context.save() }
      #expect(error?.code == .endlessChanges && error?.objectIDs == [restless.objectID])
      #expect(error?.message.contains(restless.objectID.uri) == true)
      #expect(restless.age == 1000 && context.insertedObjects == [calm, restless])
      #expect(try container.newContext().count(for: Member.fetchRequest()) == 0)
      diary.actions = [:]
      try context.save()
      #expect(try container.newContext().count(for: Member.fetchRequest()) == 2)
    }
  }

  @Test("V6 A validation that always changes its object causes an error that names the object")
  func endlessValidation() throws {
    try Clubhouse.visit { _, context, diary in
      let member = context.member("m")
      diary.on("m.validateForInsert", .max) { $0.age += 1 }
      let error = #expect(throws: PerdureError.self) { try context.save() }
      #expect(error?.code == .endlessChanges && error?.objectIDs == [member.objectID])
    }
  }

  @Test("V6 After a change by validation, willSave and all validation are repeated")
  func mutatingValidation() throws {
    try Clubhouse.visit { container, context, diary in
      let (one, two) = (context.member("1"), context.member("2"))
      _ = diary.read()
      diary.on("1.validateForInsert") { _ in two.age = 4 }
      try context.save()
      #expect(
        diary.read() == [
          "1.willSave", "2.willSave", "1.validateForInsert", "2.validateForInsert", "2.willSave",
          "1.validateForInsert", "2.validateForInsert", "1.didSave inserted", "2.didSave inserted",
        ])
      #expect(try container.newContext().same(two).age == 4 && one.age == 0)
    }
  }

  struct Refusal: Error {}

  @Test("V3 One error contains all refusals of classes and declared rules, and nothing is saved")
  func refusals() throws {
    try Clubhouse.visit { container, context, diary in
      let (one, two) = (context.member("1"), context.member("2"))
      diary.on("1.validateForInsert") { _ in throw Refusal() }
      let single = #expect(throws: PerdureError.self) { try context.save() }
      #expect(single?.code == .validation && single?.cause is Refusal)
      #expect(single?.details.first?.cause is Refusal && single?.details.map(\.objectID) == [one.objectID])
      #expect(single?.description.contains("caused by") == true)
      diary.on("1.validateForInsert") { throw PerdureError.invalid($0, "age", "must be even") }
      diary.on("2.validateForInsert") { _ in throw Refusal() }
      two.setValue(nil, forKey: "name")
      let error = #expect(throws: PerdureError.self) { try context.save() }
      #expect(error?.code == .multipleValidationErrors)
      let details = (error?.details ?? []).map { "\($0.code.rawValue) \($0.property) \($0.value)" }
      #expect(Set(details) == ["1570 name NULL", "1550 age 0", "1550  NULL"] && details.count == 3)
      #expect(context.insertedObjects == [one, two] && diary.read().allSatisfy { !$0.contains("didSave") })
      two.name = "2"
      try context.save()
      #expect(try container.newContext().count(for: Member.fetchRequest()) == 2)
    }
  }

  @Test("V1 If a validation calls super, a violated declared rule is reported once")
  func superclassRules() throws {
    try Clubhouse.visit { _, context, _ in
      let child = Child(context: context)
      child.setValue(nil, forKey: "age")
      let error = #expect(throws: PerdureError.self) { try context.save() }
      #expect(error?.code == .missingMandatoryProperty && error?.details.count == 1)
      #expect(throws: PerdureError.self) {
        var value: Any?
        try child.validateValue(&value, forKey: "name")
      }
      let club = Club(context: context)
      club.setValue(nil, forKey: "name")
      let byHand = #expect(throws: PerdureError.self) { try club.validateForInsert() }
      #expect(byHand?.details.map(\.property) == ["name"])
    }
  }

  @Test("V1 validateValue checks and replaces values of validatedKeys, and its error has the value")
  func values() throws {
    try Clubhouse.visit { container, context, diary in
      let child = Child(context: context)
      (child.school, child.age) = ("north", 18)
      let error = #expect(throws: PerdureError.self) { try context.save() }
      #expect(error?.code == .validation && error?.cause as? Child.TooOld == Child.TooOld(age: 18))
      #expect(error?.details.map(\.property) == ["age"] && error?.details.map(\.value) == [.integer(18)])
      child.age = 12
      try context.save()
      #expect(try container.newContext().same(child).school == "NORTH")
    }
  }

  @Test("V2 A deletion that validateForDelete refuses stays pending")
  func refusedDeletion() throws {
    try Clubhouse.visit { container, context, diary in
      let member = context.member("m")
      try context.save()
      context.delete(member)
      diary.on("m.validateForDelete") { throw PerdureError.invalid($0, "age", "must be past") }
      let error = #expect(throws: PerdureError.self) { try context.save() }
      #expect(error?.code == .validation && context.deletedObjects == [member])
      try context.save()
      #expect(try container.newContext().count(for: Member.fetchRequest()) == 0)
    }
  }

  @Test("X9 Hooks may insert, delete and refresh objects, and the save writes the final state")
  func insertingAndDeleting() throws {
    try Clubhouse.visit { container, context, diary in
      let (one, two, old) = (context.member("1"), context.member("2"), context.member("old"))
      diary.on("1.willSave") { _ in
        context.delete(two)
        context.member("3").age = 3
      }
      diary.on("3.validateForInsert") { _ in context.member("4").age = 4 }
      diary.on("4.validateForInsert") { _ in context.delete(old) }
      try context.save()
      let names = try container.newContext().fetch(Member.fetchRequest()).map(\.name)
      #expect(names.sorted() == ["1", "3", "4"] && one.name == "1" && two.managedObjectContext == nil)
      #expect(!diary.read().contains("2.willSave"))
      one.age = 9
      diary.on("1.willSave") { context.refresh($0, mergeChanges: false) }
      try context.save()
      #expect(try container.newContext().same(one).age == 0)
    }
  }

  @Test("X9 Hooks may roll back and reset, and then the save writes nothing")
  func throwingAway() throws {
    try Clubhouse.visit { container, context, diary in
      for hook in ["willSave", "validateForInsert"] {
        _ = context.member("1")
        diary.on("1.\(hook)") { _ in context.rollback() }
        try context.save()
        _ = context.member("2")
        diary.on("2.\(hook)") { _ in context.reset() }
        try context.save()
        #expect(!context.hasChanges)
      }
      #expect(try container.newContext().count(for: Member.fetchRequest()) == 0)
      let three = context.member("3")
      diary.on("3.didSave") { _ in context.reset() }
      try context.save()
      #expect(three.managedObjectContext == nil)
      #expect(try container.newContext().count(for: Member.fetchRequest()) == 1)
    }
  }

  @Test("X9 Changes by didSave are pending after the save")
  func mutatingDidSave() throws {
    try Clubhouse.visit { container, context, diary in
      let (one, two) = (context.member("1"), context.member("2"))
      diary.on("1.didSave") { member in
        (member.age, two.age) = (5, 6)
        #expect(member.isInserted)
      }
      try context.save()
      #expect(context.updatedObjects == [one, two] && one.isUpdated && !one.isInserted)
      #expect(try container.newContext().same(one).age == 0)
      try context.save()
      #expect(try container.newContext().same(two).age == 6)
      #expect(!context.hasChanges)
    }
  }

  @Test("X9 A save also calls the hooks of objects that were never requested")
  func withoutInstances() throws {
    try Clubhouse.visit { container, context, diary in
      let club = Club(context: context)
      for name in ["a", "b"] { _ = context.member(name, in: club) }
      try context.save()
      let other = container.newContext()
      let copy = try other.same(club)
      _ = diary.read()
      other.delete(copy)
      diary.on("?.validateForDelete", 2) { #expect(["a", "b"].contains($0.name)) }
      try other.save()
      let lines = diary.read()
      #expect(lines.filter { $0.hasSuffix("prepareForDeletion") }.count == 2)
      #expect(lines.filter { $0.hasSuffix("willSave deleted") }.count == 2)
      #expect(lines.filter { $0.hasSuffix("didSave deleted") }.count == 2)
      #expect(other.registeredObjects.isEmpty)
    }
  }

  @Test("X9 If a save has a conflict, didSave is not called, and the save can be repeated")
  func conflict() throws {
    try Clubhouse.visit { container, context, diary in
      let member = context.member("m")
      try context.save()
      let other = container.newContext()
      try other.same(member).age = 2
      try other.same(member).name = "theirs"
      try other.save()
      member.name = "mine"
      _ = diary.read()
      let error = #expect(throws: PerdureError.self) { try context.save() }
      #expect(error?.code == .mergeConflict)
      #expect(diary.read() == ["m.willSave", "m.validateForUpdate"])
      context.refresh(member, mergeChanges: true)
      try context.save()
      #expect(diary.read() == ["m.awake(32)", "m.willSave", "m.validateForUpdate", "m.didSave"])
      #expect(member.age == 2 && member.name == "mine")
    }
  }

  #if os(Linux) || os(macOS)
    @Test("A save inside a hook of a save stops the program with a message")
    func savingInside() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        try Clubhouse.visit { _, context, diary in
          _ = context.member("m")
          diary.on("m.willSave") { _ in try context.save() }
          try context.save()
        }
      }
      let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
      #expect(message.contains("save() was called by a hook of a save"))
    }
  #endif
}
