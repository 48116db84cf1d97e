// The table of docs/decisions/0014-three-way-merging.md: the result of each merge policy for each
// kind of conflict.

import Perdure
import PerdureModel
import Testing

/// The policies, in the order of the table's columns.
enum StandardPolicy: String, CaseIterable, Sendable {
  case error, mergeByPropertyStoreTrump, mergeByPropertyObjectTrump, overwrite, rollback

  var policy: MergePolicy {
    switch self {
    case .error: .error
    case .mergeByPropertyStoreTrump: .mergeByPropertyStoreTrump
    case .mergeByPropertyObjectTrump: .mergeByPropertyObjectTrump
    case .overwrite: .overwrite
    case .rollback: .rollback
    }
  }
}

/// The kinds of conflict, in the order of the table's rows. Each name begins with the change in
/// this context.
enum ConflictKind: String, CaseIterable, Sendable {
  case otherProperties = "changed / changed: different properties"
  case sameProperty = "changed / changed: the same property"
  case sameText = "changed / changed: the same text"
  case updateDelete = "changed / deleted"
  case deleteUpdate = "deleted / changed"
  case deleteDelete = "deleted / deleted"
  case deleteLink = "deleted / linked to"
  case linkDelete = "linked to / deleted"
  case manyAdded = "many-to-many: different members added"
  case manyAddedRemoved = "many-to-many: one added / another removed"
  case manySame = "many-to-many: the same member removed"
  case membersAdded = "one-to-many: different members added"
  case placesApart = "ordered: different members moved"
  case placesSame = "ordered: the same member moved"
  case placeRemoved = "ordered: moved / removed"
  case removedPlace = "ordered: removed / moved"
  case placesInserted = "ordered: inserted at the same place"
  case limit = "to-many: greatest number exceeded by both"
  case pair = "one-to-one: paired / paired otherwise"
  case uniqueStored = "unique: inserted / stored"
  case uniqueHere = "unique: two inserted here"
  case uniqueChanged = "unique: changed / stored"

  /// The expected result, by policy. *Here* is the state of this save. *There* is the state of the
  /// other contexts' saves.
  var expected: [String] {
    switch self {
    case .otherProperties: ["both", "both", "both", "here", "there"]
    case .sameProperty: ["133020", "there", "here", "here", "there"]
    case .sameText: ["both", "both", "both", "both", "both"]
    case .updateDelete: ["133020", "deleted", "inserted again", "inserted again", "deleted"]
    case .deleteUpdate: ["133020", "there", "deleted", "deleted", "there"]
    case .deleteDelete: ["deleted", "deleted", "deleted", "deleted", "deleted"]
    case .deleteLink: ["133020", "there", "deleted", "deleted", "there"]
    case .linkDelete: ["133020", "no link", "133020", "133020", "no link"]
    case .manyAdded, .manyAddedRemoved, .manySame, .membersAdded: ["both", "both", "both", "both", "both"]
    case .placesApart, .placesInserted: ["both", "both", "both", "both", "both"]
    case .placesSame: ["133020", "there", "here", "here", "there"]
    case .placeRemoved, .removedPlace: ["removed", "removed", "removed", "removed", "removed"]
    case .limit: ["133020", "133020", "133020", "133020", "there"]
    case .pair: ["133020", "there", "here", "here", "there"]
    case .uniqueStored:
      ["133021", "merged, there first", "merged, here first", "merged, all of here", "there"]
    case .uniqueHere:
      ["133021", "merged, first first", "merged, second first", "merged, all of second", "first"]
    case .uniqueChanged: ["133021", "there", "133021", "133021", "there"]
    }
  }

  /// Whether `OrderedConflict` tests this kind of conflict.
  var isAboutOrder: Bool { rawValue.hasPrefix("ordered") }

  /// The table in Markdown.
  static var table: String {
    let head =
      "| here / there | " + StandardPolicy.allCases.map { "`\($0.rawValue)`" }.joined(separator: " | ") + " |"
    let rule = "|---|" + StandardPolicy.allCases.map { _ in "---|" }.joined()
    let rows = allCases.map { "| \($0.rawValue) | " + $0.expected.joined(separator: " | ") + " |" }
    return ([head, rule] + rows).joined(separator: "\n")
  }
}

