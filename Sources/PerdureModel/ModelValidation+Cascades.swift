// Finds cycles of cascading deletes. An object has the relationships that its entity inherits, and
// may belong to a subentity with more relationships. So a cascade that reaches an entity continues
// from that entity, all its superentities and all its subentities.

extension ModelValidation {
  /// Warns about each cascading relationship that leads through other entities back to its start. A
  /// direct cascade from an entity to itself, to a superentity or to a subentity is usual (the
  /// children in a tree). It causes a warning only if its inverse cascades too.
  mutating func checkCascades() {
    var search = CascadeSearch(parents)
    for (index, entity) in entities.enumerated() {
      for relationship in entity.relationships where relationship.deleteRule == .cascade {
        if let target = indicesByName[relationship.destinationEntityName] {
          search.targets[index].append(target)
        }
      }
    }
    for (index, entity) in entities.enumerated() {
      for relationship in entity.relationships where relationship.deleteRule == .cascade {
        guard let target = indicesByName[relationship.destinationEntityName] else { continue }
        let isCycle =
          search.areKin(index, target)
          ? inverseCascades(relationship, of: target) : search.arrives(at: index, from: target)
        guard isCycle else { continue }
        warn(
          .cascadeCycle, entity.name, relationship.name,
          "Deletes cascade from here back to \"\(entity.name)\".",
          "Check that one delete is meant to delete all of them.")
      }
    }
  }

  private func inverseCascades(_ relationship: RelationshipDescription, of target: Int) -> Bool {
    guard let name = relationship.inverseName, let inverse = visible[target][name],
      name != relationship.name, case .relationship(let other) = inverse.property
    else { return false }
    return other.deleteRule == .cascade
  }
}

/// The cascades between the entities of a model.
private struct CascadeSearch {
  let parents: [Int?]
  private var children: [[Int]]
  /// The destinations of the cascading relationships that each entity declares.
  var targets: [[Int]]

  init(_ parents: [Int?]) {
    self.parents = parents
    targets = Array(repeating: [], count: parents.count)
    children = targets
    for (index, parent) in parents.enumerated() {
      if let parent { children[parent].append(index) }
    }
  }

  /// Whether the two are the same entity, or one is an ancestor of the other.
  func areKin(_ left: Int, _ right: Int) -> Bool { isAbove(left, right) || isAbove(right, left) }

  private func isAbove(_ ancestor: Int, _ index: Int) -> Bool {
    var current: Int? = index
    while let here = current {
      if here == ancestor { return true }
      current = parents[here]
    }
    return false
  }

  /// Whether deleting an object of `start` may delete an object of `goal`. O(entities +
  /// relationships).
  func arrives(at goal: Int, from start: Int) -> Bool {
    var seen: Set<Int> = [start]
    var open = [start]
    var kin = KinWalk()
    while let index = open.popLast() {
      for member in kin.new(of: index, parents, children) {
        if member == goal { return true }
        for next in targets[member] where seen.insert(next).inserted { open.append(next) }
      }
    }
    return false
  }
}

/// Collects entities and their superentities and subentities, each once.
private struct KinWalk {
  private var above: Set<Int> = []
  private var below: Set<Int> = []

  /// The entity, its superentities and its subentities, without those that were returned before.
  mutating func new(of index: Int, _ parents: [Int?], _ children: [[Int]]) -> [Int] {
    var found: [Int] = []
    var current = parents[index]
    while let ancestor = current, above.insert(ancestor).inserted {
      found.append(ancestor)
      current = parents[ancestor]
    }
    var open = [index]
    while let descendant = open.popLast() {
      guard below.insert(descendant).inserted else { continue }
      found.append(descendant)
      open += children[descendant]
    }
    return found
  }
}
