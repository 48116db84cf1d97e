// A family of contexts on a random model. It has two contexts on the store, two children of one of
// them, and a child of one of the children. All contexts change the same few objects, refresh,
// discard changes and save, each with a merge policy.
//
// Both ends of each relationship must always agree in each context. A parent must show its child's
// saves, and a failed save must not change the parent. The stored graph must be intact.

import PerdureModel
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Families of contexts on random models")
struct RandomFamilyTests {
  @Test(
    "Both ends agree in every context, and a parent shows its child's saves",
    arguments: [false, true], [false, true])
  func random(isUnique: Bool, undoes: Bool) throws {
    var random = SeededGenerator.forTest("families on random models \(isUnique) \(undoes)")
    let stepCount = 160
    for _ in 0..<LongRun.count(16, of: stepCount) {
      let isWhole = try expectSteps(stepCount, &random) {
        try Family($0, isUnique: isUnique, undoes: undoes)
      } finish: {
        try $0.finish()
      }
      guard isWhole else { return }
    }
  }
}

private struct Family: RandomEdits, SteppedRun {
  /// The parent of each context, or nil for a context on the store.
  private static let parents: [Int?] = [nil, nil, 0, 0, 2]
  private static let policies: [(name: String, policy: MergePolicy)] = [
    ("error", .error), ("store", .mergeByPropertyStoreTrump), ("object", .mergeByPropertyObjectTrump),
    ("overwrite", .overwrite), ("rollback", .rollback),
  ]

  let model: RandomModel
  let container: PersistentContainer
  var contexts: [ManagedObjectContext] = []
  var watches: [KeptWatch] = []
  var random: SeededGenerator
  var ids: Set<ManagedObjectID> = []
  var trace: [String] = []
  private(set) var failure: StepFailure?
  var held: [ManagedObject] = []

  /// - Parameters:
  ///   - isUnique: Whether the number is unique.
  ///   - undoes: Whether each context has an undo manager. Then edits are also undone and redone.
  init(_ random: SeededGenerator, isUnique: Bool, undoes: Bool) throws {
    self.random = random
    var model = RandomModel(&self.random, rules: [.cascade, .noAction])
    model.order(&self.random)
    model.makeTransient(&self.random)
    model.hasUniqueNumbers = isUnique
    self.model = model
    container = PersistentContainer(
      name: "Family", model: try ManagedObjectModel(model.descriptions), classes: [], description: .inMemory,
      factory: StoreKind.stored.factory)
    try container.loadPersistentStores()
    for parent in Self.parents {
      contexts.append(parent.map { contexts[$0].newChildContext() } ?? container.newContext())
      if undoes { contexts.last?.undoManager = ContextUndoManager() }
      watches.append(KeptWatch())
    }
    trace.append(model.text)
  }

