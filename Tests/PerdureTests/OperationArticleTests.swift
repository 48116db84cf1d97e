// The code blocks of the articles about operation in Perdure.docc. The lines between two marks,
// such as `// OnAServer 2` and `// end`, equal the block of that article with that number. Change
// the article and this file together.

import Foundation
import Perdure
import PerdureLog
import PerdureTestSupport
import Synchronization
import Testing

/// The lines that the examples print. The suite runs one test at a time.
private let printedLines = Mutex<[String]>([])

private func print(_ items: Any...) {
  printedLines.withLock { $0.append(items.map { "\($0)" }.joined(separator: " ")) }
}

/// Without this function, a call with three values prints to the standard output.
private func print(_ first: Any, _ second: Any, _ third: Any) {
  printedLines.withLock { $0.append("\(first) \(second) \(third)") }
}

private func takePrintedLines() -> [String] {
  printedLines.withLock { lines in
    defer { lines = [] }
    return lines
  }
}

private enum SavingExample {
  // SavingAndConflicts 1
  @Entity final class Account: ManagedObject {
    @Attribute(.unique) var number: Int
    var holder: String?
    @Attribute(.minimum(0)) var cents: Int = 0
  }
  // end

  static func run() throws {
    // SavingAndConflicts 2
    let container = try PersistentContainer(
      name: "Bank", classes: [Account.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let account = Account(context: context)
    (account.number, account.holder, account.cents) = (1, "Ada", 500)
    try context.save()

    account.cents = -1
    do {
      try context.save()
    } catch {
      print(error.code == .numberTooSmall, error.details[0].property)  // true cents
      context.rollback()
    }
    print(account.cents)  // 500
    // end
    // SavingAndConflicts 3
    let other = container.newContext()
    let same = try other.fetch(Account.fetchRequest { $0.number == 1 })[0]
    same.cents += 100
    try other.save()

    account.cents += 20
    do {
      try context.save()
    } catch {
      guard error.code == .mergeConflict else { throw error }
      // cents: was 500, is 520 here and 600 in the store
      for conflict in error.conflicts { print(conflict.properties[0]) }
      context.refresh(account, mergeChanges: false)  // discards the change
    }
    print(account.cents)  // 600
    // end
    // SavingAndConflicts 4
    context.mergePolicy = .error
      .merging("cents", of: "Account", by: .sum)
      .merging("holder", of: "Account", by: .custom { $0.store })

    same.cents += 10
    try other.save()
    account.cents += 5
    try context.save()
    print(account.cents)  // 615
    // end
    // SavingAndConflicts 5
    let importing = container.newContext()
    importing.mergePolicy = .mergeByPropertyObjectTrump
    let imported = Account(context: importing)
    (imported.number, imported.holder) = (1, "Ada L.")
    try importing.save()  // updates account 1
    print(imported.cents, importing.mergedObjectIDs.count)  // 615 1
    // end
    // SavingAndConflicts 6
    context.rollback()  // shows the newest state
    let draft = context.newChildContext()
    let edited = try draft.fetch(Account.fetchRequest { $0.number == 1 })[0]
    edited.holder = "Grace"
    try draft.save()  // the change is pending in `context`, and the store is unchanged
    print(context.hasChanges, account.holder ?? "")  // true Grace
    try context.save()
    // end
  }
}

private enum DurabilityExample {
  @Entity final class Reading: ManagedObject {
    var value: Double = 0
  }

  static func run(_ path: String) throws {
    // DurabilityOfSaves 1
    let description = PersistentStoreDescription(path: path, durability: .processCrash)
    let container = try PersistentContainer(
      name: "Readings", classes: [Reading.self], description: description)
    try container.loadPersistentStores()
    let context = container.newContext()
    for value in 1...100 {
      Reading(context: context).value = Double(value)
      try context.save()  // returns without a sync
    }
    try container.close()  // every save is durable when this returns
    // end
    // DurabilityOfSaves 2
    let durable = try PersistentContainer(name: "Readings", classes: [Reading.self], at: path)
    try durable.loadPersistentStores()
    let writing = durable.newContext()
    for value in 101...200 { Reading(context: writing).value = Double(value) }
    try writing.save()  // one commit and one sync for all of them
    // end
    #expect(try durable.newContext().count(for: Reading.fetchRequest()) == 200)
    try durable.close()
    try failedSync()
  }

  private static func failedSync() throws {
    // DurabilityOfSaves 3
    func add(_ value: Double, to container: PersistentContainer) throws {
      let context = container.newContext()
      Reading(context: context).value = value
      do {
        try context.save()
      } catch {
        guard error.isOutcomeUnknown else { throw error }
        try? container.close()
        try container.loadPersistentStores()  // recovers the store
        let saved = try container.newContext().count(for: Reading.fetchRequest { $0.value == value })
        if saved == 0 { try add(value, to: container) }
      }
    }
    // end
    let fileSystem = SimulatedFileSystem()
    var description = PersistentStoreDescription(path: "/Readings")
    description.configuresEngine = { options in
      options.fileSystem = fileSystem
      (options.checkpoints, options.compactsAutomatically) = (.manual, false)
    }
    let container = try PersistentContainer(
      name: "Readings", classes: [Reading.self], description: description)
    try container.loadPersistentStores()
    try add(1, to: container)
    fileSystem.inject(FailureKind.syncDropsPages.failure(nth: 1, repeats: false))
    try add(2, to: container)
    #expect(fileSystem.injectedFailureCount == 1)
    try add(3, to: container)
    let values = try container.newContext().fetch(Reading.fetchRequest()).map(\.value).sorted()
    #expect(values == [1, 2, 3])
    try container.close()
  }
}

private enum ErrorExample {
  @Entity final class Member: ManagedObject {
    @Attribute(.unique) var email: String
    @Attribute(.length(1...40)) var name: String
    @Attribute(.minimum(18)) var age: Int = 18
  }

  static func run(_ path: String) throws {
    let container = try PersistentContainer(name: "Club", classes: [Member.self], at: path)
    try container.loadPersistentStores()
    // ErrorsAndCodes 1
    let context = container.newContext()
    let member = Member(context: context)
    (member.name, member.age) = ("", 12)
    do {
      try context.save()
    } catch {
      print(error.code == .multipleValidationErrors, error.details.count)  // true 3
      // 1570 email NULL, 1670 name "", 1620 age 12
      for detail in error.details { print(detail.code.rawValue, detail.property, detail.value) }
    }
    // end
    // ErrorsAndCodes 2
    func advice(_ error: PerdureError) -> String {
      switch error.code {
      case .mergeConflict: "Another user has changed this. Load it again."
      case .constraintConflict: "Another entry has the same value."
      case .saveFailed where error.isOutcomeUnknown: "Open the store again, and check what was saved."
      case _ where !error.details.isEmpty:
        error.details.map { "\($0.property) \($0.rule)" }.joined(separator: "\n")
      default: error.message
      }
    }
    // end
    do { try context.save() } catch { #expect(advice(error).split(separator: "\n").count == 3) }
    context.rollback()
    // ErrorsAndCodes 3
    let second = try PersistentContainer(name: "Club", classes: [Member.self], at: path)
    do {
      try second.loadPersistentStores()
    } catch {
      let cause = error.cause as? StoreError  // needs `import PerdureLog`
      print(error.code == .openFailed, cause?.code == .locked)  // true true
    }
    // end
    try container.close()
  }
}

// OnAServer 3
extension PersistentContainer {
  func performAndSave<T: Sendable>(
    attempts: Int = 100, _ body: @escaping @Sendable (ManagedObjectContext) throws -> T
  ) async throws -> T {
    var attempt = 1
    while true {
      do {
        return try await performBackgroundTask { context in
          let result = try body(context)
          try context.save()
          return result
        }
      } catch let error as PerdureError where error.isConflict && attempt < attempts {
        attempt += 1  // the next context sees the other save
      }
    }
  }
}

extension PerdureError {
  /// Whether an earlier save changed the same property or used the same unique value.
  var isConflict: Bool { code == .mergeConflict || code == .constraintConflict }
}
// end

private enum ServerExample {
  // OnAServer 1
  @Entity final class Product: ManagedObject {
    @Attribute(.unique) var name: String
    @Attribute(.minimum(0)) var stock: Int = 0
  }

  struct ProductView: Codable, Sendable {
    var name: String
    var stock: Int
  }
  // end

  static func run(_ folder: String) async throws {
    let path = folder + "/Shop.perdure"
    // OnAServer 2
    func products(in container: PersistentContainer) async throws -> [ProductView] {
      try await container.performBackgroundTask { context in
        try context.fetch(Product.fetchRequest { $0.stock > 0 })
          .map { ProductView(name: $0.name, stock: $0.stock) }
      }
    }

    let container = try PersistentContainer(name: "Shop", classes: [Product.self], at: path)
    try container.loadPersistentStores()  // once, when the server starts
    // end
    try await container.performAndSave { context in
      let pen = Product(context: context)
      (pen.name, pen.stock) = ("Pen", 20)
    }
    // OnAServer 5
    container.backgroundTaskLimit = 8
    // end
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<3 {
        group.addTask {
          for _ in 0..<3 {
            // OnAServer 4
            try await container.performAndSave { context in
              for pen in try context.fetch(Product.fetchRequest { $0.name == "Pen" }) { pen.stock -= 1 }
            }
            // end
          }
        }
      }
      try await group.waitForAll()
    }
    let views = try await products(in: container)
    #expect(views.map(\.name) == ["Pen"] && views.map(\.stock) == [11])
    try await backUp(container, folder)
    try container.close()
  }

  private static func backUp(_ container: PersistentContainer, _ folder: String) async throws {
    let (monday, tuesday) = (folder + "/Monday.perdure", folder + "/Tuesday.perdure")
    // OnAServer 6
    var options = BackupOptions()  // needs `import PerdureLog`
    options.bytesPerSecond = 8 << 20
    try container.backup(to: monday, options: options)

    // In an asynchronous function: on a separate thread.
    let report = try await container.performBackgroundTask { [options] _ in
      try container.backup(to: tuesday, since: monday, options: options)
    }
    print(report.bytesCopied, report.bytesShared)
    // end
    let inspection = try StoreInspection(at: tuesday)
    #expect(inspection.objectCounts.map(\.count) == [1])
  }
}

private enum OperatingExample {
  @Entity final class Event: ManagedObject {
    @Attribute(.indexed) var day: Int = 0
    var text: String?
  }

  static func run(_ folder: String) throws {
    let path = folder + "/Events.perdure"
    let writer = try container(PersistentStoreDescription(path: path))
    let context = writer.newContext()
    for day in 1...200 { Event(context: context).day = day }
    try context.save()
    do {
      // OperatingAStore 1
      let inspection = try StoreInspection(at: path)
      let log = try inspection.engine.verify()
      let graph = try inspection.verifyGraph()
      print(log.isClean, graph.isClean, graph.rows)
      for finding in log.findings { print(finding) }
      for finding in graph.findings { print(finding) }
      // end
    }
    // OperatingAStore 2
    let description = PersistentStoreDescription(path: path, isReadOnly: true)
    let reader = try PersistentContainer(name: "Reader", classes: [Event.self], description: description)
    try reader.loadPersistentStores()
    let reading = reader.newContext()
    print(try reading.count(for: Event.fetchRequest()))

    Event(context: context).day = 201  // the writer, in this process or another one
    try context.save()
    reading.refreshAllObjects()
    print(try reading.count(for: Event.fetchRequest()))
    // end
    try reader.close()
    try writer.close()
    let salvaged = folder + "/Salvaged.perdure"
    // OperatingAStore 3
    let report = try Store.salvage(from: path, to: salvaged)
    for damage in report.damages { print(damage) }
    print(report.isClean, report.keysMaybeOlder)
    // end
    let again = try container(PersistentStoreDescription(path: salvaged))
    #expect(try again.newContext().count(for: Event.fetchRequest()) == 201)
    try again.close()
    try fullDisk()
  }

  private static func container(_ description: PersistentStoreDescription) throws -> PersistentContainer {
    let container = try PersistentContainer(
      name: "Events", classes: [Event.self], description: description)
    try container.loadPersistentStores()
    return container
  }

  private static func fullDisk() throws {
    let fileSystem = SimulatedFileSystem()
    var description = PersistentStoreDescription(path: "/Events")
    description.configuresEngine = { options in
      options.fileSystem = fileSystem
      (options.checkpoints, options.compactsAutomatically) = (.manual, false)
    }
    let container = try container(description)
    let context = container.newContext()
    for day in 1...200 { Event(context: context).day = day }
    try context.save()
    Event(context: context).day = 201
    fileSystem.inject(FailureKind.shortWrite.failure(nth: 1, repeats: false))
    // OperatingAStore 4
    do {
      try context.save()
    } catch {
      guard (error.cause as? StoreError)?.code == .diskFull else { throw error }
      context.rollback()
      for event in try context.fetch(Event.fetchRequest { $0.day < 100 }) { context.delete(event) }
      try context.save()  // a save that makes the store smaller may use the reserve
    }
    // end
    #expect(fileSystem.injectedFailureCount == 1)
    #expect(try container.newContext().count(for: Event.fetchRequest()) == 101)
    try container.close()
  }
}

private enum PerformanceExample {
  // Performance 1
  @Entity final class Sale: ManagedObject {
    @Attribute(.indexed) var day: Int = 0
    var amount: Int = 0
    @Relationship(inverse: "sales") var shop: Shop?
  }
  @Entity final class Shop: ManagedObject {
    @Attribute(.unique) var name: String
    var firstDay: Int = 0
    @Relationship(inverse: "shop", deleteRule: .cascade) var sales: ToMany<Sale>
    @Attribute(.indexed, derived: "sales.amount.@sum") private(set) var total: Int
  }
  // end

  static func run(_ path: String) throws {
    // Performance 5
    var description = PersistentStoreDescription(path: path, durability: .processCrash)
    description.configuresEngine = { $0.compression = .dictionaries }  // needs `import PerdureLog`
    // end
    let container = try PersistentContainer(
      name: "Sales", classes: [Sale.self, Shop.self], description: description)
    try container.loadPersistentStores()
    // Performance 3
    typealias Row = (shop: String, day: Int, amount: Int)

    func add(_ rows: [Row], to container: PersistentContainer) throws {
      for start in stride(from: 0, to: rows.count, by: 1000) {
        let context = container.newContext()
        for row in rows[start..<min(start + 1000, rows.count)] {
          let sale = Sale(context: context)
          (sale.day, sale.amount) = (row.day, row.amount)
          sale.shop = try context.findOrInsert(Shop.self, where: \.name, equals: row.shop) { new in
            new.firstDay = row.day
          }
        }
        try context.save()
      }
    }
    // end
    let rows: [Row] = (0..<2500).map { (shop: "Shop \($0 % 5)", day: $0 % 10, amount: 1) }
    try add(rows, to: container)
    let context = container.newContext()
    // Performance 2
    print(try context.explain(Sale.fetchRequest { $0.day == 3 && $0.amount > 0 }))
    // end
    // Performance 4
    var sum = 0
    for shop in try context.fetch(Shop.fetchRequest()) {
      for batch in shop.sales.batches(of: 500) { sum += batch.reduce(0) { $0 + $1.amount } }
      print(sum, shop.total)  // the derived sum reads no sale
      sum = 0
    }
    // end
    // Performance 6
    container.log { entry in
      if entry.duration > .milliseconds(50) || entry.failure != nil { print(entry) }
    }
    // end
    try container.close()
  }
}

private enum ModelExample {
  enum First {
    @Entity final class Issue: ManagedObject {
      @Attribute(.indexed) var title: String
      var estimate: Int = 0
      @Relationship(inverse: "issues") var project: Project?
    }
    @Entity final class Project: ManagedObject {
      @Attribute(.unique) var name: String
      var ownerName: String = ""
      @Relationship(inverse: "project", deleteRule: .cascade) var issues: ToMany<Issue>
    }
  }

  enum Second {
    // ChangingAModel 1
    @Entity final class Issue: ManagedObject {
      @Attribute(.indexed) var title: String
      @Attribute(.indexed) var estimate: Int = 0  // new: the index
      var priority: Int = 3  // new: 3 in older objects
      var body: String?  // new: nil in older objects
      @Relationship(inverse: "issues") var project: Project?
    }
    // end
    @Entity final class Project: ManagedObject {
      @Attribute(.unique) var name: String
      var ownerName: String = ""
      @Relationship(inverse: "project", deleteRule: .cascade) var issues: ToMany<Issue>
    }
  }

  // ChangingAModel 3
  @Entity final class Issue: ManagedObject {
    @Attribute(.indexed) var title: String
    @Attribute(.indexed) var hours: Double = 0  // before: estimate, an Int
    var body: String?
    var priority: Int = 3
    @Relationship(inverse: "issues") var project: Project?
  }
  @Entity final class Project: ManagedObject {
    @Attribute(.unique) var name: String
    @Relationship(inverse: "projects") var owner: Owner?  // before: ownerName, a String
    @Relationship(inverse: "project", deleteRule: .cascade) var issues: ToMany<Issue>
  }
  @Entity final class Owner: ManagedObject {
    @Attribute(.unique) var name: String
    @Relationship(inverse: "owner") var projects: ToMany<Project>
  }
  // end

  static func run(_ folder: String) throws {
    let (path, newPath) = (folder + "/Issues.perdure", folder + "/New.perdure")
    try fill(path)
    // ChangingAModel 2
    let container = try PersistentContainer(
      name: "Issues", classes: [Issue.self, Project.self, Owner.self], at: path)
    let metadata = try PersistentContainer.metadataForPersistentStore(at: path)
    print(container.managedObjectModel.isConfiguration(compatibleWithStoreMetadata: metadata))  // false
    do {
      try container.loadPersistentStores()
    } catch {
      guard error.code == .incompatibleModel, let cause = error.cause as? ModelError else { throw error }
      for difference in cause.differences where !difference.isCompatible { print(difference) }
    }
    // end
    // ChangingAModel 4
    func copyStore(at path: String, to newPath: String) throws {
      let model = try PersistentContainer.metadataForPersistentStore(at: path).model
      let old = PersistentContainer(
        name: "Old", model: model, description: PersistentStoreDescription(path: path, isReadOnly: true))
      try old.loadPersistentStores()
      let new = try PersistentContainer(
        name: "New", classes: [Issue.self, Project.self, Owner.self], at: newPath)
      try new.loadPersistentStores()

      var owners: [String: ManagedObjectID] = [:]
      let source = old.newContext()
      for project in try source.fetch(FetchRequest<ManagedObject>(entityName: "Project")) {
        let context = new.newContext()  // one save for each project
        let copy = Project(context: context)
        copy.name = project.value(forKey: "name") as? String ?? ""
        let ownerName = project.value(forKey: "ownerName") as? String ?? ""
        if let id = owners[ownerName] {
          copy.owner = context.object(with: id) as? Owner
        } else if !ownerName.isEmpty {
          let owner = Owner(context: context)
          owner.name = ownerName
          owners[ownerName] = owner.objectID
          copy.owner = owner
        }
        for issue in project.value(forKey: "issues") as? Set<ManagedObject> ?? [] {
          let issueCopy = Issue(context: context)
          issueCopy.title = issue.value(forKey: "title") as? String ?? ""
          issueCopy.hours = Double(issue.value(forKey: "estimate") as? Int ?? 0)
          issueCopy.body = issue.value(forKey: "body") as? String
          issueCopy.priority = issue.value(forKey: "priority") as? Int ?? 3
          issueCopy.project = copy
        }
        try context.save()
      }
      try new.close()
      try old.close()
    }
    // end
    try copyStore(at: path, to: newPath)
    // ChangingAModel 5
    print(try StoreInspection(at: newPath).verifyGraph().isClean)  // true
    try PersistentContainer.replacePersistentStore(at: path, withPersistentStoreAt: newPath)
    try PersistentContainer.destroyPersistentStore(at: newPath)
    // end
    try check(container)
  }

  /// Fills a store with the first model, and changes its objects with the second model.
  private static func fill(_ path: String) throws {
    let first = try PersistentContainer(
      name: "Issues", classes: [First.Issue.self, First.Project.self], at: path)
    try first.loadPersistentStores()
    var context = first.newContext()
    for name in ["Moon", "Mars", "Sun"] {
      let project = First.Project(context: context)
      (project.name, project.ownerName) = (name, name == "Sun" ? "" : "Ada")
      for number in 0..<2 {
        let issue = First.Issue(context: context)
        (issue.title, issue.estimate, issue.project) = ("\(name) \(number)", number, project)
      }
    }
    try context.save()
    try first.close()

    let second = try PersistentContainer(
      name: "Issues", classes: [Second.Issue.self, Second.Project.self], at: path)
    try second.loadPersistentStores()
    context = second.newContext()
    let issues = try context.fetch(Second.Issue.fetchRequest())
    #expect(issues.count == 6 && issues.allSatisfy { $0.body == nil && $0.priority == 3 })
    for issue in issues where issue.estimate == 1 { (issue.body, issue.priority) = ("soon", 5) }
    try context.save()
    try second.close()
  }

  private static func check(_ container: PersistentContainer) throws {
    try container.loadPersistentStores()
    let context = container.newContext()
    let issues = try context.fetch(Issue.fetchRequest())
    #expect(issues.count == 6 && issues.count { $0.hours == 1 && $0.priority == 5 && $0.body == "soon" } == 3)
    let owners = try context.fetch(Owner.fetchRequest())
    #expect(owners.map(\.name) == ["Ada"] && owners.map { $0.projects.count } == [2])
    #expect(try context.count(for: Project.fetchRequest()) == 3)
    try container.close()
  }
}

private enum ComingExample {
  @Entity final class Todo: ManagedObject {
    @Attribute(.unique) var title: String
    var isDone: Bool = false
  }

  static func run(_ path: String) async throws {
    // ComingFromOthers 1
    let container = try PersistentContainer(name: "Todos", classes: [Todo.self], at: path)
    try container.loadPersistentStores()
    let id = try await container.performBackgroundTask { context in
      let todo = Todo(context: context)
      todo.title = "Read"
      try context.save()
      return todo.objectID  // Sendable; the object is not
    }
    // end
    // ComingFromOthers 2
    let context = container.newContext()
    if let todo = try context.existingObject(Todo.self, with: id) {
      todo.isDone = true
      try context.save()
    }
    // end
    // ComingFromOthers 3
    var saves = container.saves().makeAsyncIterator()
    try await container.performBackgroundTask { context in
      for todo in try context.fetch(Todo.fetchRequest { $0.isDone }) { context.delete(todo) }
      try context.save()
    }
    if let event = await saves.next() { print("deleted:", event.deletedObjectIDs == [id]) }
    // end
    try container.close()
  }
}

@Suite("The examples of the articles about operation", .serialized)
struct OperationArticleTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
    _ = takePrintedLines()
  }

