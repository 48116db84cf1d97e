// The examples in the doc comments of the graph, as code that compiles and runs. This file contains
// each line of an example, in the same order. Change the doc comment and this file together.

import Foundation
import Perdure
import PerdureLog
import PerdurePredicates
import PerdureTestSupport
import Testing

private enum Examples {
  @Entity class Person: ManagedObject {
    var name: String
  }
  @Entity final class Worker: Person {
    @Attribute(.unique) var email: String
    var salary: Double = 0
    var born: Date?
    @Relationship(inverse: "workers") var company: Company?
    @Relationship(inverse: "members") var projects: ToMany<Project>
  }
  @Entity final class Project: ManagedObject {
    @Attribute(.indexed, .length(1...80)) var title: String
    @Attribute(.minimum(1), .maximum(5)) var priority: Int = 3
    @Relationship(inverse: "projects") var members: ToMany<Worker>
    @Attribute(.indexed, derived: "members.@count") private(set) var memberCount: Int
  }
  @Entity final class Company: ManagedObject {
    var name: String
    @Relationship(inverse: "company", deleteRule: .cascade) var workers: ToMany<Worker>
  }

  @Entity final class Conversation: ManagedObject {
    @Relationship(inverse: "conversation") var messages: OrderedToMany<Message>
  }
  @Entity final class Message: ManagedObject {
    @Relationship(inverse: "messages") var conversation: Conversation?
  }

  @Entity final class Journey: ManagedObject {
    var start: Double = 0
    var end: Double = 0
    override func validateForInsert() throws {
      if end < start { throw PerdureError.invalid(self, "end", "must not be before the start") }
    }
  }

  @Entity final class Book: ManagedObject {
    var title: String?
  }

  @Entity final class Player: ManagedObject {
    var tags: [String] = []
    var scores: [String: Int] = [:]
    var moves: [[Int]]?
  }

  @Entity final class Pupil: ManagedObject {
    var age: Int = 6

    func validateAge(_ age: Int) throws {
      if age < 5 { throw PerdureError.invalid(self, "age", "is too low") }
    }
  }

  @Entity final class Note: ManagedObject {
    var text: String?
  }

  struct Preferences: CodableAttributeValue { var theme = "light", size = 12 }

  @Entity final class Account: ManagedObject {
    var preferences: Preferences = Preferences()
    var draft: Preferences?
  }

  @Composite struct Address {
    var street: String?
    var city: String = ""
  }

  @Entity final class Shop: ManagedObject {
    @Attribute(.composite) var address: Address?
    @Attribute(.composite) var hours: Span?
  }

  struct Span: CompositeAttributeValue {
    var from = 0, to = 0
    static var compositeElements: [PropertyDescription] { [.int64("from"), .int64("to")] }
    static var compositeNames: [AnyKeyPath: String] { [\Span.from: "from", \Span.to: "to"] }
    init(compositeContent content: CompositeContent) {
      (from, to) = (content["from"] ?? 0, content["to"] ?? 0)
    }
    var compositeContent: CompositeContent {
      var content = CompositeContent()
      content["from"] = from
      content["to"] = to
      return content
    }
  }

  struct Color {
    var shades: [UInt8]
    init(archive: Data) throws { shades = Array(archive) }
    func archived() throws -> Data { Data(shades) }
  }

  struct ColorTransformer: ValueTransformer {
    func data(from value: Any) throws -> Data { try (value as! Color).archived() }
    func value(from data: Data) throws -> Any { try Color(archive: data) }
  }

  enum Binding: String, AttributeValue, CaseIterable { case paper, cloth, leather }