/// One cell of the table: two contexts with the same state, and the result if one saves after the
/// other.
struct ConflictScene {
  let container: PersistentContainer
  /// The context that saves last, with the policy.
  let here: ManagedObjectContext
  let there: ManagedObjectContext
  private let ids: [ManagedObjectID]

  init(_ policy: MergePolicy) throws {
    container = try Staff.container()
    let setup = container.newContext()
    let workers = ["w0", "w1", "w2", "w3"].map { setup.worker($0, email: $0) }
    let companies = ["c0", "c1"].map { setup.company($0) }
    let project = Project(context: setup)
    project.members.insert(contentsOf: [workers[0], workers[1]])
    try setup.save()
    ids = workers.map(\.objectID) + companies.map(\.objectID) + [project.objectID]
    here = container.newContext()
    there = container.newContext()
    here.mergePolicy = policy
  }

  private func object<T: ManagedObject>(_ position: Int, _ context: ManagedObjectContext, _ type: T.Type)
    throws -> T
  {
    try #require(try context.existingObject(with: ids[position]) as? T)
  }
  func worker(_ number: Int, _ context: ManagedObjectContext) throws -> Employee {
    try object(number, context, Employee.self)
  }
  func company(_ number: Int, _ context: ManagedObjectContext) throws -> Company {
    try object(4 + number, context, Company.self)
  }
  func project(_ context: ManagedObjectContext) throws -> Project { try object(6, context, Project.self) }
  func isStored(_ position: Int) throws -> Bool {
    (try? container.newContext().existingObject(with: ids[position])) != nil
  }

  /// Makes the changes of the kind in both contexts, saves `there`, and then saves `here`.
  func play(_ kind: ConflictKind) throws -> String {
    try prepare(kind)
    try change(kind, here)
    try changeThere(kind)
    try there.save()
    do throws(PerdureError) {
      try here.save()
    } catch {
      #expect(!error.conflicts.isEmpty, "\(error)")
      try expectAsBefore(kind)
      return "\(error.code.rawValue)"
    }
    #expect(!here.hasChanges)
    return try outcome(kind, container.newContext())
  }

  private func prepare(_ kind: ConflictKind) throws {
    guard kind == .limit else { return }
    try project(there).members.insert(try worker(2, there))
    try project(there).members.remove(try worker(2, there))
    try there.save()
  }

  private func change(_ kind: ConflictKind, _ context: ManagedObjectContext) throws {
    let first = try worker(0, context)
    switch kind {
    case .otherProperties, .sameProperty, .updateDelete: first.salary = 1
    case .sameText: first.name = "same"
    case .deleteUpdate, .deleteDelete: context.delete(first)
    case .deleteLink: context.delete(try company(0, context))
    case .linkDelete: first.company = try company(0, context)
    case .manyAdded, .manyAddedRemoved: first.friends.insert(try worker(2, context))
    case .manySame: try project(context).members.remove(first)
    case .membersAdded: try company(0, context).workers.insert(first)
    case .limit: try project(context).members.insert(try worker(2, context))
    case .pair: try company(0, context).chief = first
    case .uniqueStored: try newcomer("here", context).company = try company(0, context)
    case .uniqueHere:
      try newcomer("first", context).salary = 5
      try newcomer("second", context).company = try company(0, context)
    case .uniqueChanged: first.email = "x"
    case .placesApart, .placesSame, .placeRemoved, .removedPlace, .placesInserted:
      Issue.record("Ordered relationships have a separate scene.")
    }
  }

