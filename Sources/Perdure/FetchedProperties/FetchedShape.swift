internal import PerdureModel
internal import PerdurePredicates

/// A fetched property, prepared for the objects of an entity.
struct FetchedShape: Sendable {
  /// Whether an object keeps the result (`FetchedOption.cached`).
  let isCached: Bool
  /// The request. Its predicate has the variable `$FETCH_SOURCE`, and one for each owner path.
  let request: FetchRequest<ManagedObject>
  /// The paths from `$FETCH_SOURCE` in the predicate, each with the variable that replaces it.
  private let ownerPaths: [PropertyPath: String]
  /// The reason why this version cannot run the request, which a later version has stored. Nil if
  /// it can run the request.
  let flaw: FetchRequestFlaw?

  /// The fetched properties of an entity by name, including inherited ones.
  static func all(of entity: EntityDescription, in model: ManagedObjectModel) -> [String: FetchedShape] {
    var shapes: [String: FetchedShape] = [:]
    for ancestor in entity.lineage {
      for property in ancestor.fetchedProperties where shapes[property.name] == nil {
        shapes[property.name] = model.fetchedRequests[ancestor.name]?[property.name]
          .map { FetchedShape(property, $0) }
      }
    }
    return shapes
  }

  private init(_ property: FetchedPropertyDescription, _ checked: CheckedFetchRequest) {
    isCached = property.isCached
    flaw = checked.flaws.first
    let predicate = checked.predicate?.withSubstitutionVariables([
      FetchedPropertyDescription.propertyVariable: UserInfoArgument(userInfo: property.userInfo)
    ])
    var paths: [PropertyPath: String] = [:]
    predicate?.forEachExpression { expression in
      if let path = expression.ownerPath, paths[path] == nil { paths[path] = "owner path \(paths.count)" }
    }
    ownerPaths = paths
    request = FetchRequest(property.fetchRequest, predicate: predicate?.replacingOwnerPaths(paths))
  }

  /// The request for the objects of one owner.
  ///
  /// - Throws: `PredicateEvaluationError` if a path from the owner has no value.
  func request(for owner: ManagedObject) throws -> FetchRequest<ManagedObject> {
    guard let predicate = request.predicate else { return request }
    var values: [String: any PredicateArgument] = [FetchedPropertyDescription.sourceVariable: owner]
    for (path, variable) in ownerPaths { values[variable] = try owner.ownerValue(of: path) }
    var request = request
    request.predicate = predicate.withSubstitutionVariables(values)
    return request
  }
}

// MARK: - Paths from the owner

extension FetchPredicate {
  fileprivate func replacingOwnerPaths(_ paths: [PropertyPath: String]) -> FetchPredicate {
    mapChildren(
      predicate: { $0.replacingOwnerPaths(paths) }, expression: { $0.replacingOwnerPaths(paths) })
  }
}

extension FetchExpression {
  fileprivate var ownerPath: PropertyPath? {
    guard case .member(of: .variable(FetchedPropertyDescription.sourceVariable), let path) = self else {
      return nil
    }
    return path
  }

  fileprivate func replacingOwnerPaths(_ paths: [PropertyPath: String]) -> FetchExpression {
    if let variable = ownerPath.flatMap({ paths[$0] }) { return .variable(variable) }
    return mapChildren(
      predicate: { $0.replacingOwnerPaths(paths) }, expression: { $0.replacingOwnerPaths(paths) })
  }
}

extension ManagedObject {
  /// The value of a path from the owner of a fetched property, with unsaved changes. The value of a
  /// path through a to-many relationship is a list.
  fileprivate func ownerValue(of path: PropertyPath) throws -> Value {
    if path.aggregate == nil, let value = argumentValue(atPath: path.names) { return value }
    return try FetchExpression.keyPath(path).value(with: PendingSource(core.reading.derived, reference))
  }
}

/// The value of `$FETCHED_PROPERTY`. Only `userInfo.key` can be read from it.
private struct UserInfoArgument: PredicateArgument {
  let userInfo: [String: String]

  var predicateValue: Value { .null }

  func argumentValue(atPath names: [String]) -> Value? {
    guard names.count == 2, names[0] == "userInfo" else { return nil }
    return userInfo[names[1]].map { .string($0) } ?? .null
  }
}