  static func run(_ path: String) throws {
    let container = try PersistentContainer(
      name: "Staff", classes: [Company.self, Person.self, Worker.self, Project.self], at: path)
    try container.loadPersistentStores()
    container.log { print($0) }
    let context = container.newContext()
    let person = Person(context: context)
    person.name = "Ada"
    person.setValue("Ada L.", forKey: "name")
    let id = person.objectID
    try context.save()
    #expect(try container.newContext().existingObject(with: id).value(forKey: "name") as? String == "Ada L.")
    try drafts(context, person)

    context.mergePolicy = .error
      .merging("salary", of: "Worker", by: .sum)
      .merging("name", of: "Person", by: .custom { $0.store })
    context.mergePolicy = .mergeByPropertyObjectTrump
    context.mergePolicy = .error.merging("salary", of: "Worker", by: .sum)

    let (company, worker) = (Company(context: context), Worker(context: context))
    (company.name, worker.name, worker.email, worker.salary) = ("Acme", "Li", "li@example.org", 1500)
    company.workers.insert(worker)
    for colleague in company.workers { print(colleague.name) }
    company.workers.replace(with: [worker])
    do {
      try context.save()
    } catch {
      guard error.code == .constraintConflict else { throw error }
      for conflict in error.conflicts { print(conflict) }
    }
    try snapshots(worker)
    try plans(context, company)
    try fetch(context, worker)
    try query(context, worker)
    try contexts(context)
    #expect(Binding.zeroValue == .paper)
    _ = try FetchPredicate(format: "name BEGINSWITH[c] %@ AND age > %d", "Li", 30)
    try container.close()
  }

  private static func fetch(_ context: ManagedObjectContext, _ worker: Worker) throws {
    let rich = try context.fetch(Worker.fetchRequest { $0.salary > 1000 })
    #expect(rich == [worker])
    do {
      var request = Worker.fetchRequest { $0.salary > 1000 && $0.company.name == "Acme" }
      request.sortDescriptors = [FetchOrder(\Worker.name)]
      request.fetchLimit = 20
      #expect(try context.fetch(request) == [worker])
    }
    do {
      let request = FetchRequest<Worker>(
        predicate: try FetchPredicate(format: "name BEGINSWITH[cd] %@", "li"))
      #expect(try context.fetch(request) == [worker])
    }
    do {
      let request = Worker.fetchRequest { $0.salary > 1000 && $0.company != nil }
      #expect(try context.fetch(request) == [worker])
    }
    do {
      let predicate = try FetchPredicate(format: "salary > 1000")
      let isRich = try predicate.evaluate(with: worker)
      #expect(isRich)
    }
    do {
      let company = try #require(worker.company as Company?)
      let rich = try company.workers.filtered(by: FetchPredicate(format: "salary > 1000"))
      #expect(rich == [worker])
    }
  }

  private static func drafts(_ context: ManagedObjectContext, _ person: Person) throws {
    let name = person.name
    let draft = context.newChildContext()
    try draft.existingObject(with: person.objectID).setValue("Ada", forKey: "name")
    try draft.save()  // pending in `context` now, and in no store
    try context.save()
    #expect(person.name == "Ada")
    person.name = name
    try context.save()
  }

  private static func contexts(_ context: ManagedObjectContext) throws {
    do {
      let workers = try context.fetch(Worker.fetchRequest())
      let before = context.statistics
      for worker in workers { print(worker.company?.name ?? "") }
      let requests = context.statistics.since(before).rowRequestCount
      #expect(requests <= (workers.count + 63) / 64 + 1)
    }
    do {
      var request = Company.fetchRequest()
      request.prefetch { $0.workers.projects }
      #expect(try context.fetch(request).count == 1)
    }
    try context.setQueryGeneration(from: .current)
    // … reads that belong together, however long they take
    try context.setQueryGeneration(from: .current)  // advances to the newest state
    try context.setQueryGeneration(from: nil)
    let observation = context.observe { notification in
      if notification.kind == .didSave { print(notification.insertedObjects.count) }
    }
    observation.cancel()
  }