  private func changeThere(_ kind: ConflictKind) throws {
    let first = try worker(0, there)
    switch kind {
    case .otherProperties: first.name = "there"
    case .sameProperty: first.salary = 2
    case .sameText: first.name = "same"
    case .updateDelete, .deleteDelete: there.delete(first)
    case .deleteUpdate: first.name = "there"
    case .deleteLink: first.company = try company(0, there)
    case .linkDelete: there.delete(try company(0, there))
    case .manyAdded: first.friends.insert(try worker(3, there))
    case .manyAddedRemoved: try project(there).members.remove(first)
    case .manySame: try project(there).members.remove(first)
    case .membersAdded: try company(0, there).workers.insert(try worker(1, there))
    case .limit: try project(there).members.insert(try worker(3, there))
    case .pair: try company(1, there).chief = first
    case .uniqueStored: try newcomer("there", there).salary = 5
    case .uniqueHere: first.name = "there"
    case .uniqueChanged: try worker(1, there).email = "x"
    case .placesApart, .placesSame, .placeRemoved, .removedPlace, .placesInserted: break
    }
  }

  private func newcomer(_ name: String, _ context: ManagedObjectContext) throws -> Employee {
    context.worker(name, email: "x")
  }

  /// Expects that changes are still pending after a refused save, that both ends of relationships
  /// agree, and that a further save is also refused. Then rolls back.
  private func expectAsBefore(_ kind: ConflictKind) throws {
    #expect(here.hasChanges)
    try expectAgreement(here, container.managedObjectModel)
    #expect(throws: PerdureError.self) { try here.save() }
    here.rollback()
    try expectAgreement(here, container.managedObjectModel)
  }

  private func outcome(_ kind: ConflictKind, _ context: ManagedObjectContext) throws -> String {
    try expectWhole(container)
    func first() throws -> Employee { try worker(0, context) }
    switch kind {
    case .otherProperties:
      return text([(try first().salary == 1, "here"), (try first().name == "there", "there")])
    case .sameProperty: return try first().salary == 1 ? "here" : "there"
    case .sameText: return try first().name == "same" ? "both" : "neither"
    case .updateDelete:
      if try !isStored(0) { return "deleted" }
      #expect(try first().name == "w0" && first().email == "w0")
      return try first().salary == 1 ? "inserted again" : "there"
    case .deleteUpdate: return try isStored(0) ? try first().name : "deleted"
    case .deleteDelete: return try isStored(0) ? "there" : "deleted"
    case .deleteLink:
      if try !isStored(4) { return try first().company == nil ? "deleted" : "dangling" }
      return try first().company?.name == "c0" ? "there" : "neither"
    case .linkDelete: return try first().company == nil ? "no link" : "here"
    case .manyAdded:
      return try Set(first().friends.map(\.name)) == ["w2", "w3"] ? "both" : "one"
    case .manyAddedRemoved:
      return try first().friends.map(\.name) == ["w2"] && first().projects.isEmpty ? "both" : "one"
    case .manySame: return try project(context).members.map(\.name) == ["w1"] ? "both" : "one"
    case .membersAdded:
      return try Set(company(0, context).workers.map(\.name)) == ["w0", "w1"] ? "both" : "one"
    case .limit: return try project(context).members.map(\.name).contains("w2") ? "here" : "there"
    case .pair: return try first().leads?.name == "c0" ? "here" : "there"
    case .uniqueStored: return try merged("there", "here", context)
    case .uniqueHere: return try merged("first", "second", context)
    case .uniqueChanged: return try first().email == "x" ? "here" : "there"
    case .placesApart, .placesSame, .placeRemoved, .removedPlace, .placesInserted: return "nothing"
    }
  }

  private func text(_ holds: [(Bool, String)]) -> String {
    let found = holds.filter(\.0).map(\.1)
    return found.count == holds.count ? "both" : found.joined()
  }

  /// Describes the object that has the unique value: one of the two objects, or a merge of both.
  /// After a merge by property, it has the salary of the first object and the company of the
  /// second.
  private func merged(_ first: String, _ second: String, _ context: ManagedObjectContext) throws -> String {
    let request = FetchRequest<Employee>(predicate: try FetchPredicate(format: "email == 'x'"))
    let found = try context.fetch(request)
    let one = try #require(found.count == 1 ? found[0] : nil)
    if one.company == nil { return one.name == first && one.salary == 5 ? first : "neither" }
    if one.salary != 5 { return one.name == second ? "merged, all of \(second)" : "neither" }
    return "merged, \(one.name) first"
  }
}
