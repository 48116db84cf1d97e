// Compares the cached relationships of objects with those of their context.

import PerdureTestSupport
import Testing

@testable import Perdure

/// Loads objects, and reads each relationship twice, so that all relationships that can be cached
/// are cached.
func askTwice(_ objects: [ManagedObject], _ core: ContextCore) {
  for object in objects where object.context === core { _ = object.loadRow() }
  for _ in 0..<2 {
    for object in objects where object.context === core {
      for relationship in object.shape.relationships {
        if relationship.isToMany {
          var walk = object.siblings(relationship.slot)
          while walk.next(as: ManagedObject.self) != nil {}
        } else {
          _ = object.related(relationship.slot)
        }
      }
    }
  }
}

/// The number of cached relationships that are valid (KR1).
func keptCount(_ core: ContextCore) -> Int {
  core.registry.identityMap.objects.reduce(0) { $0 + keptEntries(of: $1).count }
}

private func keptEntries(of object: ManagedObject) -> [KeptRelations.Entry] {
  guard let kept = object.header.pointee.kept,
    kept.pointee.stamp == object.core.registry.memory.pointee.linkStamp
  else { return [] }
  return (0..<kept.pointee.count).map { kept.entries[$0] }
}

/// Returns the errors of all valid cache entries (KR1 to KR3 in KeptRelations.swift).
func keptMistakes(_ core: ContextCore) -> [String] {
  var mistakes: [String] = []
  let objects = core.registry.identityMap.objects
  let entries = objects.map(keptEntries)
  let stamp = core.registry.memory.pointee.linkStamp
  for (object, entries) in zip(objects, entries) {
    for entry in entries {
      let found = keptMistakes(object, entry, core)
      // A comparison may find a newer row. Then every entry is invalid, and the remaining checks
      // are skipped.
      guard core.registry.memory.pointee.linkStamp == stamp else { return mistakes }
      mistakes += found
    }
  }
  return mistakes
}

private func keptMistakes(
  _ owner: ManagedObject, _ entry: KeptRelations.Entry, _ core: ContextCore
) -> [String] {
  let relationship = owner.shape.relationship(Int(entry.slot))
  let name = "\(owner.reference).\(relationship.name)"
  if entry.isToMany != relationship.isToMany { return ["\(name) is cached with the wrong cardinality"] }
  // Compares the references first. The pointers are not dereferenced, because an object may be
  // freed.
  var references: [ObjectReference] = []
  var pointers: [UnsafeMutableRawPointer] = []
  if let target = entry.target, entry.isToMany {
    let targets = Unmanaged<KeptTargets>.fromOpaque(target).takeUnretainedValue()
    references = Array(targets.references)
    pointers = references.indices.map { targets.objects[$0].toOpaque() }
  } else if let target = entry.target {
    pointers = [target]
  }
  let found = core.reading.links.targets(of: owner.reference, relationship)
  let expected = entry.isToMany ? found : Array(found.prefix(1))
  guard pointers.count == expected.count else {
    return ["\(name) caches \(pointers.count) objects, but has \(expected.count)"]
  }
  if entry.isToMany, relationship.order == nil ? Set(references) != Set(expected) : references != expected {
    return ["\(name) caches \(references), but has \(expected)"]
  }
  let order = entry.isToMany ? references : expected
  return zip(order, pointers).compactMap { reference, pointer in
    guard let object = core.registry.identityMap.object(reference),
      Unmanaged.passUnretained(object).toOpaque() == pointer
    else { return "\(name) caches another instance of \(reference)" }
    if !object.header.pointee.isKept { return "\(name) caches \(reference), which is not marked as cached" }
    return object.header.pointee.row == nil && object.overlay?.isNew != true
      ? "\(name) caches \(reference), which is a fault" : nil
  }
}

/// Compares the caches of a context's objects with the current state. Sometimes it also fills all
/// caches, or releases some objects, before the next step.
struct KeptWatch {
  private var alive: [ManagedObject] = []
  /// The sum of the valid cached relationships of all checks.
  private(set) var count = 0

  mutating func check(
    _ context: ManagedObjectContext, _ ids: some Sequence<ManagedObjectID>, _ random: inout SeededGenerator,
    _ comment: @autoclosure () -> Comment, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let core = context.core
    expectNoMistake(core, comment(), sourceLocation)
    switch Int.random(in: 0..<10, using: &random) {
    case 0..<4:
      alive = try ids.compactMap { core.graph.reference(of: $0) }.sorted { $0.rawValue < $1.rawValue }
        .filter { reference in
          if let overlay = core.pending[reference], overlay.isNew { return !overlay.isDeleted }
          return try core.viewState.view.version(of: reference) != nil
        }.map { core.registry.instance(of: $0) }
      askTwice(alive, core)
      expectNoMistake(core, comment(), sourceLocation)
    case 4, 5:
      alive.removeAll { _ in Bool.random(using: &random) }
      expectNoMistake(core, comment(), sourceLocation)
      askTwice(alive, core)
      expectNoMistake(core, comment(), sourceLocation)
    case 6: alive = []
    default: askTwice(alive, core)
    }
    count += keptCount(core)
  }

  private func expectNoMistake(_ core: ContextCore, _ comment: Comment, _ sourceLocation: SourceLocation) {
    let mistakes = keptMistakes(core)
    #expect(mistakes.isEmpty, "\(mistakes), \(comment)", sourceLocation: sourceLocation)
  }
}
