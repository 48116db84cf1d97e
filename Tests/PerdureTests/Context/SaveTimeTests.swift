import Foundation
import Perdure
import PerdureFileIO
import PerdureLog
import Testing

@Entity(indexes: [["edited"]]) private final class Page: ManagedObject {
  var text: String = ""
  @Attribute(derived: "now()") var edited: Date?
  @Relationship(inverse: "pages") var book: Shelf?
  @Relationship(inverse: "pages") var marks: ToMany<Mark>
}

@Entity private final class Shelf: ManagedObject {
  var name: String = ""
  @Attribute(derived: "now()") var changed: Date?
  @Relationship(inverse: "book") var pages: ToMany<Page>
}

@Entity private final class Ticket: ManagedObject {
  @Attribute(.unique) var number: String?
  var text: String = ""
  @Attribute(derived: "now()") private(set) var edited: Date?
}

@Entity private final class Mark: ManagedObject {
  @Relationship(inverse: "marks") var pages: ToMany<Page>
}

/// Classes with setters for an attribute that each save sets.
@Accessors private final class Note: ManagedObject { var edited: Date? }

@Accessors private final class Memo: ManagedObject {
  @Attribute var edited: Date? {
    get { primitiveEdited }
    set { primitiveEdited = newValue }
  }
}

@Suite("Attributes that a save sets to its time")
struct SaveTimeTests {
  private static let classes: [ManagedObject.Type] = [Page.self, Shelf.self, Mark.self, Ticket.self]

  private func container(_ description: PersistentStoreDescription = .inMemory) throws -> PersistentContainer
  {
    let container = try PersistentContainer(
      name: "Pages", classes: Self.classes, description: description)
    try container.loadPersistentStores()
    return container
  }

  /// Waits until the clock's time differs from a date.
  private func pass(_ date: Date?) {
    while Date() == date {}
  }

  @Test("All objects that a save inserts get the same time, between the save's beginning and end")
  func inserted() throws {
    let context = try container().newContext()
    let (first, second) = (Page(context: context), Page(context: context))
    #expect(first.edited == nil)
    let before = Date()
    try context.save()
    let after = Date()
    let time = try #require(first.edited)
    #expect(before <= time && time <= after && second.edited == time)
  }

  @Test("A save sets its time only in objects that it writes")
  func updated() throws {
    let context = try container().newContext()
    let (first, second) = (Page(context: context), Page(context: context))
    let shelf = Shelf(context: context)
    try context.save()
    let time = try #require(first.edited)
    pass(time)
    first.text = "new"
    first.book = shelf
    try context.save()
    #expect(try #require(first.edited) != time)
    // The shelf now has a different page.
    #expect(second.edited == time && shelf.changed == first.edited)
    try context.save()
    let last = first.edited
    #expect(!context.hasChanges)
    pass(last)
    // Links of many-to-many relationships belong to both ends.
    second.marks.insert(Mark(context: context))
    try context.save()
    #expect(try #require(second.edited) != time && first.edited == last)
  }

  @Test(
    "Predicates, sort descriptors and indexes use the stored time, and the time is the same after reopening")
  func stored() throws {
    let fileSystem = InMemoryFileSystem()
    var description = PersistentStoreDescription(path: "/pages.perdure")
    description.configuresEngine = { $0.fileSystem = fileSystem }
    let written = try container(description)
    let context = written.newContext()
    let first = Page(context: context)
    first.text = "first"
    try context.save()
    let time = try #require(first.edited)
    pass(time)
    Page(context: context).text = "second"
    try context.save()
    try written.close()

    let again = try container(description).newContext()
    var request = FetchRequest<Page>()
    request.predicate = try FetchPredicate(format: "edited > %@", time)
    #expect(try again.fetch(request).map(\.text) == ["second"])
    request.predicate = nil
    request.sortDescriptors = [FetchOrder("edited", ascending: false)]
    #expect(try again.fetch(request).map(\.text) == ["second", "first"])
    #expect(try again.fetch(request).last?.edited == time)
  }

  @Test("The program cannot set the attribute by name")
  func readOnly() throws {
    let page = Page(context: try container().newContext())
    let error = #expect(throws: PerdureError.self) { try page.setCheckedValue(Date(), forKey: "edited") }
    #expect(error?.code == .unknownKey)
    #expect(error?.message.contains("Page.edited cannot be set: each save sets it.") == true)
    #expect(page.edited == nil)
  }

