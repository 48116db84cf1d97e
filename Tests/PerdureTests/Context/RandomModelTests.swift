// Compares a context on a random model with plain sets. After random edits at both ends, deletions,
// saves and refusals, both must show the same links.

import Perdure
import PerdureLog
import PerdureModel
import PerdureTestSupport
import Testing

@Suite("Random models")
struct RandomModelTests {
  @Test(
    "With random entities, relationships, rules and limits, a context shows the same as plain sets",
    arguments: StoreKind.allCases)
  func random(_ kind: StoreKind) throws {
    var random = SeededGenerator.forTest("random models")
    let stepCount = 90
    for _ in 0..<LongRun.count(kind == .naive ? 60 : 20, of: stepCount) {
      guard try expectSteps(stepCount, &random, begin: { try World(kind, $0) }) else { return }
    }
  }
}

private struct World: SteppedRun {
  let model: RandomModel
  private let kind: StoreKind
  private let directory: TemporaryDirectory
  var container: PersistentContainer
  var context: ManagedObjectContext
  var random: SeededGenerator
  /// The content of the context, and of the store.
  var current: GraphTwin
  var saved: GraphTwin
  var ids: [Int: ManagedObjectID] = [:]
  /// The retained objects. Other objects are freed and loaded again.
  var held: [ManagedObject] = []
  var trace: [String] = []
  private(set) var failure: StepFailure?

  init(_ kind: StoreKind, _ random: SeededGenerator) throws {
    self.random = random
    var model = RandomModel(&self.random, rules: [.cascade, .cascade, .deny])
    model.makeTransient(&self.random)
    self.model = model
    self.kind = kind
    directory = try TemporaryDirectory()
    container = try kind.container(model, in: directory)
    context = container.newContext()
    (current, saved) = (GraphTwin(model), GraphTwin(model))
    trace.append(model.text)
  }

  private func object(_ number: Int, in context: ManagedObjectContext) -> ManagedObject {
    context.object(with: ids[number]!)
  }

  private func object(_ number: Int) -> ManagedObject { object(number, in: context) }

  // MARK: Steps

