internal import PerdureModel
internal import PerdurePredicates

/// Checks the values for the variables of a template.
struct FetchVariables {
  let model: ManagedObjectModel
  /// The variables of the template, and their types.
  let expected: [String: FetchVariableType]

  /// The problems of all variables, in the order of the variables' names.
  func problems(_ values: [String: (any PredicateArgument)?]) -> [FetchTemplateError.Problem] {
    Set(expected.keys).union(values.keys).sorted().compactMap { name in
      guard let type = expected[name] else { return unknown(name) }
      guard let value = values[name] else {
        return FetchTemplateError.Problem(
          kind: .missing, variable: name, expected: type,
          message: "$\(name) has no value. Give it \(type), or nil.")
      }
      let plain = value?.argumentValue ?? .null
      if fits(plain, type) { return nil }
      return FetchTemplateError.Problem(
        kind: .wrongType, variable: name, expected: type,
        message: "$\(name) is \(words(plain)). Give it \(type), or nil.")
    }
  }

  private func unknown(_ name: String) -> FetchTemplateError.Problem {
    let known = expected.keys.sorted().map { "$\($0)" }.joined(separator: ", ")
    return FetchTemplateError.Problem(
      kind: .unknown, variable: name, expected: nil,
      message: "The template has no variable $\(name.shortened). It has \(known.isEmpty ? "none" : known)."
        + NearMisses.question(name, in: expected.keys))
  }

  private func words(_ value: Value) -> String {
    guard case .objectID(let text) = value, let id = ManagedObjectID(uri: text) else { return value.kindName }
    return "an object of \(id.entityName)"
  }

  // MARK: Types

  private func fits(_ value: Value, _ type: FetchVariableType) -> Bool {
    if value.isNull { return true }
    switch type {
    case .any: return true
    case .attribute(let type): return value.isValue(of: type)
    case .object(let entity): return isObject(value, of: entity)
    case .list(let element):
      // `name IN $x` and `$x CONTAINS name` may search a text.
      if case .string = value { return element == .any || element == .attribute(.string) }
      guard case .list(let values) = value else { return false }
      return values.allSatisfy { fits($0, element) }
    }
  }

  /// Whether a value is an object of an entity, of one of its subentities, or of one of its
  /// superentities. A `.reference` is always accepted, because its entity is not checked here.
  private func isObject(_ value: Value, of entity: String) -> Bool {
    guard case .objectID(let text) = value, let id = ManagedObjectID(uri: text) else {
      if case .reference = value { return true }
      return false
    }
    guard let own = model.entitiesByName[id.entityName], let wanted = model.entitiesByName[entity] else {
      return false
    }
    return own.isKind(of: wanted) || wanted.isKind(of: own)
  }
}

extension Value {
  /// Whether the value can equal values of an attribute's type.
  fileprivate func isValue(of type: AttributeType) -> Bool {
    switch (type, self) {
    case (.undefined, _): true
    case (.objectID, .objectID), (.objectID, .reference): true
    default: FieldKind(type).mayEqual(self)
    }
  }
}
