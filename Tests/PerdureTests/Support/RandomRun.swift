// A run of random steps on a random model: its random generator, the trace of its steps, and checks
// of the required state of contexts.

import PerdureModel
import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

/// The state that all contexts of a run share. Objects have numbers, which are never reused.
final class RandomRun {
  let model: RandomModel
  var random: SeededGenerator
  private(set) var ids: [Int: ManagedObjectID] = [:]
  private var numbers: [ManagedObjectID: Int] = [:]
  /// The objects that have been saved at some time.
  private(set) var known: [Int] = []
  private var trace: [String]
  private(set) var failure: StepFailure?

  init(_ model: RandomModel, _ random: SeededGenerator) {
    (self.model, self.random) = (model, random)
    trace = [model.text]
  }

  var hasFailed: Bool { failure != nil }

  func note(_ text: String) { trace.append(text) }

  func expect(_ holds: Bool, _ what: @autoclosure () -> String, line: UInt = #line) {
    if holds || hasFailed { return }
    failure = StepFailure(what(), after: trace, line: line)
  }

  // MARK: Objects

  /// Registers a new object, and returns its number.
  func add(_ id: ManagedObjectID) -> Int {
    let number = ids.count
    setID(id, number)
    return number
  }

  func setID(_ id: ManagedObjectID, _ number: Int) {
    ids[number] = id
    numbers[id] = number
  }

  func noteSaved(_ state: PartState) {
    let before = Set(known)
    known += state.graph.living.filter { !before.contains($0) }
  }

  func object(_ number: Int, in context: ManagedObjectContext) -> ManagedObject {
    context.object(with: ids[number]!)
  }

  /// The members of an end in the order that the context shows, with -1 for an unknown object.
  func targets(_ owner: Int, _ end: RandomEnd, in context: ManagedObjectContext) -> [Int] {
    object(owner, in: context).objectIDs(forRelationshipNamed: end.name).map { numbers[$0] ?? -1 }
  }
}

// MARK: - Required content

/// The required content of a context. It is computed for each use, because reading may move the
/// context to a newer snapshot.
struct Showing {
  let context: ManagedObjectContext
  let name: String
  /// Returns the state of each part, including unsaved changes.
  let shown: () -> [PartState]
  /// Returns the state of each part without unsaved changes.
  let stored: () -> [PartState]
}

extension RandomRun {
  func check(_ showing: Showing) throws {
    if hasFailed { return }
    let sequence = showing.context.core.viewState.view.sequence
    checkObjects(showing)
    try checkFetches(showing)
    try checkExistence(showing)
    if showing.context.core.viewState.view.sequence != sequence { checkObjects(showing) }
  }

  private func checkObjects(_ showing: Showing) {
    for state in showing.shown() {
      for number in state.graph.living {
        let shown = object(number, in: showing.context)
        let value = shown.value(forKey: "number") as? Int
        expect(
          value == state.values[number] && !shown.isDeleted,
          "in \(showing.name) the number of \(number) is \(value as Any), or it is deleted")
        for end in state.graph.ends(of: number) { check(shown, number, end, state, showing) }
      }
    }
  }

  private func check(
    _ shown: ManagedObject, _ number: Int, _ end: RandomEnd, _ state: PartState, _ showing: Showing
  ) {
    let (context, place) = (showing.context, "in \(showing.name) \(number).\(end.name)")
    let expected = state.graph.targets(number, end)
    let found = targets(number, end, in: context)
    expect(
      found.count == expected.count && Set(found) == expected,
      "\(place) is \(found), not \(expected.sorted())")
    guard end.isToMany else {
      let target = shown.value(forKey: end.name) as? ManagedObject
      return expect(target?.objectID == expected.first.flatMap { ids[$0] }, "\(place) is not its value")
    }
    if end.isOrdered {
      expect(found == state.members(number, end), "\(place) is \(found), not \(state.members(number, end))")
    }
    let set = shown.mutableSetValue(forKey: end.name)
    expect(set.count == expected.count, "\(place) counts \(set.count)")
    if random.chance(20) {
      let walked = set.map { $0.objectID }
      expect(
        walked.count == expected.count && Set(walked) == Set(expected.compactMap { ids[$0] }),
        "\(place) is walked as \(walked)")
    }
    let others = state.graph.living(end.destination)
    guard !others.isEmpty, random.chance(20) else { return }
    let other = random.pick(others)
    expect(
      set.contains(object(other, in: context)) == expected.contains(other)
        && set.contains(ids[other]!) == expected.contains(other),
      "whether \(place) contains \(other)")
  }

