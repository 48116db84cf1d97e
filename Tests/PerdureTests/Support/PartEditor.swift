// Random edits of one part of a graph, made in a context and in plain values.

import PerdureModel
import PerdureTestSupport

@testable import Perdure

/// A context that changes one part of a graph.
final class PartEditor {
  let run: RandomRun
  let name: String
  let context: ManagedObjectContext
  var part: Int
  /// The content that the context shows of its part.
  var state: PartState
  /// The retained objects. Other objects are freed and loaded again.
  var held: [ManagedObject] = []

  init(_ run: RandomRun, _ name: String, _ context: ManagedObjectContext, _ part: Int, _ state: PartState) {
    (self.run, self.name, self.context, self.part, self.state) = (run, name, context, part, state)
  }

  private var model: RandomModel { run.model }

  private func note(_ text: String) { run.note("\(name) \(text)") }

  func object(_ number: Int) -> ManagedObject { run.object(number, in: context) }

  /// Makes one random change.
  func edit() throws {
    switch Int.random(in: 0..<100, using: &run.random) {
    case 0..<22: insert()
    case 22..<66: change()
    case 66..<76: replace()
    case 76..<86: setNumber()
    default: try delete()
    }
    state.resolveOrders()
  }

  private func insert() {
    let entity = run.random.pick(model.concrete)
    let made = context.insertNewObject(forEntityName: model.entities[entity].name)
    let number = run.add(made.objectID)
    note("inserts \(number) of E\(entity)")
    made.setValue(number, forKey: "number")
    state.graph.objects[number] = GraphTwin.Object(entity: entity)
    state.values[number] = number
    if run.random.chance(50) { held.append(made) }
  }

  private func setNumber() {
    guard !state.graph.living.isEmpty else { return }
    let number = run.random.pick(state.graph.living)
    let value = Int.random(in: 0...max(1, run.ids.count), using: &run.random)
    note("\(number).number = \(value)")
    object(number).setValue(value, forKey: "number")
    state.values[number] = value
  }

  // MARK: Links

  /// An object with relationships that is not deleted, and one of its ends.
  private func pick() -> (owner: Int, end: RandomEnd)? {
    let living = state.graph.living.filter { !state.graph.ends(of: $0).isEmpty }
    guard !living.isEmpty else { return nil }
    let owner = run.random.pick(living)
    return (owner, run.random.pick(state.graph.ends(of: owner)))
  }

  private func change() {
    guard let (owner, end) = pick() else { return }
    // Skips deleted objects, whose deletion may still be denied.
    let targets = state.graph.targets(owner, end).filter { !state.graph.isDeleted($0) }.sorted()
    if !targets.isEmpty, run.random.chance(40) {
      let target = run.random.pick(targets)
      return end.isOrdered && run.random.chance(50)
        ? move(owner, end, target) : disconnect(owner, end, target)
    }
    let candidates = state.graph.living(end.destination)
    if !candidates.isEmpty { connect(owner, end, run.random.pick(candidates)) }
  }

  private func disconnect(_ owner: Int, _ end: RandomEnd, _ target: Int) {
    note("\(owner).\(end.name) loses \(target)")
    state.graph.disconnect(owner, end, target)
    if !end.isToMany {
      object(owner).setValue(nil, forKey: end.name)
    } else if end.isOrdered {
      object(owner).mutableOrderedSetValue(forKey: end.name).remove(object(target))
    } else {
      object(owner).mutableSetValue(forKey: end.name).remove(object(target))
    }
  }

  private func connect(_ owner: Int, _ end: RandomEnd, _ target: Int) {
    if end.isOrdered, run.random.chance(50) { return insert(owner, end, target) }
    note("\(owner).\(end.name) gets \(target)")
    state.graph.connect(owner, end, target)
    if !end.isToMany {
      object(owner).setValue(object(target), forKey: end.name)
    } else if end.isOrdered {
      object(owner).mutableOrderedSetValue(forKey: end.name).append(object(target))
    } else {
      object(owner).mutableSetValue(forKey: end.name).insert(object(target))
    }
  }

  private func insert(_ owner: Int, _ end: RandomEnd, _ target: Int) {
    let position = Int.random(in: 0...state.members(owner, end).count, using: &run.random)
    note("\(owner).\(end.name) gets \(target) at \(position)")
    object(owner).mutableOrderedSetValue(forKey: end.name).insert(object(target), at: position)
    if state.members(owner, end).contains(target) { return }
    state.graph.connect(owner, end, target)
    state.resolveOrders()
    place(owner, end, target, position)
  }

  private func move(_ owner: Int, _ end: RandomEnd, _ target: Int) {
    let position = run.random.pick(state.members(owner, end).indices)
    note("\(owner).\(end.name) has \(target) at \(position)")
    object(owner).mutableOrderedSetValue(forKey: end.name).move(object(target), to: position)
    place(owner, end, target, position)
  }

  private func place(_ owner: Int, _ end: RandomEnd, _ target: Int, _ position: Int) {
    var members = state.members(owner, end).filter { $0 != target }
    members.insert(target, at: position)
    state.setMembers(owner, end, members)
  }

  private func replace() {
    guard let (owner, end) = pick(), end.isToMany else { return }
    let wanted = state.graph.living(end.destination).filter { _ in run.random.chance(30) }
      .shuffled(using: &run.random)
    note("\(owner).\(end.name) = \(wanted)")
    for target in state.graph.targets(owner, end).subtracting(wanted) {
      state.graph.disconnect(owner, end, target)
    }
    for target in wanted { state.graph.connect(owner, end, target) }
    state.resolveOrders()
    let objects = wanted.map { object($0) }
    if end.isOrdered {
      state.setMembers(owner, end, wanted)
      object(owner).setValue(objects, forKey: end.name)
    } else if run.random.chance(50) {
      object(owner).setValue(Set(objects), forKey: end.name)
    } else {
      object(owner).mutableSetValue(forKey: end.name).replace(with: objects)
    }
  }

  // MARK: Deletions

  private func delete() throws {
    guard !state.graph.living.isEmpty else { return }
    let numbers = (0..<(run.random.chance(70) ? 1 : 2)).map { _ in run.random.pick(state.graph.living) }
    if run.random.chance(20) {
      note("plans to delete \(numbers)")
      _ = try context.plan(delete: numbers.map { object($0) })
      return
    }
    note("deletes \(numbers)")
    for number in numbers {
      context.delete(object(number))
      state.graph.objects[number]?.isDeleted = true
    }
    state.graph.propagate()
    // Applies the delete rules at once, so that no object stays linked to a deleted object.
    if run.random.chance(25) {
      note("refreshes all before the rules are applied")
      context.refreshAllObjects()
    }
    context.processPendingChanges()
  }

  // MARK: Discarding changes

  /// Sets the content that the context must show after it has discarded all unsaved changes.
  func revert(to saved: PartState) { state = saved }

  /// Discards the unsaved changes of one object. No object may have an unsaved deletion.
  func forget(_ number: Int, _ saved: PartState) {
    context.refresh(object(number), mergeChanges: false)
    state.graph.forgetChanges(of: number, saved.graph)
    if saved.graph.objects[number] != nil { state.values[number] = saved.values[number] }
    // A member that is linked again returns to its earlier position. Unsaved positions of other
    // members may contradict this, so the plain values copy the order of the context.
    var asked = state.resolveOrders()
    asked += state.graph.ends(of: number).filter(\.isOrdered).map { (number, $0) }
    for (owner, end) in asked {
      state.setMembers(owner, end, run.targets(owner, end, in: context))
    }
  }
}
