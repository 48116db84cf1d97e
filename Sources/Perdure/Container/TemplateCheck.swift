// Compares the parameters of `@FetchTemplate` functions with the variables of their templates, when
// a store is loaded.
//
// The model infers the types of variables from the predicate. A parameter is wrong if no value of
// its type can equal the other operand. A parameter is accepted if the type of its value in a
// predicate is not known from its Swift type.

internal import PerdureModel

/// Checks the templates of one class in a model.
struct TemplateCheck {
  let type: ManagedObject.Type
  let model: ManagedObjectModel

  /// The problems, one message for each wrong parameter, in the order of the names.
  var problems: [String] {
    let parameters = type._fetchTemplateParameters
    return type._fetchTemplates.flatMap { template -> [String] in
      guard model.fetchRequestTemplates.contains(template), let types = parameters[template.name],
        let expected = model.templateRequests[template.name]?.variables
      else { return [] }
      return types.sorted { $0.key < $1.key }.compactMap { name, parameter in
        expected[name].flatMap { problem(of: template.name, name, parameter, $0) }
      }
    }
  }

  private func problem(
    of template: String, _ name: String, _ parameter: Any.Type, _ expected: FetchVariableType
  ) -> String? {
    guard let given = Self.variableType(of: parameter), !fits(given, expected) else { return nil }
    return
      "\(type).\(template) has the parameter \(name) of the type \(parameter), but its predicate compares "
      + "$\(name) as \(expected). Change the type of the parameter, or the predicate."
  }

  // MARK: Types

  /// The type of the values of a Swift type in a predicate; nil if it depends on the value.
  private static func variableType(of type: Any.Type) -> FetchVariableType? {
    switch type {
    case let optional as any AnyOptional.Type: variableType(of: optional.wrappedType)
    case let list as any ParameterList.Type: .list(variableType(of: list.elementType) ?? .any)
    case let object as ManagedObject.Type:
      object._entityName.isEmpty ? nil : .object(entityName: object._entityName)
    case let value as any AttributeValue.Type: .attribute(value.attributeType)
    default: nil
    }
  }

  /// Whether a value of a type can equal the operands that the predicate compares with a variable.
  private func fits(_ given: FetchVariableType, _ expected: FetchVariableType) -> Bool {
    switch (given, expected) {
    case (.any, _), (_, .any), (_, .attribute(.undefined)), (.list, .attribute(.transformable)): true
    case (.list(let given), .list(let expected)): fits(given, expected)
    // `name IN $x` and `$x IN name` may search a text.
    case (.attribute(.string), .list(let element)): element == .any || element == .attribute(.string)
    case (.attribute(let given), .attribute(let expected)): given.isComparable(with: expected)
    case (.object(let given), .object(let expected)): areRelated(given, expected)
    case (.object, .attribute(.objectID)), (.attribute(.objectID), .object): true
    default: false
    }
  }

  /// Whether one of two entities inherits from the other. True if an entity belongs to another
  /// model, because its objects are not known.
  private func areRelated(_ left: String, _ right: String) -> Bool {
    guard let left = model.entitiesByName[left], let right = model.entitiesByName[right] else { return true }
    return left.isKind(of: right) || right.isKind(of: left)
  }
}

/// A collection that is a list in a predicate.
private protocol ParameterList {
  static var elementType: Any.Type { get }
}

extension Array: ParameterList {
  fileprivate static var elementType: Any.Type { Element.self }
}

extension ArraySlice: ParameterList {
  fileprivate static var elementType: Any.Type { Element.self }
}

extension Set: ParameterList {
  fileprivate static var elementType: Any.Type { Element.self }
}

extension Dictionary: ParameterList {
  fileprivate static var elementType: Any.Type { Value.self }
}

extension ClosedRange: ParameterList {
  fileprivate static var elementType: Any.Type { Bound.self }
}
