import Perdure
import Testing

// Primitive values, in rollbacks and in the hooks of a save.

@Suite("Primitive values")
struct PrimitiveValueTests {
  private func change(_ object: ManagedObject, _ key: String, _ value: Any) {
    object.willChangeValue(forKey: key)
    object.setPrimitiveValue(value, forKey: key)
    object.didChangeValue(forKey: key)
  }

  @Test("X2 A rollback reverts values of a manual accessor, and no later save restores the values")
  func rollback() throws {
    try Clubhouse.visit { container, context, _ in
      let (club, member) = (Club(context: context), context.member("m"))
      club.name = "c"
      try context.save()
      change(club, "name", "by hand")
      change(member, "age", 5)
      #expect(context.updatedObjects == [club, member] && member.age == 5 && club.name == "by hand")
      context.rollback()
      #expect(!context.hasChanges && member.age == 0 && club.name == "c")
      member.name = "n"
      try context.save()
      let copy = try container.newContext().same(member)
      #expect(copy.age == 0 && copy.name == "n")
    }
  }

  @Test("X2 A rollback reverts a transient attribute's change by a manual accessor")
  func transient() throws {
    try Clubhouse.visit { _, context, _ in
      let tent = Tent(context: context)
      tent.mood = "calm"
      try context.save()
      tent.willChangeValue(forKey: "mood")
      tent.setPrimitiveValue("wild", forKey: "mood")
      tent.didChangeValue(forKey: "mood")
      #expect(tent.isUpdated && tent.mood == "wild")
      #expect(tent.changedValues()["mood"] as? String == "wild")
      context.rollback()
      #expect(tent.mood == "calm" && !context.hasChanges)
    }
  }

  @Test("X2 If a setter reverts a manual accessor's change, the change stays reverted")
  func setBack() throws {
    try Clubhouse.visit { container, context, _ in
      let (member, bystander) = (context.member("m"), context.member("x"))
      try context.save()
      change(member, "age", 5)
      member.age = 0
      let other = container.newContext()
      try other.same(bystander).age = 1
      try other.save()
      context.refresh(bystander, mergeChanges: false)
      #expect(!member.hasChanges && member.age == 0)
      member.name = "n"
      try context.save()
      #expect(try container.newContext().same(member).age == 0)
    }
  }

  @Test("X9 A primitive value set in willSave is saved, even when only links or transients have changed")
  func inWillSave() throws {
    let container = try Sandbox(Register.self, RegisterEntry.self).container
    let context = container.newContext()
    let register = Register(context: context)
    try context.save()
    #expect(register.revision == 1)
    RegisterEntry(context: context).register = register
    #expect(register.isUpdated)
    try context.save()
    #expect(try container.newContext().same(register).revision == 2)
    register.note = "n"
    try context.save()
    #expect(register.revision == 3 && !context.hasChanges)
    #expect(try container.newContext().same(register).revision == 3)
  }

  @Test("X2 A primitive value of an object with other unsaved changes is rolled back with them")
  func pending() throws {
    let container = try Sandbox(Register.self, RegisterEntry.self).container
    let context = container.newContext()
    let register = Register(context: context)
    try context.save()
    RegisterEntry(context: context).register = register
    register.setPrimitiveValue(9, forKey: "revision")
    #expect(register.revision == 9)
    context.rollback()
    #expect(register.revision == 1 && !context.hasChanges)
  }
}

@Entity
final class Register: ManagedObject {
  var revision: Int = 0
  @Attribute(.transient) var note: String?
  @Relationship(inverse: "register") var entries: ToMany<RegisterEntry>
  override func willSave() { setPrimitiveValue(revision + 1, forKey: "revision") }
}

@Entity
final class RegisterEntry: ManagedObject {
  @Relationship(inverse: "entries") var register: Register?
}
