// The code blocks of six articles in Perdure.docc. The lines between two marks, such as
// `// Modelling 2` and `// end`, equal the block of that article with that number. Change the
// article and this file together.

import Foundation
import Perdure
import PerdureTestSupport
import Testing

// MARK: - Perdure

private func runLandingPage() throws {
  // Perdure 1
  @Entity final class Project: ManagedObject {
    @Attribute(.unique) var name: String
    @Relationship(inverse: "project", deleteRule: .cascade) var issues: ToMany<Issue>
  }
  @Entity final class Issue: ManagedObject {
    @Attribute(.indexed) var priority: Int = 3
    @Relationship(inverse: "issues") var project: Project?
  }

  let container = try PersistentContainer(
    name: "Plan", classes: [Project.self, Issue.self], at: "Plan.perdure")
  try container.loadPersistentStores()
  let context = container.newContext()
  let website = Project(context: context)
  website.name = "Website"
  Issue(context: context).project = website  // website.issues now contains the issue
  try context.save()  // atomic and durable
  let found = try context.fetch(Issue.fetchRequest { $0.project.name == "Website" })
  print("found:", found.map(\.priority))
  // end
}

// MARK: - GettingStarted

private enum GettingStarted {
  // GettingStarted 1
  @Entity final class Project: ManagedObject {
    @Attribute(.unique) var name: String
    @Relationship(inverse: "project", deleteRule: .cascade) var issues: ToMany<Issue>
  }

  @Entity final class Issue: ManagedObject {
    var title: String
    @Attribute(.indexed) var priority: Int = 3
    var closed: Date?
    @Relationship(inverse: "issues") var project: Project?
  }
  // end

  static func run() async throws {
    // GettingStarted 2
    let container = try PersistentContainer(
      name: "Tracker", classes: [Project.self, Issue.self], at: "Tracker.perdure")
    try container.loadPersistentStores()
    let context = container.newContext()
    // end
    // GettingStarted 3
    let website = Project(context: context)
    website.name = "Website"
    for (title, priority) in [("Broken link", 1), ("New logo", 4), ("Slow search", 2)] {
      let issue = Issue(context: context)
      issue.title = title
      issue.priority = priority
      issue.project = website  // website.issues now contains the issue
    }
    try context.save()
    // end
    // GettingStarted 4
    var request = Issue.fetchRequest {
      $0.closed == nil && $0.priority <= 2 && $0.project.name == "Website"
    }
    request.sortDescriptors = [FetchOrder(\Issue.priority)]
    let urgent = try context.fetch(request)
    for issue in urgent { print(issue.priority, issue.title) }
    // end
    // GettingStarted 5
    urgent[0].closed = Date()
    try context.save()
    print("urgent:", try context.count(for: request))

    context.delete(website)
    print("issues:", try context.count(for: Issue.fetchRequest()))  // its issues are deleted too
    context.rollback()
    print("again:", try context.count(for: Issue.fetchRequest()))
    // end
    // GettingStarted 6
    let id = website.objectID
    let titles = try await container.performBackgroundTask { context in
      try context.existingObject(Project.self, with: id)?.issues.map(\.title).sorted() ?? []
    }
    print("titles:", titles)
    try container.close()
    // end
  }
}

// MARK: - Modelling

// Modelling 9
@Entity(propertiesInExtension: true) class Subscriber: ManagedObject {
  override func awakeFromInsert() { credits = 3 }
}

@EntityProperties extension Subscriber {
  @Attribute(.unique) var login: String?
  var credits: Int16
}
// end

private enum Modelling {
  // Modelling 1
  enum Status: String, AttributeValue, CaseIterable { case open, fixed, rejected }

  @Entity(isAbstract: true) class Entry: ManagedObject {
    @Attribute(.length(1...200)) var title: String
    var created: Date = Date()
  }

  @Entity(indexes: [["status", .descending("priority")]]) final class Issue: Entry {
    var status: Status = .open
    @Attribute(.minimum(1), .maximum(5)) var priority: Int = 3
    var hours: Double = 0
    @Relationship(inverse: "issues", optional: false) var project: Project?
    @Attribute(.indexed, derived: "project.name") private(set) var projectName: String?
  }

