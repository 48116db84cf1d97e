// The paths of relationships that a request prefetches, by properties and by name.

internal import PerdurePredicates

/// A path of relationships for `prefetch` of a request: `{ $0.workers.projects }`.
@dynamicMemberLookup
public struct RelationshipPath<End: QueryableObject> {
  let names: [String]

  init(_ names: [String]) { self.names = names }

  /// Continues along a to-one relationship.
  public subscript<Next: QueryableObject>(
    dynamicMember keyPath: KeyPath<End, Next>
  ) -> RelationshipPath<Next> { appending(keyPath) }

  /// Continues along an optional to-one relationship.
  public subscript<Next: QueryableObject>(
    dynamicMember keyPath: KeyPath<End, Next?>
  ) -> RelationshipPath<Next> { appending(keyPath) }

  /// Continues along a to-many relationship.
  public subscript<C: QueryableCollection>(
    dynamicMember keyPath: KeyPath<End, C>
  ) -> RelationshipPath<C.QueryElement> { appending(keyPath) }

  private func appending<Next>(_ keyPath: AnyKeyPath) -> RelationshipPath<Next> {
    RelationshipPath<Next>(names + [End.propertyName(of: keyPath)])
  }
}

extension FetchRequest where Root: QueryableObject {
  /// Adds a path to prefetch (`relationshipKeyPathsForPrefetching`):
  ///
  ///     var request = Company.fetchRequest()
  ///     request.prefetch { $0.workers.projects }
  ///
  /// A fetch throws `FetchError`: with the code `unknownProperty` for a property that is not a
  /// relationship of the class, with `transientAttribute` for a transient relationship.
  ///
  /// - Parameter path: Runs once, on a stand-in for the object.
  public mutating func prefetch<End>(_ path: (RelationshipPath<Root>) -> RelationshipPath<End>) {
    relationshipKeyPathsForPrefetching.append(path(RelationshipPath<Root>([])).names.joined(separator: "."))
  }
}

extension StoreSchema {
  /// The names of a path of relationships from an entity.
  ///
  /// - Throws: `FetchError` if a name of the path is not a relationship.
  func relationshipNames(_ path: String, from entity: EntityStorage) throws(FetchError) -> [String] {
    var here = entity
    let names = Self.names(in: path)
    for name in names {
      guard let slot = here.slot(named: name) else { throw .unknownProperty(name, of: here) }
      if case .attribute(.absent) = here.properties[slot].form { throw .transientAttribute(name, of: here) }
      guard let destination = here.properties[slot].destination else {
        throw FetchError(
          .notARelationship,
          "\(name) of \(here.name), in the path \(path.shortened) to prefetch, is not a relationship. "
            + "Name relationships only.",
          entity: here.name, key: path)
      }
      here = self.entity(destination)
    }
    return names
  }

  /// The names in a path. If the path ends with the description of a key path that reads no
  /// property, this description is the last name.
  private static func names(in path: String) -> [String] {
    let end = path.firstIndex(of: "\\") ?? path.endIndex
    let names = path[..<end].split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    return end == path.endIndex ? names : names.dropLast() + [String(path[end...])]
  }
}