  private static func plans(_ context: ManagedObjectContext, _ company: Company) throws {
    let plan = try context.plan(delete: company)
    if plan.isDenied { print(plan.denied) } else { print("\(plan.deletedObjectIDs.count) objects") }
    #expect(!plan.isDenied && plan.deletedObjectIDs.count == 2)
    var total = 0.0
    for batch in company.workers.batches(of: 500) { total += batch.reduce(0) { $0 + $1.salary } }
    #expect(total == 1500)
  }

  private static func snapshots(_ worker: Worker) throws {
    do {
      let picture = try worker.snapshot(including: ["company", "projects.members"])
      let text = try JSONEncoder().encode(picture)
      let name = picture["company"]?.object?["name"]?.value
      #expect(!text.isEmpty && name == .string("Acme"))
    }
    let picture = try TypedSnapshot(worker, including: ["company", "projects"])
    Task { print(picture.name, picture.company?.name ?? "-", picture.projects.count) }
  }

  static func library(_ books: String, _ notes: String) throws {
    let model = try ManagedObjectModel(
      [EntityDescription(from: Book.self), EntityDescription(from: Note.self)],
      configurations: ["Catalogue": ["Book"], "Notes": ["Note"]])
    let catalogue = PersistentContainer(
      name: "Catalogue", model: model, classes: [Book.self, Note.self],
      description: PersistentStoreDescription(path: books, configuration: "Catalogue"))
    try catalogue.loadPersistentStores()
    try catalogue.close()
    let container = PersistentContainer(
      name: "Library", model: model, classes: [Book.self, Note.self],
      storeDescriptions: [
        PersistentStoreDescription(path: books, isReadOnly: true, configuration: "Catalogue"),
        PersistentStoreDescription(path: notes, configuration: "Notes"),
      ])
    try container.loadPersistentStores()
    #expect(container.persistentStores.map(\.isReadOnly) == [true, false])
    try container.close()
  }

  static func transformed(_ path: String) throws {
    ValueTransformers.register(ColorTransformer(), named: "Color")
    let container = try PersistentContainer(name: "Accounts", classes: [Account.self], at: path)
    try container.loadPersistentStores()
    let account = Account(context: container.newContext())
    account.preferences.size = 14
    #expect(account.preferences.theme == "light" && account.preferences.size == 14 && account.draft == nil)
  }

  static func streamed(_ path: String, to file: String) throws {
    let container = try PersistentContainer(name: "Accounts", classes: [Account.self], at: path)
    try container.loadPersistentStores()
    #expect(FileManager.default.createFile(atPath: file, contents: nil))
    let fileHandle = try #require(FileHandle(forWritingAtPath: file))
    try container.backup { bytes in
      try bytes.withUnsafeBytes { try fileHandle.write(contentsOf: Data($0)) }
    }
    try fileHandle.close()
    try container.close()
  }

  static func composites(_ path: String) throws {
    let container = try PersistentContainer(name: "Shops", classes: [Shop.self], at: path)
    try container.loadPersistentStores()
    let context = container.newContext()
    let shop = Shop(context: context)
    shop.address = Address(city: "Paris")
    shop.address?.street = "Rue A"
    shop.hours = Span(compositeContent: CompositeContent())
    shop.hours?.to = 18
    try context.save()
    let request = FetchRequest<Shop> { $0.address.street == "Rue A" && $0.hours.to > 12 }
    #expect(try container.newContext().fetch(request).first?.hours?.to == 18)
  }