  mutating func step() throws {
    let number = Int.random(in: 0..<contexts.count, using: &random)
    let context = contexts[number]
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<14: insert(number)
    case 14..<44: try change(number)
    case 44..<50: try replace(number)
    case 50..<56: try setNumber(number)
    case 56..<62: try delete(number)
    case 62..<64:
      note("\(number) processes its changes")
      context.processPendingChanges()
    case 64..<70: try refresh(number)
    case 70..<75:
      note("\(number) refreshes all")
      context.refreshAllObjects()
    case 75..<77:
      note("\(number) rolls back")
      context.rollback()
    case 77..<78:
      note("\(number) is reset")
      context.reset()
    case 78..<79:
      note("\(number) starts or stops merging automatically")
      context.automaticallyMergesChangesFromParent.toggle()
    case 79..<81:
      let (name, policy) = random.pick(Self.policies)
      note("\(number) takes policy \(name)")
      context.mergePolicy = policy
    case 81..<87 where context.undoManager != nil: try undo(number)
    default: try save(number)
    }
    try check(number)
    if random.chance(30) { held.removeAll() }
  }

  mutating func note(_ text: String) { trace.append(text) }

  private mutating func expect(_ holds: Bool, _ what: @autoclosure () -> String, line: UInt = #line) {
    if holds || failure != nil { return }
    failure = StepFailure(what(), after: trace, line: line)
  }

  private mutating func check(_ number: Int) throws {
    let found = try disagreements(contexts[number], container.managedObjectModel)
    expect(found.isEmpty, "in \(number): \(found.joined(separator: "\n"))")
    let missed = try missedVanished(contexts[number])
    expect(missed.isEmpty, "in \(number) these have vanished: \(missed)")
    if failure != nil { return }
    let text = trace.joined(separator: "\n")
    try watches[number].check(contexts[number], ids, &random, "in \(number) after \(text)")
  }

  // MARK: Steps

  private mutating func insert(_ number: Int) {
    let entity = random.pick(model.concrete)
    let object = contexts[number].insertNewObject(forEntityName: model.entities[entity].name)
    if random.chance(60) { object.setValue(Int64.random(in: 0..<5, using: &random), forKey: "number") }
    held.append(object)
    ids.insert(object.objectID)
    note("\(number) inserts \(text(object))")
  }

  private mutating func setNumber(_ number: Int) throws {
    guard let object = try draw(random.pick(model.entities.indices), number) else { return }
    let value = random.chance(20) ? nil : Int64.random(in: 0..<5, using: &random)
    note("\(number) \(text(object)).number = \(value.map(String.init) ?? "nil")")
    object.setValue(value, forKey: "number")
  }

  private mutating func undo(_ number: Int) throws {
    let (context, isUndo) = (contexts[number], random.chance(60))
    guard let manager = context.undoManager, isUndo ? manager.canUndo : manager.canRedo else { return }
    let policy: UndoConflictPolicy = random.pick([.refuse, .keepCurrent, .overwrite])
    let mine = try content(context)
    do {
      if isUndo { try context.undo(policy) } else { try context.redo(policy) }
    } catch {
      note("\(number) does not \(isUndo ? "undo" : "redo"), \(policy)")
      expect(error.code == .undoConflict, "\(error)")
      return expect(try content(context) == mine, "a refused undo changed the context")
    }
    note("\(number) \(isUndo ? "undoes" : "redoes"), \(policy)")
  }

  private static let expected: Set<PerdureError.Code> = [
    .mergeConflict, .constraintConflict, .relationshipDeniedDelete, .missingMandatoryProperty,
    .relationshipLacksMinimumCount, .relationshipExceedsMaximumCount, .multipleValidationErrors,
    // A child may pass a transient link to an object that its parent no longer has.
    .objectNotFound,
  ]

  private mutating func save(_ number: Int) throws {
    let (context, parent) = (contexts[number], Self.parents[number].map { contexts[$0] })
    let (mine, above) = (try content(context), try parent.map(content))
    do {
      try context.save()
    } catch {
      note("\(number) not saved: \(error.code) \(error.details.map { "\($0.property) \($0.rule)" })")
      expect(Self.expected.contains(error.code), "\(error)")
      expect(try content(context) == mine, "a failed save changed the context")
      try expect(above == parent.map(content), "a failed save changed the parent")
      if random.chance(50) {
        note("  and refreshes all")
        context.refreshAllObjects()
      } else if random.chance(60) {
        note("  and rolls back")
        context.rollback()
      }
      return
    }
    note("\(number) saved")
    expect(!context.hasChanges, "changes after a save")
    guard let parent else { return try expectWhole(container) }
    if context.core.viewState.view.sequence == context.core.store.view().sequence {
      let (below, shown) = (try content(context), try content(parent))
      expect(below == shown, "child \(below)\nparent \(shown)")
    }
    try check(Self.parents[number] ?? 0)
  }

  /// Saves or discards all changes, beginning with the innermost child. Then all contexts must show
  /// the stored state.
  mutating func finish() throws {
    for number in contexts.indices.reversed() where failure == nil {
      do {
        try contexts[number].save()
      } catch {
        contexts[number].rollback()
      }
    }
    if failure != nil { return }
    try expectWhole(container)
    let stored = try content(container.newContext())
    for number in contexts.indices {
      contexts[number].refreshAllObjects()
      let shown = try content(contexts[number])
      expect(shown == stored, "\(number) shows \(shown)\nnot \(stored)")
    }
  }

  // MARK: Content

  private func content(_ context: ManagedObjectContext) throws -> [String] {
    try container.managedObjectModel.schemas.filter { !$0.isAbstract }.flatMap { entity in
      var request = FetchRequest<ManagedObject>(entityName: entity.name)
      request.includesSubentities = false
      return try context.fetch(request).sorted { $0.reference.rawValue < $1.reference.rawValue }.map {
        object in
        let values = entity.properties.filter { !$0.isTransient }.map {
          "\($0.name)=\(text(object.value(forKey: $0.name)))"
        }
        return "\(text(object)) \(values.joined(separator: " "))"
      }
    }
  }

  /// Omits references to deleted objects. A context shows a deleted object until a save accepts or
  /// refuses the deletion. It also shows references that the delete rule `.noAction` leaves. A
  /// child shows neither.
  private func text(_ value: Any?) -> String {
    switch value {
    case let objects as [ManagedObject]: "\(objects.filter { !isGoing($0) }.map(text))"
    case let objects as Set<ManagedObject>: "\(objects.filter { !isGoing($0) }.map(text).sorted())"
    case let object as ManagedObject: isGoing(object) ? "nil" : text(object)
    default: value.map { "\($0)" } ?? "nil"
    }
  }

  private func isGoing(_ object: ManagedObject) -> Bool {
    object.isDeleted || object.core.pending.isDeleted(object.reference)
  }
}