  // MARK: Fetches

  private func checkFetches(_ showing: Showing) throws {
    try expectLayer(showing.context)
    for entity in model.entities.indices where model.entities[entity].parent == nil {
      let request = FetchRequest<ManagedObject>(entityName: model.entities[entity].name)
      try check(request, showing) { $0.graph.living(entity) }
    }
    let entity = random.pick(model.entities.indices)
    let (predicate, holds) = try condition(entity)
    let request = FetchRequest<ManagedObject>(entityName: model.entities[entity].name, predicate: predicate)
    try check(request, showing) { state in
      state.graph.living(entity).filter { holds(state, $0) }
    }
  }

  private func check(
    _ request: FetchRequest<ManagedObject>, _ showing: Showing, _ wanted: (PartState) -> [Int]
  ) throws {
    let (context, name) = (showing.context, showing.name)
    let text = "\(request.entityName ?? "") \(request.predicate.map { "\($0)" } ?? "")"
    let found = try context.fetch(request).compactMap { numbers[$0.objectID] ?? -1 }.sorted()
    // Computed after the fetch, because the fetch may have moved the context to a newer snapshot.
    let expected = showing.shown().flatMap(wanted).sorted()
    expect(found == expected, "in \(name) a fetch of \(text) finds \(found), not \(expected)")
    let count = try context.count(for: request)
    expect(count == expected.count, "in \(name) \(text) are \(count), not \(expected.count)")
    guard random.chance(20) else { return }
    var saved = request
    saved.includesPendingChanges = false
    let stored = try context.fetchIDs(saved).map { numbers[$0] ?? -1 }.sorted()
    let expectedStored = showing.stored().flatMap(wanted).sorted()
    expect(stored == expectedStored, "in \(name) stored \(text) are \(stored), not \(expectedStored)")
  }

  /// Returns a predicate on the attribute or an end of an entity, and a function that evaluates the
  /// same condition on plain values. A fetch does not follow a link to an object with a pending
  /// deletion, even if a rule denies the deletion.
  private func condition(_ entity: Int) throws -> (FetchPredicate, (PartState, Int) -> Bool) {
    let ends = model.ends(of: entity)
    let least = Int.random(in: 0...max(1, ids.count), using: &random)
    guard random.chance(70), !ends.isEmpty else {
      return (try FetchPredicate(format: "number >= %@", least), { ($0.values[$1] ?? 0) >= least })
    }
    let end = random.pick(ends)
    if end.isToMany, random.chance(50) {
      let count = Int.random(in: 0...3, using: &random)
      return (
        try FetchPredicate(format: "\(end.name).@count >= %@", count),
        { Self.visibleTargets($1, end, $0).count >= count }
      )
    }
    let format = end.isToMany ? "ANY \(end.name).number >= %@" : "\(end.name).number >= %@"
    return (
      try FetchPredicate(format: format, least),
      { state, number in
        Self.visibleTargets(number, end, state).contains { (state.values[$0] ?? 0) >= least }
      }
    )
  }

  private static func visibleTargets(_ owner: Int, _ end: RandomEnd, _ state: PartState) -> [Int] {
    state.graph.targets(owner, end).filter { !state.graph.isDeleted($0) }
  }

  /// Checks that an object that was saved at some time exists if and only if the state has it.
  private func checkExistence(_ showing: Showing) throws {
    guard !known.isEmpty else { return }
    let number = random.pick(known)
    let states = showing.shown().filter { $0.graph.objects[number] != nil }
    // An object with an unsaved deletion still exists.
    if states.contains(where: { $0.graph.isDeleted(number) }) { return }
    do {
      _ = try showing.context.existingObject(with: ids[number]!)
      expect(!states.isEmpty, "in \(showing.name) \(number) is there")
    } catch {
      expect(
        states.isEmpty && error.code == .objectNotFound,
        "in \(showing.name) \(number) is missing: \(error)"
      )
    }
  }
}