  @Test("SavingAndConflicts runs, and prints the text of its comments")
  func saving() throws {
    try SavingExample.run()
    #expect(
      takePrintedLines() == [
        "true cents", "500", "cents: was 500, is 520 here and 600 in the store", "600", "615", "615 1",
        "true Grace",
      ])
  }

  @Test("DurabilityOfSaves runs, even if a sync fails")
  func durability() throws { try DurabilityExample.run(directory.file("Readings.perdure")) }

  @Test("ErrorsAndCodes runs, and prints the text of its comments")
  func errors() throws {
    try ErrorExample.run(directory.file("Club.perdure"))
    let lines = takePrintedLines()
    #expect(lines.count == 5 && lines.first == "true 3" && lines.last == "true true")
    #expect(Set(lines.dropFirst().prefix(3)) == ["1570 email NULL", "1670 name \"\"", "1620 age 12"])
  }

  @Test("OnAServer runs: no decrement is lost, and the backup has all objects")
  func server() async throws { try await ServerExample.run(directory.path) }

  @Test("OperatingAStore runs, even if the disk is full")
  func operating() throws {
    try OperatingExample.run(directory.path)
    #expect(takePrintedLines() == ["true true 200", "200", "201", "true 0"])
  }

  @Test("Performance runs, and its request uses the index as the article shows")
  func performance() throws {
    try PerformanceExample.run(directory.file("Sales.perdure"))
    let lines = takePrintedLines()
    let plan = """
      fetch Sale
        from index on day: 1 range by day
        candidates: 250 of 2500
        filter: amount > 0
      """
    #expect(lines.first == plan)
    #expect(Array(lines.dropFirst()) == Array(repeating: "500 500", count: 5))
    #expect(try Self.article("Performance").contains("```\n\(plan)\n```\n"))
  }

  @Test("ChangingAModel runs, shows the documented differences, and copies every object and link")
  func model() throws {
    try ModelExample.run(directory.path)
    let lines = takePrintedLines()
    #expect(lines.first == "false" && lines.last == "true")
    let kinds = lines.dropFirst().dropLast().map { $0.split(separator: "[").last.map(String.init) ?? "" }
    #expect(kinds == ["propertyRemoved]", "propertyRemoved]"])
  }

  @Test("ComingFromOthers runs")
  func coming() async throws {
    try await ComingExample.run(directory.file("Todos.perdure"))
    #expect(takePrintedLines() == ["deleted: true"])
  }

  // TestingYourApp 1
  @Entity final class Memo: ManagedObject {
    @Attribute(.unique) var number: Int
    var text: String
  }

  func memoContainer() throws -> PersistentContainer {
    let container = try PersistentContainer(name: "Memos", classes: [Memo.self], description: .inMemory)
    try container.loadPersistentStores()
    return container
  }
  // end

  // TestingYourApp 2
  @Test func memoNeedsText() throws {
    let context = try memoContainer().newContext()
    Memo(context: context).number = 1
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .missingMandatoryProperty && error?.details.first?.property == "text")
  }
  // end

  // TestingYourApp 3
  func memoContainer(on fileSystem: SimulatedFileSystem) throws -> PersistentContainer {
    var description = PersistentStoreDescription(path: "/Memos.perdure")
    description.configuresEngine = { options in
      options.fileSystem = fileSystem
      (options.checkpoints, options.compactsAutomatically) = (.manual, false)
    }
    let container = try PersistentContainer(name: "Memos", classes: [Memo.self], description: description)
    try container.loadPersistentStores()
    return container
  }

  func memoNumbers(in container: PersistentContainer) throws -> [Int] {
    try container.newContext().fetch(Memo.fetchRequest()).map(\.number).sorted()
  }
  // end

  // TestingYourApp 4
  struct WrongMemos: Error {}

  func crashReport(_ explorer: CrashExplorer) throws -> CrashReport {
    try explorer.explore { fileSystem, marker in
      let context = try memoContainer(on: fileSystem).newContext()
      for number in 1...3 {
        marker.begin(number)
        let memo = Memo(context: context)
        (memo.number, memo.text) = (number, "text")
        try context.save()
        marker.acknowledge(number)
      }
    } recover: { fileSystem, _ in
      try memoContainer(on: fileSystem)
    } verify: { container, crash in
      let numbers = try memoNumbers(in: container)
      guard numbers.starts(with: crash.acknowledged) else { throw WrongMemos() }  // a save was lost
      guard crash.begun.starts(with: numbers) else { throw WrongMemos() }  // a memo that no save wrote
    }
  }

  @Test func memosSurvivePowerCuts() throws {
    var explorer = CrashExplorer()
    explorer.imagesPerOperationMax = 8
    try crashReport(explorer).check()
  }

  @Test func suiteDetectsEarlyAcknowledgements() throws {
    var explorer = CrashExplorer()
    (explorer.imagesPerOperationMax, explorer.canary) = (8, .acknowledgesEarly)
    #expect(try crashReport(explorer).violation != nil)
  }
  // end

  // TestingYourApp 5
  @Test func memosSurviveFailingCalls() throws {
    var explorer = CrashExplorer()
    explorer.imagesPerOperationMax = 4
    var sweep = FailureSweep()
    sweep.part = 0.02
    let report = sweep.run { fileSystem in
      var saved: [Int] = []
      guard let context = try? memoContainer(on: fileSystem).newContext() else { return saved }
      for number in 1...3 {
        let memo = Memo(context: context)
        (memo.number, memo.text) = (number, "text")
        do { try context.save() } catch { break }
        saved.append(number)
      }
      return saved
    } verify: { saved, fileSystem in
      for disk in explorer.images(of: fileSystem.journal, after: fileSystem.operationCount) {
        let numbers = try memoNumbers(in: memoContainer(on: disk.fileSystem()))
        guard numbers.starts(with: saved), (1...3).starts(with: numbers) else { throw WrongMemos() }
      }
    }
    try report.check()
  }
  // end

  @Test(
    "The code blocks of the articles equal the code in this file",
    arguments: [
      ("SavingAndConflicts", 6), ("DurabilityOfSaves", 3), ("ErrorsAndCodes", 3), ("OnAServer", 6),
      ("TestingYourApp", 5), ("OperatingAStore", 4), ("Performance", 6), ("ChangingAModel", 5),
      ("ComingFromOthers", 3),
    ])
  func sameText(_ article: String, _ count: Int) throws {
    let code = try DocumentedCode("Sources/Perdure/Perdure.docc/\(article).md", in: #filePath)
    #expect(code.counts == (count, count))
    for number in 1...count { try code.expectSame(number) }
  }

  @Test(
    "The tables of ErrorsAndCodes list every code of the source with its number",
    arguments: [
      "Perdure/Context/PerdureError.swift", "Perdure/Fetching/FetchError.swift",
      "PerdureLog/StoreError.swift", "PerdureModel/ModelError.swift",
    ])
  func everyCode(_ source: String) throws {
    let article = try Self.article("ErrorsAndCodes")
    let codes = try Self.text("Sources/\(source)")
      .matches(of: /static let (\w+) = Code\((?:rawValue: ([0-9_]+)|kind: \.\w+)\)/)
    #expect(codes.count >= 4)
    for code in codes {
      let number = code.output.2.map { $0.filter { $0 != "_" } + " | " } ?? ""
      #expect(article.contains("| \(number)`\(code.output.1)` |"), "\(code.output.0)")
    }
  }

  private static func article(_ name: String) throws -> String {
    try text("Sources/Perdure/Perdure.docc/\(name).md")
  }

  private static func text(_ path: String) throws -> String {
    var root = URL(fileURLWithPath: #filePath)
    for _ in 0..<3 { root.deleteLastPathComponent() }
    return try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }
}
