// Two contexts change the same few objects, and refresh and save at random. In each context, both
// ends of all relationships must always agree. The saved graph must be intact.

import PerdureModel
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Two contexts that refresh at random")
struct RandomRefreshTests {
  @Test("In each context, both ends of relationships always agree, and the stored graph stays intact")
  func random() throws {
    var random = SeededGenerator.forTest("random refreshes")
    for _ in 0..<6 {
      var rivals = try Rivals(SeededGenerator(seed: random.next()))
      for _ in 0..<80 where !rivals.hasFailed { try rivals.step() }
    }
  }
}

private struct Rivals {
  let container: PersistentContainer
  let contexts: [ManagedObjectContext]
  var random: SeededGenerator
  var trace: [String] = []
  var hasFailed = false
  /// The retained objects. Other objects are freed and loaded again.
  var held: [ManagedObject] = []

  init(_ random: SeededGenerator) throws {
    container = try Staff.container()
    contexts = [container.newContext(), container.newContext()]
    self.random = random
    let context = contexts[0]
    for _ in 0..<4 { _ = context.worker("w") }
    for _ in 0..<3 { _ = (context.company("c"), Department(context: context), Project(context: context)) }
    try context.save()
    contexts[1].refreshAllObjects()
  }

  mutating func step() throws {
    let number = Int.random(in: 0..<2, using: &random)
    let context = contexts[number]
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<40: try setToOne(context)
    case 40..<54: try toggle(context)
    case 54..<62: try delete(context)
    case 62..<66: note("\(number) insert \(insert(context))")
    case 66..<69: context.processPendingChanges()
    case 69..<78: try refresh(context)
    case 78..<84:
      note("\(number) refresh all")
      context.refreshAllObjects()
    case 84..<86:
      note("\(number) rollback")
      context.rollback()
      try expectSame(context)
    default: try save(context)
    }
    let found = try disagreements(context, container.managedObjectModel)
    #expect(found.isEmpty, "\(found.joined(separator: "\n"))\n\(trace.joined(separator: "\n"))")
    hasFailed = !found.isEmpty
    if Bool.random(using: &random) { held.removeAll() }
  }

  private mutating func note(_ text: String) { trace.append(text) }

  private mutating func draw<T: ManagedObject>(_ type: T.Type, _ context: ManagedObjectContext) throws -> T? {
    let found = try context.fetch(FetchRequest<T>()).sorted { $0.objectID.uri < $1.objectID.uri }
    let picked = found.isEmpty ? nil : random.pick(found)
    if let picked { held.append(picked) }
    return picked
  }

  private func insert(_ context: ManagedObjectContext) -> ManagedObject {
    held.count % 2 == 0 ? context.worker("w") : context.company("c")
  }

  private mutating func setToOne(_ context: ManagedObjectContext) throws {
    let choice = random.pick(
      [
        (Employee.self, "company", Company.self), (Employee.self, "leads", Company.self),
        (Employee.self, "spouse", Employee.self), (Employee.self, "mentor", Employee.self),
        (Company.self, "chief", Employee.self), (Department.self, "parent", Department.self),
        (Department.self, "company", Company.self),
      ] as [(ManagedObject.Type, String, ManagedObject.Type)])
    guard let source = try pick(choice.0, context) else { return }
    let target = random.chance(70) ? try pick(choice.2, context) : nil
    note("\(context === contexts[0] ? 0 : 1) \(source) \(choice.1) = \(target.map { "\($0)" } ?? "nil")")
    source.setValue(target, forKey: choice.1)
  }

  /// Draws an object of a class that is known only at run time.
  private mutating func pick(
    _ type: ManagedObject.Type, _ context: ManagedObjectContext
  ) throws -> ManagedObject? {
    if type == Employee.self { return try draw(Employee.self, context) }
    if type == Company.self { return try draw(Company.self, context) }
    return try draw(Department.self, context)
  }

  private mutating func toggle(_ context: ManagedObjectContext) throws {
    guard let worker = try draw(Employee.self, context) else { return }
    note("\(context === contexts[0] ? 0 : 1) toggle \(worker)")
    if random.chance(50), let friend = try draw(Employee.self, context) {
      if worker.friends.contains(friend) {
        worker.friends.remove(friend)
      } else {
        worker.friends.insert(friend)
      }
    } else if let project = try draw(Project.self, context) {
      let links = random.chance(50) ? worker.projects : worker.bookmarks
      if links.contains(project) { links.remove(project) } else { links.insert(project) }
    }
  }

  private mutating func anything(_ context: ManagedObjectContext) throws -> ManagedObject? {
    switch Int.random(in: 0..<4, using: &random) {
    case 0: try draw(Employee.self, context)
    case 1: try draw(Company.self, context)
    case 2: try draw(Department.self, context)
    default: try draw(Project.self, context)
    }
  }

  private mutating func delete(_ context: ManagedObjectContext) throws {
    guard let object = try anything(context) else { return }
    note("\(context === contexts[0] ? 0 : 1) delete \(object)")
    context.delete(object)
  }

  private mutating func refresh(_ context: ManagedObjectContext) throws {
    let deleted = context.deletedObjects.sorted { $0.objectID.uri < $1.objectID.uri }
    let found = !deleted.isEmpty && random.chance(50) ? random.pick(deleted) : try anything(context)
    guard let found else { return }
    let merges = random.chance(50)
    note("\(context === contexts[0] ? 0 : 1) refresh \(found) \(merges)")
    context.refresh(found, mergeChanges: merges)
  }

  private mutating func save(_ context: ManagedObjectContext) throws {
    let number = context === contexts[0] ? 0 : 1
    do {
      try context.save()
      note("\(number) saved")
    } catch {
      note("\(number) not saved: \(error.code)")
      #expect(
        [.mergeConflict, .relationshipExceedsMaximumCount, .multipleValidationErrors].contains(error.code),
        "\(error)")
      if random.chance(60) { context.refreshAllObjects() } else if random.chance(50) { context.rollback() }
      return
    }
    // A save without changes does not advance the context.
    if context.core.viewState.view.sequence == context.core.store.view().sequence { try expectSame(context) }
    try expectWhole(container)
  }

  /// Expects that a context without changes shows the stored state.
  private func expectSame(_ context: ManagedObjectContext) throws {
    let shown = try content(context)
    let stored = try content(container.newContext())
    #expect(shown == stored, "\(trace.joined(separator: "\n"))")
  }

  private func content(_ context: ManagedObjectContext) throws -> [String] {
    let model = container.managedObjectModel
    return try model.schemas.filter { !$0.isAbstract }.flatMap { entity in
      let request = FetchRequest<ManagedObject>(entityName: entity.name)
      return try context.fetch(request).map { object in
        let values = entity.properties.map { "\($0.name)=\(text(object.value(forKey: $0.name)))" }
        return "\(object.objectID.uri) \(values.joined(separator: " "))"
      }
    }.sorted()
  }

  private func text(_ value: Any?) -> String {
    if let objects = value as? Set<ManagedObject> { return "\(objects.map(\.objectID.uri).sorted())" }
    if let object = value as? ManagedObject { return object.objectID.uri }
    return value.map { "\($0)" } ?? "nil"
  }
}