  static func ordered() throws {
    let container = try PersistentContainer(
      name: "Chat", classes: [Conversation.self, Message.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let conversation = Conversation(context: context)
    for _ in 0..<3 { conversation.messages.append(Message(context: context)) }
    let (message, first) = (Message(context: context), Message(context: context))
    conversation.messages.append(message)
    conversation.messages.insert(first, at: 0)
    conversation.messages.move(message, to: 3)
    let last = conversation.messages.last
    #expect(last != message && conversation.messages[3] == message && conversation.messages.first == first)
    try context.save()
  }

  static func byClass() throws {
    let container = try PersistentContainer(
      name: "Staff", classes: [Company.self, Person.self, Worker.self, Project.self, Player.self],
      description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let acme = Company(context: context, name: "Acme")
    _ = Worker(context: context, email: "li@example.org", salary: 1500, company: acme)
    do {
      let workers = try context.fetch(Worker.self)
      let first = try context.fetch(Worker.self, order: [FetchOrder(\Worker.name)], limit: 10)
      #expect(workers == first && workers.count == 1)
    }
    do {
      let rich = try context.fetch(Worker.self) { $0.salary > 1000 }
      let first = try context.fetch(Worker.self, order: [FetchOrder(\Worker.name)], limit: 10) {
        $0.company.name == "Acme"
      }
      #expect(rich == first && rich.count == 1)
    }
    let (ada, grace) = (Worker(context: context), Worker(context: context))
    let company = acme
    company.workers = [ada, grace]
    let request = FetchRequest<Worker>(predicate: .true)
    company.workers = ToMany(try context.fetch(request))
    #expect(company.workers.count == 3)
    for worker in [ada, grace] { context.delete(worker) }
    var newCount = 0
    let worker = try context.findOrInsert(Worker.self, where: \.email, equals: "ann@acme.com") { new in
      new.name = "Ann"
      newCount += 1
    }
    #expect(worker.email == "ann@acme.com" && worker.name == "Ann" && newCount == 1)
    if let ann = try context.first(Worker.self, where: \.email, equals: "ann@acme.com") {
      ann.salary += 100
    }
    context.delete(worker)
    let data = Data(#"[{"email": "ada@example.org", "name": "Ada"}]"#.utf8)
    try json(context, data)
  }

  private static func json(_ context: ManagedObjectContext, _ data: Data) throws {
    let workers = try context.decode([Worker].self, from: data)
    #expect(workers.map(\.name) == ["Ada"])
    do {
      let data = try context.encode(workers, including: ["company", "projects"])
      #expect(try context.decode([Worker].self, from: data) == workers)
    }
  }

  static func engine() throws {
    let fileSystem = SimulatedFileSystem()
    var description = PersistentStoreDescription(path: "/Companies.perdure")
    description.configuresEngine = { options in
      options.fileSystem = fileSystem
      (options.checkpoints, options.compactsAutomatically) = (.manual, false)
    }
    let container = PersistentContainer(
      name: "Companies", model: try .init([]), description: description)
    try container.loadPersistentStores()
    try container.close()
    #expect(fileSystem.operationCount > 0)
  }

  private static func query(_ context: ManagedObjectContext, _ worker: Worker) throws {
    let query = Worker.fetchRequest {
      $0.company.name.hasPrefix("a", .caseInsensitive) && $0.salary.in(1000..<2000)
        || $0.projects.any { $0.title == "Moon" } || $0.company.workers.count > 10 && $0.born == nil
    }
    #expect(try context.fetch(query) == [worker])
    let orders = [
      FetchOrder(Worker.self) { $0.company.name },
      FetchOrder(Company.self, ascending: false) { $0.workers.count },
    ]
    #expect(orders.map(\.description) == ["company.name ascending", "workers.@count descending"])
  }
}

/// The examples of templates and fetched properties.
private enum RequestExamples {
  @Entity final class Worker: ManagedObject {
    var salary: Double = 0
    @FetchTemplate("salary > $least", order: [FetchOrder("salary")])
    static func rich(least: Double) -> FetchRequest<Worker>
  }

  @Entity final class Author: ManagedObject {
    var lastSeen: Date?
    @Fetched(
      "author == $FETCH_SOURCE AND date > $FETCH_SOURCE.lastSeen",
      order: [FetchOrder("date", ascending: false)], limit: 10)
    var recent: [Message]
    @Relationship(inverse: "author") var messages: ToMany<Message>
  }

  @Entity final class Message: ManagedObject {
    var date: Date?
    @Relationship(inverse: "messages") var author: Author?
  }

  static func run() throws {
    let container = try PersistentContainer(
      name: "Requests", classes: [Worker.self, Author.self, Message.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let workers = [500.0, 2000, 1500].map { Worker(context: context, salary: $0) }
    let rich = try context.fetch(Worker.rich(least: 1000))
    #expect(rich == [workers[2], workers[1]])
    let author = Author(context: context)
    author.lastSeen = Date(timeIntervalSince1970: 10)
    let messages = [5.0, 20, 30].map { seconds in
      let message = Message(context: context)
      (message.date, message.author) = (Date(timeIntervalSince1970: seconds), author)
      return message
    }
    #expect(author.recent == [messages[2], messages[1]])
    try templates(context, workers)
  }

  private static func templates(_ context: ManagedObjectContext, _ workers: [Worker]) throws {
    let entities = context.managedObjectModel.entities
    let made = [
      FetchRequestTemplate("rich", Worker.self, "salary > $least")
    ]
    let model = try ManagedObjectModel(entities, templates: FetchRequestTemplate.templates(of: [Worker.self]))
    #expect(model.fetchRequestTemplates.map(\.name) == made.map(\.name))
    let request = try model.fetchRequestFromTemplate(
      withName: "rich", substitutionVariables: ["least": 1000], as: Worker.self)
    #expect(try context.fetch(request) == [workers[2], workers[1]])
  }
}

@Entity(propertiesInExtension: true) class Guest: ManagedObject {
}

// In another file, for example generated:
@EntityProperties extension Guest {
  @Attribute(.unique) var login: String?
  @Relationship(inverse: "guest") var visits: ToMany<Visit>
}

@Entity final class Visit: ManagedObject {
  @Relationship(inverse: "visits") var guest: Guest?
}

/// The examples of properties in extensions and in classes without an entity.
private enum SharedPropertyExamples {
  @EntityBase class Record: ManagedObject {
    @Attribute(.unique) var identifier: String
    var created: Date = Date()
  }

  @Entity final class Book: Record { var title: String }
  @Entity final class Author: Record { var name: String }

  static func run() throws {
    let container = try PersistentContainer(
      name: "Shared", classes: [Guest.self, Visit.self, Book.self, Author.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let (guest, visit) = (Guest(context: context), Visit(context: context))
    guest.login = "ada"
    visit.guest = guest
    let (book, author) = (Book(context: context), Author(context: context))
    (book.title, book.identifier, author.name, author.identifier) = ("B", "1", "A", "1")
    try context.save()
    #expect(Array(guest.visits) == [visit] && author.identifier == "1")
  }
}

/// The examples of undo.
private enum UndoExamples {
  @Entity final class Person: ManagedObject { var name: String = "" }
  @Entity final class Folder: ManagedObject {
    @Relationship(inverse: "folder") var notes: ToMany<Note>
  }
  @Entity final class Note: ManagedObject {
    var isPinned: Bool = true
    @Relationship(inverse: "notes") var folder: Folder?
  }

  static func run() throws {
    let container = try PersistentContainer(
      name: "Undo", classes: [Person.self, Folder.self, Note.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let (person, note, archive) = (Person(context: context), Note(context: context), Folder(context: context))
    try context.save()
    context.undoManager = ContextUndoManager()
    context.undoGroup("Rename") { person.name = "Ada" }
    try context.undo()  // the earlier name
    #expect(person.name == "")
    try context.redo()  // "Ada"
    #expect(person.name == "Ada")
    context.undoGroup("Move to Archive") {
      note.folder = archive
      note.isPinned = false
    }
    #expect(context.undoManager?.undoActionName == "Move to Archive")
    try context.undo()
    #expect(note.folder == nil && note.isPinned)
  }
}

/// The examples of accessors.
private enum AccessorExamples {
  @Accessors final class Visitor: ManagedObject {
    var name: String?
    var visits: Int64
  }

  @Entity final class Chapter: ManagedObject {
    @Attribute(.length(1...80)) var title: String? {
      get { primitiveTitle }
      set {
        willChangeValue(forKey: "title")
        primitiveTitle = newValue?.trimmed
        didChangeValue(forKey: "title")
      }
    }
  }

  static func run() throws {
    let model = try ManagedObjectModel([
      EntityDescription(
        "Visitor", className: "Visitor", properties: [.string("name"), .int64("visits")])
    ])
    let visitors = PersistentContainer(
      name: "Visitors", model: model, classes: [Visitor.self], description: .inMemory)
    try visitors.loadPersistentStores()
    let visitor = Visitor(context: visitors.newContext())
    (visitor.name, visitor.visits) = ("Ada", 2)
    #expect(visitor.value(forKey: "visits") as? Int == 2)

    let book = try PersistentContainer(name: "Book", classes: [Chapter.self], description: .inMemory)
    try book.loadPersistentStores()
    let chapter = Chapter(context: book.newContext())
    chapter.title = " One "
    #expect(chapter.title == "One")
  }
}

extension String {
  fileprivate var trimmed: String { trimmingCharacters(in: .whitespaces) }
}

@Suite("The examples in doc comments")
struct DocumentationTests {
  @Test("The examples in doc comments compile and run")
  func run() throws {
    let directory = try TemporaryDirectory()
    try Examples.run(directory.file("Staff.perdure"))
    try Examples.transformed(directory.file("Accounts.perdure"))
    try Examples.streamed(directory.file("Accounts.perdure"), to: directory.file("Accounts.backup"))
    try Examples.composites(directory.file("Shops.perdure"))
    try Examples.library(directory.file("Books.perdure"), directory.file("Notes.perdure"))
    try Examples.ordered()
    try Examples.byClass()
    try RequestExamples.run()
    try AccessorExamples.run()
    try SharedPropertyExamples.run()
    try UndoExamples.run()
    try Examples.engine()
  }

  @Test("This file contains every line of every example of the graph in order")
  func sameText() throws {
    let here = URL(fileURLWithPath: #filePath)
    let code = try String(contentsOf: here, encoding: .utf8)
      .components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    var root = here
    for _ in 0..<3 { root.deleteLastPathComponent() }
    var examples = 0
    for target in ["Sources/Perdure", "Sources/PerdurePredicates"] {
      let folder = root.appendingPathComponent(target)
      let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
      while let file = files?.nextObject() as? URL {
        guard file.pathExtension == "swift" else { continue }
        for example in Self.examples(in: try String(contentsOf: file, encoding: .utf8)) {
          examples += 1
          let start = code.firstIndex { $0.hasPrefix(example[0]) || $0.contains(example[0]) }
          #expect(start != nil, "\(file.lastPathComponent): \(example[0])")
          var rest = code[(start ?? code.endIndex)...]
          for line in example {
            let place = rest.firstIndex { $0.contains(line) }
            #expect(place != nil, "\(file.lastPathComponent): \(line)")
            rest = rest[(place ?? rest.endIndex)...]
          }
        }
      }
    }
    #expect(examples >= 12)
  }

  /// Returns the code blocks that follow an empty line of a doc comment.
  private static func examples(in source: String) -> [[String]] {
    var examples: [[String]] = []
    var isInside = false
    var isBehindEmpty = false
    for line in source.components(separatedBy: "\n").map({ $0.trimmingCharacters(in: .whitespaces) }) {
      if line.hasPrefix("///     "), isInside || isBehindEmpty {
        if !isInside { examples.append([]) }
        isInside = true
        examples[examples.count - 1].append(line.dropFirst(8).trimmingCharacters(in: .whitespaces))
      } else {
        isInside = false
      }
      isBehindEmpty = line == "///"
    }
    return examples
  }
}