  @Test("An accessor that sets the attribute stops the program", arguments: ["Note", "Memo"])
  func accessors(className: String) async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      [className = className as String] in
      let edited = PropertyDescription.derived("edited", "now()", type: .date)
      let model = try ManagedObjectModel([
        EntityDescription("Text", className: className, properties: [edited])
      ])
      let container = PersistentContainer(
        name: "Texts", model: model, classes: [Note.self, Memo.self], description: .inMemory)
      try container.loadPersistentStores()
      let text = container.newContext().insertNewObject(forEntityName: "Text")
      text.didChangeValue(forKey: "edited")
      (text as? Note)?.edited = Date()
      (text as? Memo)?.edited = Date()
    }
    let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(said.contains("Text.edited cannot be set: each save sets it."), "\(said)")
  }

  @Test(
    "A merge policy decides about the other properties of an object",
    arguments: [
      (MergePolicy.mergeByPropertyStoreTrump, false), (.mergeByPropertyObjectTrump, true), (.overwrite, true),
      (.rollback, false),
    ])
  func policies(policy: MergePolicy, wins: Bool) throws {
    let container = try container()
    let here = container.newContext()
    here.mergePolicy = policy
    let page = Page(context: here)
    try here.save()
    let there = container.newContext()
    try #require(there.existingObject(with: page.objectID) as? Page).text = "theirs"
    page.text = "mine"
    try there.save()
    let before = Date()
    try here.save()
    let saved = try #require(try container.newContext().existingObject(with: page.objectID) as? Page)
    #expect(saved.text == (wins ? "mine" : "theirs") && saved.edited == page.edited)
    #expect(!wins || page.edited.map { $0 >= before } == true)
  }

  @Test(
    "A new object with the unique value of a saved one is merged into it",
    arguments: [
      (MergePolicy.mergeByPropertyStoreTrump, "theirs"), (.mergeByPropertyObjectTrump, "mine"),
      (.overwrite, "mine"),
    ])
  func upsert(policy: MergePolicy, text: String) throws {
    let container = try container()
    let (here, there) = (container.newContext(), container.newContext())
    here.mergePolicy = policy
    for (context, own) in [(here, "mine"), (there, "theirs")] {
      let ticket = Ticket(context: context)
      (ticket.number, ticket.text) = ("1", own)
    }
    try there.save()
    try here.save()
    let tickets = try container.newContext().fetch(FetchRequest<Ticket>())
    #expect(tickets.count == 1 && here.mergedObjectIDs.count == 1)
    #expect(tickets.first?.text == text && tickets.first?.edited != nil)
  }

  @Test("Two contexts that change different properties of an object do not conflict")
  func merging() throws {
    let container = try container()
    let here = container.newContext()
    let page = Page(context: here)
    let shelf = Shelf(context: here)
    try here.save()
    let there = container.newContext()
    let other = try #require(try there.existingObject(with: page.objectID) as? Page)
    other.text = "there"
    page.book = shelf
    try there.save()
    pass(other.edited)
    try here.save()
    #expect(page.text == "there" && page.book === shelf)
    #expect(try #require(page.edited) > #require(other.edited))
    // A change of the same property is a conflict. The conflict does not list the time attribute.
    (other.text, page.text) = ("there", "here")
    there.rollback()
    other.text = "there again"
    try there.save()
    let error = #expect(throws: PerdureError.self) { try here.save() }
    #expect(error?.conflicts.flatMap { $0.properties.map(\.property) } == ["text"])
  }

  @Test("No merge policy drops a link or overwrites another change only to write the time of a save")
  func policies() throws {
    for policy in [
      MergePolicy.error, .rollback, .overwrite, .mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump,
    ] {
      let container = try container()
      let here = container.newContext()
      let shelf = Shelf(context: here)
      try here.save()
      let there = container.newContext()
      there.mergePolicy = policy
      let other = try #require(try there.existingObject(with: shelf.objectID) as? Shelf)
      let page = Page(context: there)
      page.book = other
      shelf.name = "here"
      try here.save()
      try there.save()
      #expect(page.book === other && other.name == "here", "\(policy)")
    }
  }

  @Test("A child context's save sets no time; the parent's save sets it")
  func children() throws {
    let context = try container().newContext()
    let page = Page(context: context)
    try context.save()
    let time = page.edited
    let child = context.newChildContext()
    let copy = try #require(try child.existingObject(with: page.objectID) as? Page)
    pass(time)
    copy.text = "child"
    try child.save()
    #expect(page.text == "child" && page.edited == time)
    try context.save()
    #expect(try #require(page.edited) > #require(time))
  }

  @Test("A save that fails validation can be repeated")
  func refused() throws {
    let model = try ManagedObjectModel([
      EntityDescription(
        "Page",
        properties: [
          .string("text", optional: false), .derived("edited", "now()", type: .date, optional: false),
        ])
    ])
    let container = PersistentContainer(name: "Pages", model: model, description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let page = context.insertNewObject(forEntityName: "Page")
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.details.map(\.property) == ["text"])
    page["text"] = "x"
    try context.save()
    #expect(page["edited"] is Date)
  }

  @Test("A stored date attribute can become one that saves set, and the reverse, but not a derived copy")
  func adopting() throws {
    let fileSystem = InMemoryFileSystem()
    func open(_ property: PropertyDescription) throws -> PersistentContainer {
      var description = PersistentStoreDescription(path: "/pages.perdure")
      description.configuresEngine = { $0.fileSystem = fileSystem }
      let model = try ManagedObjectModel([
        EntityDescription("Page", properties: [.date("written"), property])
      ])
      let container = PersistentContainer(name: "Pages", model: model, description: description)
      try container.loadPersistentStores()
      return container
    }
    let first = try open(.date("edited"))
    let context = first.newContext()
    let date = Date(timeIntervalSinceReferenceDate: 5)
    context.insertNewObject(forEntityName: "Page")["edited"] = date
    try context.save()
    try first.close()
    let second = try open(.derived("edited", "now()", type: .date))
    let request = FetchRequest<ManagedObject>(entityName: "Page")
    #expect(try second.newContext().fetch(request).map { $0["edited"] as? Date } == [date])
    try second.close()
    #expect(throws: PerdureError.self) { try open(.derived("edited", "written", type: .date)) }
    try open(.date("edited")).close()
  }
}
