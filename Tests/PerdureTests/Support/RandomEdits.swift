// Random edits, shared by tests with several contexts on one random model.

import PerdureModel
import PerdureTestSupport

@testable import Perdure

/// Several contexts on a random model. They are changed one after another.
protocol RandomEdits {
  var model: RandomModel { get }
  var contexts: [ManagedObjectContext] { get }
  var random: SeededGenerator { get set }
  /// The retained objects. Other objects are freed and loaded again.
  var held: [ManagedObject] { get set }

  /// Records a step for the report of a failure.
  mutating func note(_ text: String)
}

extension RandomEdits {
  func text(_ object: ManagedObject) -> String {
    "\(object.entity.name)/\(object.reference.rawValue & 0xFFFF_FFFF_FFFF)"
  }

  /// Draws an object of an entity or of one of its subentities.
  mutating func draw(_ entity: Int, _ number: Int) throws -> ManagedObject? {
    let request = FetchRequest<ManagedObject>(entityName: model.entities[entity].name)
    let found = try contexts[number].fetch(request).sorted { $0.reference.rawValue < $1.reference.rawValue }
    guard !found.isEmpty else { return nil }
    let object = random.pick(found)
    held.append(object)
    return object
  }

  mutating func drawEnd(_ number: Int) throws -> (owner: ManagedObject, end: RandomEnd)? {
    let end = random.pick(Array(model.pairs.joined()))
    return try draw(end.entity, number).map { ($0, end) }
  }

  /// Connects two objects. If they are connected, disconnects them or moves the member. Sometimes
  /// sets a relationship to nil.
  mutating func change(_ number: Int) throws {
    guard let (owner, end) = try drawEnd(number) else { return }
    guard let target = random.chance(80) ? try draw(end.destination, number) : nil else {
      note("\(number) \(text(owner)).\(end.name) = nil")
      return owner.setValue(nil, forKey: end.name)
    }
    note("\(number) \(text(owner)).\(end.name) \(text(target))")
    if end.isOrdered { return changeOrder(owner.mutableOrderedSetValue(forKey: end.name), target) }
    guard end.isToMany else { return owner.setValue(target, forKey: end.name) }
    let set = owner.mutableSetValue(forKey: end.name)
    if set.contains(target) { set.remove(target) } else { set.insert(target) }
  }

  private mutating func changeOrder(_ members: OrderedToMany<ManagedObject>, _ target: ManagedObject) {
    if !members.contains(target) {
      let position = Int.random(in: 0...members.count, using: &random)
      note("  inserted at \(position)")
      members.insert(target, at: position)
    } else if random.chance(60) {
      let position = Int.random(in: 0..<members.count, using: &random)
      note("  moved to \(position)")
      members.move(target, to: position)
    } else {
      members.remove(target)
    }
  }

  mutating func replace(_ number: Int) throws {
    guard let (owner, end) = try drawEnd(number), end.isToMany else { return }
    let wanted = try (0..<3).compactMap { _ in try draw(end.destination, number) }
    note("\(number) \(text(owner)).\(end.name) = \(wanted.map(text))")
    owner.setValue(end.isOrdered ? wanted : Set(wanted), forKey: end.name)
  }

  mutating func delete(_ number: Int) throws {
    guard let object = try draw(random.pick(model.entities.indices), number) else { return }
    note("\(number) deletes \(text(object))")
    contexts[number].delete(object)
  }

  mutating func refresh(_ number: Int) throws {
    let context = contexts[number]
    let deleted = context.deletedObjects.sorted { $0.reference.rawValue < $1.reference.rawValue }
    let found =
      !deleted.isEmpty && random.chance(50)
      ? random.pick(deleted) : try draw(random.pick(model.entities.indices), number)
    guard let found else { return }
    let merges = random.chance(50)
    note("\(number) refreshes \(text(found)), \(merges ? "merging" : "forgetting")")
    context.refresh(found, mergeChanges: merges)
  }
}