  @Entity final class Project: ManagedObject {
    @Attribute(.unique) var name: String
    @Relationship(inverse: "project", deleteRule: .cascade) var issues: OrderedToMany<Issue>
    @Attribute(.indexed, derived: "issues.@count") private(set) var issueCount: Int
    @Attribute(derived: "issues.hours.@sum") private(set) var hours: Double
  }
  // end

  // Modelling 3
  @Entity final class Milestone: ManagedObject {
    var name: String
    var start: Date = Date()
    var end: Date?

    func validateName(_ name: String) throws {
      if name == "TBD" { throw PerdureError.invalid(self, "name", "must say what is due") }
    }
    override func validateForInsert() throws {
      if let end, end < start { throw PerdureError.invalid(self, "end", "must not be before the start") }
    }
  }
  // end

  static func run() throws {
    let container = try PersistentContainer(
      name: "Tracker", classes: [Entry.self, Issue.self, Project.self, Milestone.self], description: .inMemory
    )
    try container.loadPersistentStores()
    let context = container.newContext()
    // Modelling 2
    let website = Project(context: context)
    website.name = "Website"
    let issue = Issue(context: context)
    (issue.title, issue.priority) = ("", 9)
    website.issues.append(issue)  // also sets issue.project
    do {
      try context.save()
    } catch {
      for detail in error.details { print(detail.property, detail.rule) }
    }
    (issue.title, issue.priority, issue.hours) = ("Broken link", 1, 2.5)
    try issue.validateForInsert()  // checks this object, and saves nothing
    try context.save()
    print(issue.projectName ?? "", website.issueCount, website.hours)  // Website 1 2.5
    // end
    #expect(issue.projectName == "Website" && website.issueCount == 1 && website.hours == 2.5)

    // Modelling 4
    let plan = try context.plan(delete: website)  // changes nothing
    print(plan.isDenied, plan.deletedObjectIDs.count)  // false 2
    context.delete(website)
    try context.save()
    // end
    #expect(!plan.isDenied && plan.deletedObjectIDs.count == 2)
    #expect(try context.count(for: Issue.fetchRequest()) == 0)
    try refuse(context)
    try validate(context)
  }

  /// Expects the details that the article shows for block 2.
  private static func refuse(_ context: ManagedObjectContext) throws {
    let project = Project(context: context)
    project.name = "App"
    let issue = Issue(context: context)
    (issue.title, issue.priority, issue.project) = ("", 9, project)
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(
      Set(error?.details.map { "\($0.property) \($0.rule)" } ?? []) == [
        "title must have a length of at least 1", "priority must be at most 5",
      ])
    context.rollback()
  }

  private static func validate(_ context: ManagedObjectContext) throws {
    let milestone = Milestone(context: context)
    (milestone.name, milestone.end) = ("TBD", .distantPast)
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(Set(error?.details.map(\.property) ?? []) == ["name", "end"])
    (milestone.name, milestone.end) = ("Launch", .distantFuture)
    try context.save()
  }

  static func describe() throws {
    // Modelling 5
    let model = try ManagedObjectModel([
      EntityDescription(
        "City",
        properties: [
          .string("name", optional: false), .derived("streetCount", "streets.@count"),
          .toMany("streets", "Street", inverse: "city", deleteRule: .cascade),
        ], uniquenessConstraints: [["name"]]),
      EntityDescription(
        "Street", properties: [.string("name"), .toOne("city", "City", inverse: "streets")]),
    ])
    let container = PersistentContainer(name: "Atlas", model: model, description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let city = context.insertNewObject(forEntityName: "City")
    city["name"] = "Paris"
    try context.save()
    // end
    #expect(city["streetCount"] as? Int == 0 && model.warnings.isEmpty)

    // The model error that the article shows.
    let street = EntityDescription("Street", properties: [.toOne("city", "Town", inverse: "streets")])
    let error = #expect(throws: ModelError.self) { try ManagedObjectModel([street]) }
    #expect(
      error?.problems.map(\.description) == [
        "Street.city: The destination \"Town\" is not in the model. Add the entity, or correct the name. "
          + "[unknownDestination]"
      ])
  }

