// Finds cycles of cascading deletes. An object has the relationships that its entity inherits, and
// may belong to a subentity with more relationships. So a cascade that reaches an entity continues
// from that entity, all its superentities and all its subentities.

extension ModelValidation {
  /// Warns about each cascading relationship that is a part of a cycle through other entities. A
  /// direct cascade from an entity to itself, to a superentity or to a subentity is usual (the
  /// children in a tree). It causes a warning only if its inverse cascades too.
  mutating func checkCascades() {
    var targets: [[Int]] = Array(repeating: [], count: entities.count)
    for (index, entity) in entities.enumerated() {
      for relationship in entity.relationships where relationship.deleteRule == .cascade {
        if let target = indicesByName[relationship.destinationEntityName] {
          targets[index].append(target)
        }
      }
    }
    let search = CascadeSearch(parents, targets)
    for (index, entity) in entities.enumerated() {
      for relationship in entity.relationships where relationship.deleteRule == .cascade {
        guard let target = indicesByName[relationship.destinationEntityName] else { continue }
        let isCycle =
          search.areKin(index, target)
          ? inverseCascades(relationship, of: target) : search.returns(to: index, from: target)
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
///
/// They are a graph with four nodes for each entity. `arrival`: an object of the entity is deleted.
/// `above` and `below`: the entity is an ancestor, or a descendant, of an entity in `arrival`.
/// `start`: the cascades of the entity begin.
private struct CascadeSearch {
  private let parents: [Int?]
  private let components: StrongComponents

  /// - Parameter targets: The destinations of the cascading relationships that each entity
  ///   declares.
  /// - Complexity: O(entities + relationships).
  init(_ parents: [Int?], _ targets: [[Int]]) {
    self.parents = parents
    var edges: [[Int]] = Array(repeating: [], count: 4 * parents.count)
    for (index, parent) in parents.enumerated() {
      edges[Self.arrival(index)] = [Self.above(index), Self.below(index)]
      edges[Self.above(index)].append(Self.start(index))
      edges[Self.below(index)].append(Self.start(index))
      edges[Self.start(index)] = targets[index].map(Self.arrival)
      guard let parent else { continue }
      edges[Self.above(index)].append(Self.above(parent))
      edges[Self.below(parent)].append(Self.below(index))
    }
    components = StrongComponents(of: edges)
  }

  private static func start(_ index: Int) -> Int { 4 * index }
  private static func arrival(_ index: Int) -> Int { 4 * index + 1 }
  private static func above(_ index: Int) -> Int { 4 * index + 2 }
  private static func below(_ index: Int) -> Int { 4 * index + 3 }

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

  /// Whether a cascade of an entity can delete objects of the same entity again. The cascade is an
  /// edge of the graph. It is a part of a cycle if both ends are in one strongly connected
  /// component.
  func returns(to index: Int, from target: Int) -> Bool {
    components.numbers[Self.start(index)] == components.numbers[Self.arrival(target)]
  }
}