  mutating func step() throws {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<18: insert()
    case 18..<56: change()
    case 56..<64: replace()
    case 64..<72: try delete()
    case 72..<82: try save()
    case 82..<85: rollback()
    case 85..<88: refreshAll()
    case 88..<92: refresh()
    default: held.removeAll { _ in Bool.random(using: &random) }
    }
    check(current, in: context)
  }

  private mutating func insert() {
    let entity = random.pick(model.concrete)
    let made = context.insertNewObject(forEntityName: model.entities[entity].name)
    let number = ids.count
    ids[number] = made.objectID
    made.setValue(number, forKey: "number")
    current.objects[number] = GraphTwin.Object(entity: entity)
    if random.chance(50) { held.append(made) }
    trace.append("insert \(number) of E\(entity)")
  }

  /// An object with relationships that is not deleted, and one of its ends.
  private mutating func pick() -> (owner: Int, end: RandomEnd)? {
    let living = current.living.filter { !current.ends(of: $0).isEmpty }
    guard !living.isEmpty else { return nil }
    let owner = random.pick(living)
    return (owner, random.pick(current.ends(of: owner)))
  }

  private mutating func change() {
    guard let (owner, end) = pick() else { return }
    let targets = current.targets(owner, end).sorted()
    if !targets.isEmpty, random.chance(30) {
      let target = random.pick(targets)
      trace.append("\(owner).\(end.name) loses \(target)")
      current.disconnect(owner, end, target)
      if end.isToMany {
        object(owner).mutableSetValue(forKey: end.name).remove(object(target))
      } else {
        object(owner).setValue(nil, forKey: end.name)
      }
      return
    }
    let candidates = current.living(end.destination)
    guard !candidates.isEmpty else { return }
    let target = random.pick(candidates)
    trace.append("\(owner).\(end.name) gets \(target)")
    current.connect(owner, end, target)
    if end.isToMany {
      object(owner).mutableSetValue(forKey: end.name).insert(object(target))
    } else {
      object(owner).setValue(object(target), forKey: end.name)
    }
  }

  private mutating func replace() {
    guard let (owner, end) = pick(), end.isToMany else { return }
    let wanted = current.living(end.destination).filter { _ in random.chance(30) }
    trace.append("\(owner).\(end.name) is \(wanted)")
    for target in current.targets(owner, end).subtracting(wanted) { current.disconnect(owner, end, target) }
    for target in wanted { current.connect(owner, end, target) }
    let objects = wanted.map { object($0) }
    if random.chance(50) {
      object(owner).setValue(Set(objects), forKey: end.name)
    } else {
      object(owner).mutableSetValue(forKey: end.name).replace(with: objects)
    }
  }

  private mutating func delete() throws {
    guard !current.living.isEmpty else { return }
    let numbers = (0..<(random.chance(70) ? 1 : 2)).map { _ in random.pick(current.living) }
    trace.append("delete \(numbers)")
    let before = current
    let plan = try context.plan(delete: numbers.map { object($0) })
    check(before, in: context)
    for number in numbers {
      context.delete(object(number))
      current.objects[number]?.isDeleted = true
    }
    // Applies the delete rules at once, so that no object stays linked to a deleted object.
    context.processPendingChanges()
    current.propagate()
    check(plan, before)
  }

  /// Compares the prediction of a plan with the result of the deletion.
  private mutating func check(_ plan: DeletionPlan, _ before: GraphTwin) {
    let gone = Set(before.living).subtracting(current.living)
    expect(
      plan.deletedObjectIDs.count == gone.count
        && Set(plan.deletedObjectIDs) == Set(gone.compactMap { ids[$0] }),
      "plan deletes \(plan.deletedObjectIDs), not \(gone)")
    let lost = current.living.flatMap { number in
      current.ends(of: number).flatMap { end in
        before.targets(number, end).subtracting(current.targets(number, end)).map { text(number, end, $0) }
      }
    }
    expect(
      plan.nullified.map(text).sorted() == lost.sorted(), "plan nullifies \(plan.nullified), not \(lost)")
    let denied = gone.flatMap { number in
      current.ends(of: number).filter { $0.rule == .deny }.flatMap { end in
        current.targets(number, end).filter { !current.isDeleted($0) }.map { text(number, end, $0) }
      }
    }
    expect(
      plan.denied.map(text).sorted() == denied.sorted(), "plan is denied by \(plan.denied), not \(denied)")
    expect(plan.leftBehind.isEmpty, "no rule leaves anything")
  }

  private func text(_ owner: Int, _ end: RandomEnd, _ target: Int) -> String {
    "\(ids[owner]!.uri) \(end.name) \(ids[target]!.uri)"
  }

  private func text(_ link: DeletionPlan.Link) -> String {
    "\(link.owner.uri) \(link.property) \(link.objectID.uri)"
  }

  private mutating func save() throws {
    let violations = current.violations
    do {
      try context.save()
    } catch {
      trace.append("not saved")
      expect(!violations.isEmpty, "refused without reason: \(error)")
      let codes: Set<PerdureError.Code> = [
        .relationshipDeniedDelete, .missingMandatoryProperty, .relationshipLacksMinimumCount,
        .relationshipExceedsMaximumCount,
      ]
      expect(
        error.details.count == violations.count && error.details.allSatisfy { codes.contains($0.code) },
        "\(error.details), not \(violations)")
      if random.chance(60) { rollback() }
      return
    }
    trace.append("saved")
    expect(violations.isEmpty, "saved in spite of \(violations)")
    expect(!context.hasChanges, "has changes after a save")
    current.save()
    saved = current
    check(current, in: container.newContext(), isOther: true)
    if random.chance(30) { try expectWhole(container) }
    if kind == .engine, random.chance(5) { try reopen() }
  }

  private mutating func reopen() throws {
    trace.append("closed and opened again")
    held = []
    try container.close()
    container = try kind.container(model, in: directory)
    context = container.newContext()
    for (number, id) in ids { ids[number] = container.managedObjectID(forURI: id.uri) ?? id }
    current.forgetTransients()
    saved.forgetTransients()
    check(current, in: context)
  }

  private mutating func rollback() {
    trace.append("rollback")
    context.rollback()
    current = saved
  }

  private mutating func refreshAll() {
    trace.append("refresh all")
    context.refreshAllObjects()
    let changed = current.objects.keys.filter { current.isDeleted($0) || object($0).hasChanges }
    current.forgetTransients(except: Set(changed))
    saved.forgetTransients(except: Set(changed))
  }

  /// Refreshes one object. Links that it loses because this context deleted the other end are not
  /// checked.
  private mutating func refresh() {
    guard !current.living.isEmpty else { return }
    let number = random.pick(current.living)
    let merges = random.chance(50)
    if !merges, current.living.count < current.objects.count { return }
    trace.append("refresh \(number), \(merges ? "merging" : "forgetting")")
    context.refresh(object(number), mergeChanges: merges)
    if !merges {
      // If this context deleted an object and saved, the object is not linked again, because it no
      // longer exists.
      current.forgetChanges(of: number, saved)
      guard saved.objects[number] != nil else { return }
      current.forgetTransients(of: number)
      saved.forgetTransients(of: number)
    }
  }

  // MARK: Checks

  private mutating func expect(_ holds: Bool, _ what: @autoclosure () -> String, line: UInt = #line) {
    guard !holds, failure == nil else { return }
    failure = StepFailure(what(), after: trace, line: line)
  }

  /// - Parameter isOther: True for a context other than the edited one. Other contexts have no
  ///   transient links.
  private mutating func check(_ twin: GraphTwin, in context: ManagedObjectContext, isOther: Bool = false) {
    var twin = twin
    if isOther { twin.forgetTransients() }
    for number in twin.living {
      let shown = object(number, in: context)
      for end in twin.ends(of: number) {
        let expected = Set(twin.targets(number, end).compactMap { ids[$0] })
        let found = shown.objectIDs(forRelationshipNamed: end.name)
        expect(
          found.count == expected.count && Set(found) == expected,
          "\(number).\(end.name) is \(found), not \(twin.targets(number, end).sorted())")
        guard end.isToMany else { continue }
        let set = shown.mutableSetValue(forKey: end.name)
        expect(set.count == expected.count, "\(number).\(end.name) counts \(set.count)")
        guard let other = twin.living(end.destination).first, random.chance(20) else { continue }
        expect(
          set.contains(object(other, in: context)) == twin.targets(number, end).contains(other)
            && set.contains(ids[other]!) == twin.targets(number, end).contains(other),
          "whether \(number).\(end.name) contains \(other)")
      }
    }
  }
}
