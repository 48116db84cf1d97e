import Perdure
import Testing

// The calls of hooks, their order, and the effect of their changes: behaviours V1, X6, X7, X8 and
// X9 of Core Data (README.md).

@Entity private final class Invoice: ManagedObject {
  var total: Int = 0
  @Relationship(inverse: "invoice") var parcels: ToMany<Parcel>
}

@Entity private final class Parcel: ManagedObject {
  @Relationship(inverse: "parcels") var invoice: Invoice

  override func validateForInsert() throws {
    if invoice.total < 0 { throw PerdureError.invalid(self, "invoice", "is owed for") }
  }
}

/// A class whose validation replaces the value of `mark`, and sets `papers` to an array.
@Entity private final class Drawer: ManagedObject {
  final class Mark {}
  @Attribute(.transient) var mark: Mark?
  @Relationship(inverse: "drawer") var papers: ToMany<Paper>

  static let stamp = MarkBox()
  // Unchecked: the box never changes.
  final class MarkBox: @unchecked Sendable {
    let mark = Mark()
  }

  override class var validatedKeys: [String] { ["mark", "papers"] }

  override func validateValue(_ value: inout Any?, forKey key: String) throws {
    if key == "mark" { value = Self.stamp.mark }
    if key == "papers", let papers = value as? Set<ManagedObject> { value = Array(papers) }
  }
}

@Entity private final class Paper: ManagedObject {
  @Relationship(inverse: "papers") var drawer: Drawer?
}

@Entity private final class Careless: ManagedObject {
  var name: String = ""
  override class var validatedKeys: [String] { ["nmae"] }
}

@Suite("Order and effects of hooks")
struct HookOrderTests {
  @Test("X9 An object with a nil required reference fails without a call of validateForInsert")
  func missing() throws {
    let context = try Sandbox(Invoice.self, Parcel.self).container.newContext()
    let parcel = Parcel(context: context)
    #expect(refusals(context) == ["1570 invoice"])
    let invoice = Invoice(context: context)
    invoice.total = -1
    parcel.invoice = invoice
    #expect(refusals(context) == ["1550 invoice"])
    invoice.total = 1
    #expect(refusals(context) == [])
  }

  @Test("X9 If one validation deletes an object, the validation error of that object is ignored")
  func refusalOfTheDeleted() throws {
    try Clubhouse.visit { container, context, diary in
      let (first, second) = (context.member("a"), context.member("b"))
      diary.on("a.validateForInsert") { throw PerdureError.invalid($0, "name", "is wrong") }
      diary.on("b.validateForInsert") { _ in context.delete(first) }
      try context.save()
      #expect(!context.hasChanges && first.managedObjectContext == nil)
      #expect(try container.newContext().same(second).name == "b")
    }
  }

  @Test("X9 If a validation changes an object without hooks, all objects are validated again")
  func withoutHooks() throws {
    try Clubhouse.visit { _, context, diary in
      let (club, locker) = (Club(context: context), Locker(context: context))
      _ = (context.member("a"), context.member("b"))
      _ = diary.read()
      diary.on("b.validateForInsert") { _ in locker.club = club }
      try context.save()
      #expect(diary.read().count { $0 == "a.validateForInsert" } == 2)
      #expect(locker.club === club && !context.hasChanges)
    }
  }

  @Test("X9 After a validation inside willSave, changed objects still get willSave calls")
  func validatingInWillSave() throws {
    try Clubhouse.visit { _, context, diary in
      let first = context.member("a")
      _ = (context.member("b"), diary.read())
      diary.on("b.willSave") { _ in
        first.age = 5
        try context.validate()
      }
      try context.save()
      #expect(diary.read().count { $0.hasPrefix("a.willSave") } == 2)
    }
  }

  @Test("V1 Validation may replace an instance, and set a relationship to an array of objects")
  func replacements() throws {
    let context = try Sandbox(Drawer.self, Paper.self).container.newContext()
    let (drawer, paper) = (Drawer(context: context), Paper(context: context))
    drawer.mark = Drawer.Mark()
    paper.drawer = drawer
    try context.save()
    #expect(drawer.mark === Drawer.stamp.mark && Array(drawer.papers) == [paper])
  }

  @Test("V1 A container rejects a class whose validatedKeys contain an unknown property")
  func misspelt() throws {
    let error = #expect(throws: PerdureError.self) { try Sandbox(Careless.self) }
    #expect(error?.code == .openFailed && error?.message.contains("nmae") == true)
  }

  @Test("X8 prepareForDeletion may remove links of its object and delete the object")
  func deletingItself() throws {
    try Clubhouse.visit { _, context, diary in
      let club = Club(context: context)
      let member = context.member("m", in: club)
      try context.save()
      diary.on("m.prepareForDeletion") {
        $0.club = nil
        context.delete($0)
      }
      context.delete(club)
      context.processPendingChanges()
      #expect(member.isDeleted)
    }
  }

  @Test(
    "X9 If didSave of one object resets the context, objects whose didSave is called later have no context")
  func resetInDidSave() throws {
    try Clubhouse.visit { _, context, diary in
      _ = (context.member("a"), context.member("b"))
      var seen: [Bool] = []
      diary.on("a.didSave") { member in
        seen.append(member.isInserted)
        context.reset()
      }
      diary.on("b.didSave") { seen += [$0.isInserted, $0.managedObjectContext == nil] }
      try context.save()
      #expect(seen == [true, false, true])
    }
  }

  @Test("X9 The deletion of an object in didSave is visible at once")
  func deletedInDidSave() throws {
    try Clubhouse.visit { _, context, diary in
      let member = context.member("a")
      var isDeleted = false
      diary.on("a.didSave") {
        context.delete($0)
        isDeleted = $0.isDeleted && !$0.isInserted
      }
      try context.save()
      #expect(isDeleted && member.isDeleted && context.deletedObjects == [member])
    }
  }

  @Test("X6 A value that is set after awakeFromFetch stays when the context advances")
  func setBack() throws {
    try Clubhouse.visit { container, context, diary in
      let (member, other) = (context.member("m"), context.member("o"))
      try context.save()
      let second = container.newContext()
      diary.on("m.awakeFromFetch") { $0.age = 40 }
      let copy = try second.same(member)
      #expect(copy.age == 40 && !copy.hasChanges)
      copy.age = 0
      other.age = 1
      try context.save()
      second.refresh(try second.same(other), mergeChanges: false)
      #expect(copy.age == 0)
    }
  }

  @Test("X7 didSave is the last hook call of a deleted object")
  func endOfTheDeleted() throws {
    try Clubhouse.visit { _, context, diary in
      let member = context.member("m")
      try context.save()
      context.delete(member)
      try context.save()
      #expect(diary.read().last == "m.didSave deleted")
      context.delete(context.member("n"))
      context.processPendingChanges()
      #expect(!diary.read().contains { $0.contains("TurnIntoFault") })
    }
  }

  #if os(Linux) || os(macOS)
    @Test("A validation inside a validation stops the program with a message")
    func validatingInside() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        try Clubhouse.visit { _, context, diary in
          _ = context.member("m")
          diary.on("m.validateForInsert") { _ in try context.validate() }
          try context.save()
        }
      }
      let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
      #expect(message.contains("validate() was called by a validation"))
    }
  #endif
}