  // Modelling 7
  @Entity final class Meeting: ManagedObject {
    @Attribute(.indexed) var start: Date? {
      get { primitiveStart }
      set {
        willChangeValue(forKey: "start")
        primitiveStart = newValue
        didChangeValue(forKey: "start")
        primitiveDay = nil
      }
    }

    /// Computed from the start, and kept until it changes.
    @Attribute(.transient) var day: String? {
      get {
        if primitiveDay == nil { primitiveDay = start?.formatted(.iso8601.year().month().day()) }
        return primitiveDay
      }
      set { primitiveDay = newValue }
    }
  }
  // end

  static func ownAccessors() throws {
    let container = try PersistentContainer(
      name: "Meetings", classes: [Meeting.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let meeting = Meeting(context: context)
    meeting.setValue(Date(timeIntervalSinceReferenceDate: 0), forKey: "start")
    #expect(meeting.value(forKey: "day") as? String == "2001-01-01")
    meeting.start = Date(timeIntervalSinceReferenceDate: 86_400)
    #expect(meeting.day == "2001-01-02")
    try context.save()
  }

  // Modelling 8
  @EntityBase class Record: ManagedObject {
    @Attribute(.unique) var identifier: String
    var created: Date = Date()
  }

  @Entity final class Book: Record { var title: String }
  @Entity final class Author: Record { var name: String }
  // end

  static func sharedProperties() throws {
    let container = try PersistentContainer(
      name: "Records", classes: [Book.self, Author.self, Subscriber.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let (book, author) = (Book(context: context, title: "B"), Author(context: context, name: "A"))
    (book.identifier, author.identifier) = ("1", "1")
    let subscriber = Subscriber(context: context)
    subscriber.login = "ada"
    try context.save()
    #expect(book.title == "B" && author.identifier == "1" && subscriber.credits == 3)
  }

  static func accessors() throws {
    // Modelling 6
    @Accessors class Place: ManagedObject {
      var name: String  // "City" requires a name, "River" does not
    }

    @Accessors final class River: Place {
      var length: Double
      var measured: TimeInterval?  // a date
      var cities: ToMany<Place>
    }

    let landscape = try ManagedObjectModel([
      EntityDescription(
        "City", className: "Place",
        properties: [.string("name", optional: false), .toOne("river", "River", inverse: "cities")]),
      EntityDescription(
        "River", className: "River",
        properties: [
          .double("length"), .date("measured"), .string("name"), .toMany("cities", "City", inverse: "river"),
        ]),
    ])
    let map = PersistentContainer(
      name: "Map", model: landscape, classes: [Place.self, River.self], description: .inMemory)
    try map.loadPersistentStores()
    // end
    let context = map.newContext()
    let river = River(context: context)
    (river.name, river.measured) = ("Seine", 5)
    river.addToCities(context.insertNewObject(forEntityName: "City") as! Place)
    river.cities.first?.name = "Paris"
    try context.save()
    #expect(river.length == 0 && river.value(forKey: "name") as? String == "Seine")

    // The error about an accessor that the article shows.
    @Accessors final class Brook: ManagedObject { var length: String }
    let model = try ManagedObjectModel([
      EntityDescription("River", className: "Brook", properties: [.double("length")])
    ])
    let container = PersistentContainer(
      name: "Map", model: model, classes: [Brook.self], description: .inMemory)
    let error = #expect(throws: PerdureError.self) { try container.loadPersistentStores() }
    #expect(
      error?.message.contains(
        ".length has the type String, but River.length is an attribute of the type double. Declare it as Double."
      )
        == true)
  }
}

// MARK: - AttributeTypes

private enum AttributeTypes {
  // AttributeTypes 1
  enum Quality: Int16, AttributeValue, CaseIterable { case raw, checked, rejected }

  struct Settings: CodableAttributeValue, Equatable { var gain = 1.0, channels = [1] }

  @Composite struct Position {
    var latitude: Double = 0
    var longitude: Double = 0
    var place: String?
  }

  struct Color: Equatable { var red: UInt8, green: UInt8, blue: UInt8 }

  struct ColorTransformer: Perdure.ValueTransformer {
    struct Mismatch: Error {}

    func data(from value: Any) throws -> Data {
      guard let color = value as? Color else { throw Mismatch() }
      return Data([color.red, color.green, color.blue])
    }
    func value(from data: Data) throws -> Any {
      let bytes = Array(data)
      guard bytes.count == 3 else { throw Mismatch() }
      return Color(red: bytes[0], green: bytes[1], blue: bytes[2])
    }
  }
  // end

  // AttributeTypes 2
  @Entity(indexes: [["position.latitude"]]) final class Sample: ManagedObject {
    var station: String  // required: a save without a value is refused (1570)
    var taken: Date = Date()  // the time of the insertion
    @Attribute(.unique) var serial: UUID = UUID()  // another one for each object
    var value: Double?  // nil until it is set
    var price: Decimal = 0
    var image: Data?
    var source: URL?
    var quality: Quality = .raw
    var settings: Settings?
    var tags: [String] = []
    var counts: [String: Int]?
    @Attribute(.composite) var position: Position?
    @Attribute(.transformed(by: "SampleColor")) var color: Color?
    @Attribute(.transient) var isSelected: Bool = false
    var previous: ManagedObjectID?  // an object of the same store
  }
  // end

  static func run() throws {
    // AttributeTypes 3
    ValueTransformers.register(ColorTransformer(), named: "SampleColor")  // before loading
    let container = try PersistentContainer(
      name: "Samples", classes: [Sample.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let sample = Sample(context: context, station: "North", price: 12.5)
    sample.settings = Settings(gain: 2)
    sample.tags.append("coast")
    sample.position = Position(latitude: 48.9, longitude: 2.4)
    sample.position?.place = "Paris"
    sample.color = Color(red: 255, green: 0, blue: 0)
    try context.save()
    // end
    // AttributeTypes 4
    let found = try container.newContext().fetch(
      Sample.fetchRequest {
        $0.price == 12.5 && $0.quality == .raw && $0.position.latitude > 40 && $0.value == nil
          && $0.settings != nil && $0.tags == ["coast"]
      })
    print(found.first?.position?.place ?? "", found.first?.color?.red ?? 0)  // Paris 255
    // end
    #expect(found.count == 1 && found.first?.position?.place == "Paris")
    #expect(found.first?.color == sample.color && found.first?.settings == Settings(gain: 2))
    #expect(found.first?.value == nil && found.first?.previous == nil)

    // AttributeTypes 5
    let json = try context.encode([sample])
    let again = try context.decode([Sample].self, from: json)
    print(again[0] === sample)  // true: found by its unique serial
    // end
    #expect(again.count == 1 && again[0] === sample)

    // Not in the article's code. Checks statements of its tables and text.
    func count(_ format: String, _ arguments: (any PredicateArgument)?...) throws -> Int {
      try context.count(
        for: FetchRequest<Sample>(predicate: FetchPredicate(format: format, argumentArray: arguments)))
    }
    #expect(try count("color != nil AND settings == %@", Settings(gain: 2)) == 1)
    #expect(try count("position != nil AND position.place BEGINSWITH 'P' AND price == 12.5") == 1)
    #expect(try count("previous == %@ OR taken > %@", sample.objectID, Date.distantPast) == 1)
    #expect(try count("value != 5 AND NOT value < 5 AND quality == 0") == 1)
    for mistake in [
      "color < nil", "isSelected == YES", "station == 3", "source BEGINSWITH 'h'", "image CONTAINS 1",
    ] {
      #expect(throws: FetchError.self, "\(mistake)") { try count(mistake) }
    }
    sample.setValue(40_000, forKey: "quality")
    #expect(sample.quality == .raw)
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .validation)
    sample["quality"] = 7
    #expect(sample.quality == .raw && sample["quality"] as? Int16 == 7)
  }
}

// MARK: - FaultingAndNPlusOne

private enum FaultingAndNPlusOne {
  // FaultingAndNPlusOne 1
  @Entity final class Project: ManagedObject {
    var name: String
    @Relationship(inverse: "project") var issues: ToMany<Issue>
  }

  @Entity final class Issue: ManagedObject {
    var title: String
    var hours: Double = 0
    @Relationship(inverse: "issues") var project: Project?
    @Relationship(inverse: "issues") var assignee: Person?
  }

  @Entity final class Person: ManagedObject {
    var name: String
    @Relationship(inverse: "assignee") var issues: ToMany<Issue>
  }
  // end

  /// 200 issues of 50 projects and 20 persons.
  private static func container() throws -> PersistentContainer {
    let container = try PersistentContainer(
      name: "Tracker", classes: [Project.self, Issue.self, Person.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let projects = (0..<50).map { _ in Project(context: context) }
    let persons = (0..<20).map { _ in Person(context: context) }
    for (number, project) in projects.enumerated() { project.name = "Project \(number)" }
    for (number, person) in persons.enumerated() { person.name = "Person \(number)" }
    for number in 0..<200 {
      let issue = Issue(context: context)
      (issue.title, issue.hours) = ("Issue \(number)", 2)
      (issue.project, issue.assignee) = (projects[number % 50], persons[number % 20])
    }
    try context.save()
    return container
  }

  static func run() throws {
    let container = try container()
    do {
      let context = container.newContext()
      // FaultingAndNPlusOne 2
      let issues = try context.fetch(Issue.fetchRequest())
      let before = context.statistics
      var names: Set<String> = []
      for issue in issues { names.insert(issue.project?.name ?? "none") }
      let asked = context.statistics.since(before)
      #expect(asked.rowRequestCount <= (issues.count + 63) / 64 + 1)
      // end
      #expect(names.count == 50)
    }
    try prefetch(container.newContext())
    try fault(container)
    try walk(container.newContext())
    try log(container)
  }

  private static func prefetch(_ context: ManagedObjectContext) throws {
    // FaultingAndNPlusOne 3
    var request = Project.fetchRequest()
    request.prefetch { $0.issues.assignee }
    let projects = try context.fetch(request)
    let fetched = context.statistics
    var lines: [String] = []
    for project in projects {
      for issue in project.issues {
        lines.append("\(project.name): \(issue.title), \(issue.assignee?.name ?? "nobody")")
      }
    }
    #expect(context.statistics == fetched)
    // end
    #expect(lines.count == 200)
    #expect(fetched.relationshipRequestCount == 1 && fetched.rowRequestCount == 2)
  }

  private static func fault(_ container: PersistentContainer) throws {
    // FaultingAndNPlusOne 4
    let context = container.newContext()
    var request = Issue.fetchRequest()
    request.includesPropertyValues = false
    let issues = try context.fetch(request)
    print(issues[0].isFault, context.statistics.rowRequestCount)  // true 0
    let hours = issues.reduce(0) { $0 + $1.hours }
    print(hours, context.statistics.rowRequestCount)  // 400.0 4, for 200 issues
    // end
    #expect(hours == 400 && context.statistics.rowRequestCount == 4 && context.statistics.rowCount == 200)
  }

  private static func walk(_ context: ManagedObjectContext) throws {
    // FaultingAndNPlusOne 5
    let project = try context.fetch(Project.fetchRequest())[0]
    let before = context.statistics
    let count = project.issues.count
    let ids = project.issues.objectIDs
    print(count, ids.count, context.statistics.since(before).rowRequestCount)  // 4 4 0

    var hours = 0.0
    for batch in project.issues.batches(of: 500) { hours += batch.reduce(0) { $0 + $1.hours } }
    // end
    #expect(count == 4 && ids.count == 4 && hours == 8)
  }

  private static func log(_ container: PersistentContainer) throws {
    // FaultingAndNPlusOne 6
    container.log { entry in
      if entry.duration > .milliseconds(50) || entry.requests.rowRequestCount > 10 { print(entry) }
    }
    // end
    _ = try container.newContext().fetch(Issue.fetchRequest())
    container.log(nil)
  }
}

// MARK: - SearchAndSorting

private enum SearchAndSorting {
  // SearchAndSorting 1
  @Entity(indexes: [["priority", "created"], .init("open", ["priority"], where: "closed == nil")])
  final class Issue: ManagedObject {
    var title: String
    var priority: Int = 3
    var created: Date = Date()
    var closed: Date?
    var hours: Double = 0
    @Relationship(inverse: "issues") var project: Project?
    @Attribute(.indexed, derived: "canonical:(title)") private(set) var plainTitle: String?
  }

  @Entity final class Project: ManagedObject {
    @Attribute(.indexed) var name: String
    @Relationship(inverse: "project") var issues: ToMany<Issue>
  }
  // end

  /// 200 issues: 120 of the website, then 80 of the app. The first 100 are open.
  private static func context() throws -> ManagedObjectContext {
    let container = try PersistentContainer(
      name: "Tracker", classes: [Project.self, Issue.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let (website, app) = (Project(context: context), Project(context: context))
    (website.name, app.name) = ("Website", "App")
    for number in 0..<200 {
      let issue = Issue(context: context)
      issue.title = [3: "Élan", 5: "Slow search", 6: "Search box"][number] ?? "Issue \(number)"
      (issue.priority, issue.hours) = (number % 5 + 1, 1)
      issue.closed = number < 100 ? nil : Date()
      issue.project = number < 120 ? website : app
    }
    try context.save()
    return context
  }

  static func run() throws {
    let context = try context()
    // SearchAndSorting 2
    let typed = Issue.fetchRequest {
      $0.title.contains("search", .caseInsensitive) && $0.priority.in(1...2) && $0.project.name == "Website"
    }
    let format = FetchRequest<Issue>(
      predicate: try FetchPredicate(
        format: "title CONTAINS[c] %@ AND priority BETWEEN {1, 2} AND project.name == %@", "search", "Website"
      ))
    print(try context.count(for: typed), try context.count(for: format))  // 2 2
    // end
    #expect(try context.count(for: typed) == 2)
    #expect(try Set(context.fetch(typed)) == Set(context.fetch(format)))

    // SearchAndSorting 3
    let request = Issue.fetchRequest { $0.title.equals("elan", [.caseInsensitive, .diacriticInsensitive]) }
    print(try context.explain(request))
    // end
    #expect(
      try context.explain(request) == """
        fetch Issue
          from index on canonical:(title): 1 range by canonical:(title)
          candidates: 1 of 200
        """)
    #expect(try context.fetch(request).map(\.title) == ["Élan"])

    // SearchAndSorting 4
    let urgent = try context.fetch(Issue.self, order: [FetchOrder(\Issue.priority)], limit: 10) {
      $0.closed == nil
    }

    var page = Issue.fetchRequest { $0.closed == nil }
    page.sortDescriptors = [
      FetchOrder(\Issue.priority), FetchOrder(Issue.self, ascending: false) { $0.project.name },
      FetchOrder(\Issue.plainTitle),
    ]
    page.fetchOffset = 20
    page.fetchLimit = 10
    let issues = try context.fetch(page)  // the third page of ten issues
    // end
    #expect(urgent.count == 10 && urgent.allSatisfy { $0.priority == 1 && $0.closed == nil })
    #expect(issues.count == 10 && issues.allSatisfy { $0.priority == 2 && $0.closed == nil })
    #expect(issues.compactMap(\.plainTitle) == issues.compactMap(\.plainTitle).sorted())

    // SearchAndSorting 5
    let open = try context.count(for: Issue.fetchRequest { $0.closed == nil })
    let busy = Project.fetchRequest {
      $0.issues.count > 50 && $0.issues.sum(\.hours) >= 100
        && $0.issues.any { $0.priority == 1 && $0.closed == nil }
    }
    print(open, try context.fetch(busy).map(\.name))  // 100 ["Website"]
    // end
    #expect(try open == 100 && context.fetch(busy).map(\.name) == ["Website"])
    try evaluate(context, issues[0], busy)
  }

  private static func evaluate(
    _ context: ManagedObjectContext, _ issue: Issue, _ busy: FetchRequest<Project>
  ) throws {
    let website = try #require(try context.fetch(busy).first)
    // SearchAndSorting 6
    let rule = try FetchPredicate(format: "priority <= $most AND closed == nil")
    let isUrgent = try rule.evaluate(with: issue, variables: ["most": 2])
    let urgent = FetchRequest<Issue>(predicate: rule.withSubstitutionVariables(["most": 2]))
    print(isUrgent, try context.count(for: urgent))  // true 40

    let found = try website.issues.filtered(by: FetchPredicate(format: "title CONTAINS[c] 'search'"))
    print(found.map(\.title).sorted())  // ["Search box", "Slow search"]
    // end
    #expect(isUrgent && found.map(\.title).sorted() == ["Search box", "Slow search"])
    #expect(try context.count(for: urgent) == 40)
    // Not in the article's code. Checks statements of its tables.
    func plan(_ format: String) throws -> String {
      try context.explain(FetchRequest<Issue>(predicate: FetchPredicate(format: format)))
    }
    for format in ["title BEGINSWITH[cd] 'el'", "title LIKE[cd] 'El?n'", "canonical:(title) == 'elan'"] {
      #expect(try plan(format).contains("index on canonical:(title)"), "\(format)")
    }
    for format in ["title CONTAINS[cd] 'el'", "title ENDSWITH[cd] 'an'", "title MATCHES '.*an'"] {
      #expect(try plan(format).contains("scan"), "\(format)")
    }
  }
}

private enum Requests {
  // SearchAndSorting 7
  @Entity final class Author: ManagedObject {
    var name: String
    var lastSeen: Double = 0
    @Relationship(inverse: "author") var messages: ToMany<Message>
    @Fetched(
      "author == $FETCH_SOURCE AND sent > $FETCH_SOURCE.lastSeen",
      order: [FetchOrder("sent", ascending: false)], limit: 10)
    var unread: [Message]
  }

  @Entity final class Message: ManagedObject {
    var sent: Double = 0
    @Relationship(inverse: "messages") var author: Author?
    @FetchTemplate("sent > $moment", order: [FetchOrder("sent")])
    static func sent(after moment: Double) -> FetchRequest<Message>
  }
  // end

  static func run() throws {
    let container = try PersistentContainer(
      name: "Mail", classes: [Author.self, Message.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    // SearchAndSorting 8
    let author = Author(context: context, name: "Ada")
    for sent in [1.0, 2, 3] { _ = Message(context: context, sent: sent, author: author) }
    author.lastSeen = 1
    print(author.unread.map(\.sent))  // [3.0, 2.0]
    print(try context.fetch(Message.sent(after: 2)).map(\.sent))  // [3.0]
    // end
    #expect(author.unread.map(\.sent) == [3, 2])
    #expect(try context.fetch(Message.sent(after: 2)).map(\.sent) == [3])
  }

  static func describe() throws {
    // SearchAndSorting 9
    let model = try ManagedObjectModel(
      [
        EntityDescription(
          "Person", properties: [.string("name"), .int64("level", optional: false, default: 1)],
          fetchedProperties: [
            FetchedPropertyDescription("peers", "Person", "level == $FETCH_SOURCE.level"),
            FetchedPropertyDescription(
              "experts", "Person", "level >= CAST($FETCHED_PROPERTY.userInfo.least, 'NSNumber')",
              isCached: false, userInfo: ["least": "3"]),
          ])
      ], templates: [FetchRequestTemplate("named", "Person", "name == $name")])
    let container = PersistentContainer(name: "People", model: model, description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let first = context.insertNewObject(forEntityName: "Person")
    print(first.fetchedObjects(forKey: "peers").count)  // 1
    let second = context.insertNewObject(forEntityName: "Person")
    print(first.fetchedObjects(forKey: "peers").count)  // 1: cached
    try context.save()
    context.refresh(first, mergeChanges: true)
    print(first.fetchedObjects(forKey: "peers").count)  // 2
    second["level"] = 5
    print(first.fetchedObjects(forKey: "experts").count)  // 1: fetched at each read
    // end
    #expect(first.fetchedObjects(forKey: "peers") == [first, second])
    #expect(first.fetchedObjects(forKey: "experts") == [second])
    // SearchAndSorting 10
    let unnamed = try model.fetchRequestFromTemplate(
      withName: "named", substitutionVariables: ["name": nil])
    print(try context.count(for: unnamed))  // 2
    var variables: [String: (any PredicateArgument)?] = ["name": "Ada"]
    variables.updateValue(nil, forKey: "name")  // variables["name"] = nil removes the variable
    let again = try model.fetchRequestFromTemplate(
      withName: "named", substitutionVariables: variables)
    print(try context.count(for: again))  // 2
    // end
    #expect(try context.count(for: unnamed) == 2 && context.count(for: again) == 2)

    // Not in the article's code. Checks statements of its text.
    variables["name"] = nil
    let error = #expect(throws: FetchTemplateError.self) {
      try model.fetchRequestFromTemplate(withName: "named", substitutionVariables: variables)
    }
    #expect(error?.problems.map(\.kind) == [.missing])
    #expect(throws: ModelError.self) { try Self.model("level >= $FETCHED_PROPERTY.userInfo.least") }
    let dated = try Self.model("born > CAST(CAST($FETCHED_PROPERTY.userInfo.least, 'NSNumber'), 'NSDate')")
    let people = PersistentContainer(name: "People", model: dated, description: .inMemory)
    try people.loadPersistentStores()
    let child = people.newContext().insertNewObject(forEntityName: "Person")
    child["born"] = Date(timeIntervalSinceReferenceDate: 4)
    #expect(child.fetchedObjects(forKey: "found").count == 1)
    child["born"] = Date(timeIntervalSinceReferenceDate: 2)
    #expect(child.fetchedObjects(forKey: "found") == [])
  }

  private static func model(_ predicate: String) throws -> ManagedObjectModel {
    try ManagedObjectModel([
      EntityDescription(
        "Person", properties: [.int64("level"), .date("born")],
        fetchedProperties: [
          FetchedPropertyDescription(
            "found", "Person", predicate, isCached: false, userInfo: ["least": "3"])
        ])
    ])
  }
}

// MARK: - Tests

@Suite("The code blocks of articles in Perdure.docc")
struct ArticleTests {
  @Test("The landing page and GettingStarted run and print the documented text")
  func starting() async throws {
    let directory = try TemporaryDirectory()
    let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
      [path = directory.path as String] in
      #expect(FileManager.default.changeCurrentDirectoryPath(path))
      try runLandingPage()
      try await GettingStarted.run()
      let error = await #expect(throws: PerdureError.self) { try await GettingStarted.run() }
      #expect(error?.code == .constraintConflict)
    }
    let printed = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
    for line in [
      "found: [3]", "1 Broken link\n2 Slow search", "urgent: 1", "issues: 0", "again: 3",
      "titles: [\"Broken link\", \"New logo\", \"Slow search\"]",
    ] {
      #expect(printed.contains(line + "\n"), "\(line) in \(printed)")
    }
  }

  @Test("Modelling runs") func modelling() throws {
    try Modelling.run()
    try Modelling.describe()
    try Modelling.accessors()
    try Modelling.ownAccessors()
    try Modelling.sharedProperties()
  }

  @Test("AttributeTypes runs") func attributeTypes() throws { try AttributeTypes.run() }

  @Test("FaultingAndNPlusOne runs") func faulting() throws { try FaultingAndNPlusOne.run() }

  @Test("SearchAndSorting runs") func searching() throws {
    try SearchAndSorting.run()
    try Requests.run()
    try Requests.describe()
  }

  @Test(
    "The code blocks of the articles equal the code in this file",
    arguments: [
      ("Perdure", 1), ("GettingStarted", 6), ("Modelling", 9), ("AttributeTypes", 5),
      ("FaultingAndNPlusOne", 6), ("SearchAndSorting", 10),
    ])
  func sameText(article: String, count: Int) throws {
    let code = try DocumentedCode("Sources/Perdure/Perdure.docc/\(article).md", in: #filePath)
    #expect(code.counts == (count, count))
    for number in 1...count { try code.expectSame(number) }
  }
}
