// Four contexts on a random model change the same few objects, refresh, roll back and save. Both
// ends of all relationships must always agree in each context. The saved graph must be intact and
// satisfy the limits of its model.

import PerdureModel
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Several contexts on random models")
struct RandomModelRefreshTests {
  @Test("In each context, both ends of relationships always agree, and the stored graph satisfies the model")
  func random() throws {
    var random = SeededGenerator.forTest("random models and refreshes")
    let stepCount = 70
    for _ in 0..<LongRun.count(40, of: stepCount) {
      guard try expectSteps(stepCount, &random, begin: { try Rivals($0) }) else { return }
    }
  }
}

private struct Rivals: RandomEdits, SteppedRun {
  let model: RandomModel
  let container: PersistentContainer
  let contexts: [ManagedObjectContext]
  var random: SeededGenerator
  var trace: [String] = []
  private(set) var failure: StepFailure?
  var held: [ManagedObject] = []

  init(_ random: SeededGenerator) throws {
    self.random = random
    var model = RandomModel(&self.random, rules: [.cascade, .deny, .noAction])
    model.makeTransient(&self.random)
    self.model = model
    container = PersistentContainer(
      name: "Random", model: try ManagedObjectModel(model.descriptions), classes: [], description: .inMemory,
      factory: StoreKind.current.factory)
    try container.loadPersistentStores()
    contexts = (0..<4).map { [container] _ in container.newContext() }
    trace.append(model.text)
  }

  mutating func step() throws {
    let number = Int.random(in: 0..<contexts.count, using: &random)
    let context = contexts[number]
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<16: insert(number)
    case 16..<52: try change(number)
    case 52..<58: try replace(number)
    case 58..<65: try delete(number)
    case 65..<68:
      note("\(number) processes its changes")
      context.processPendingChanges()
    case 68..<76: try refresh(number)
    case 76..<82:
      note("\(number) refreshes all")
      context.refreshAllObjects()
    case 82..<85:
      note("\(number) rolls back")
      context.rollback()
    default: try save(number)
    }
    let found = try disagreements(context, container.managedObjectModel)
    expect(found.isEmpty, found.joined(separator: "\n"))
    let missed = try missedVanished(context)
    expect(missed.isEmpty, "\(missed) have vanished")
    if random.chance(30) { held.removeAll() }
  }

  mutating func note(_ text: String) { trace.append(text) }

  private mutating func expect(_ holds: Bool, _ what: @autoclosure () -> String, line: UInt = #line) {
    guard !holds, failure == nil else { return }
    failure = StepFailure(what(), after: trace, line: line)
  }

  // MARK: Steps

  private mutating func insert(_ number: Int) {
    let entity = random.pick(model.concrete)
    let object = contexts[number].insertNewObject(forEntityName: model.entities[entity].name)
    held.append(object)
    note("\(number) inserts \(text(object))")
  }

  private mutating func save(_ number: Int) throws {
    let context = contexts[number]
    let before = container.newContext().core.viewState.view.sequence
    do {
      try context.save()
      note("\(number) saved")
    } catch {
      note("\(number) not saved: \(error.code) \(error.details.map { "\($0.property) \($0.rule)" })")
      let expected: Set<PerdureError.Code> = [
        .mergeConflict, .relationshipDeniedDelete, .missingMandatoryProperty, .relationshipLacksMinimumCount,
        .relationshipExceedsMaximumCount, .multipleValidationErrors,
      ]
      expect(expected.contains(error.code), "\(error)")
      if random.chance(50) { context.refreshAllObjects() } else if random.chance(60) { context.rollback() }
      return
    }
    expect(!context.hasChanges, "changes after a save")
    try expectWhole(container)
    let newest = container.newContext()
    if newest.core.viewState.view.sequence != before {
      // A context that has just saved sees the newest state.
      let (shown, stored) = (try content(of: context), try content(of: newest))
      expect(shown == stored, "\(number) shows \(shown), and the store has \(stored)")
    }
    let found = Issues.unmet(container.newContext(), model)
    expect(found.isEmpty, found.joined(separator: "\n"))
  }

  /// Returns the stored objects and links that a context shows, from both ends.
  private func content(of context: ManagedObjectContext) throws -> Set<String> {
    var links: Set<String> = []
    for entity in container.managedObjectModel.schemas where !entity.isAbstract {
      var request = FetchRequest<ManagedObject>(entityName: entity.name)
      request.includesSubentities = false
      for object in try context.fetch(request) {
        links.insert(object.objectID.uri)
        for property in entity.properties where property.isRelationship && !property.isTransient {
          for target in object.objectIDs(forRelationshipNamed: property.name) {
            links.insert("\(object.objectID.uri).\(property.name) \(target.uri)")
          }
        }
      }
    }
    return links
  }
}

/// The violations of the model's limits in a stored graph.
private enum Issues {
  static func unmet(_ context: ManagedObjectContext, _ model: RandomModel) -> [String] {
    model.concrete.flatMap { entity -> [String] in
      var request = FetchRequest<ManagedObject>(entityName: model.entities[entity].name)
      request.includesSubentities = false
      guard let objects = try? context.fetch(request) else { return ["\(entity) cannot be fetched"] }
      return objects.flatMap { object in
        model.ends(of: entity).compactMap { end in
          let count = object.objectIDs(forRelationshipNamed: end.name).count
          return end.allows(count) ? nil : "\(object).\(end.name) has \(count) after a save"
        }
      }
    }
  }
}
