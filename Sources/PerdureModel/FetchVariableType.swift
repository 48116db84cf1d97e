/// The type of the values that a variable of a fetch request template can have. The type is
/// inferred from the operands with which the predicate compares the variable.
public indirect enum FetchVariableType: Sendable, Hashable {
  /// A value of an attribute's type.
  case attribute(AttributeType)
  /// An object of an entity, or its id.
  case object(entityName: String)
  /// A list of values.
  case list(FetchVariableType)
  /// Any value: the predicate does not determine the type.
  case any
}

extension FetchVariableType: CustomStringConvertible {
  /// The type in words, for messages: `a double`, `a Worker`, `a list of string`.
  public var description: String {
    switch self {
    case .any: "any value"
    case .list(.any): "a list"
    case .list(let element): "a list of \(element.name)"
    case .attribute, .object:
      name.first.map { "aeiouAEIOU".contains($0) } == true ? "an \(name)" : "a \(name)"
    }
  }

  private var name: String {
    switch self {
    case .attribute(let type): "\(type)"
    case .object(let entity): entity
    case .list(let element): "lists of \(element.name)"
    case .any: "values"
    }
  }
}

extension FetchVariableType {
  /// The type of a variable that is compared with values of both types. For two number types, it is
  /// the wider type; for two entities, the more general one. Nil if there is no common type.
  ///
  /// - Parameter relatives: Returns the more general of two entities; nil if neither inherits from
  ///   the other.
  func merged(
    with other: FetchVariableType, relatives: (String, String) -> String?
  ) -> FetchVariableType? {
    switch (self, other) {
    case (.any, let type), (let type, .any): type
    case (.list(let left), .list(let right)):
      left.merged(with: right, relatives: relatives).map { .list($0) }
    case (.object(let left), .object(let right)):
      relatives(left, right).map { .object(entityName: $0) }
    case (.attribute(let left), .attribute(let right)):
      left == right ? self : left.wider(right).map { .attribute($0) }
    case (.object, .attribute(.objectID)): self
    case (.attribute(.objectID), .object): other
    default: nil
    }
  }
}

extension AttributeType {
  /// The narrowest number type for values of both number types; nil for other types.
  fileprivate func wider(_ other: AttributeType) -> AttributeType? {
    guard let rank = widthRank, let otherRank = other.widthRank else { return nil }
    return rank < otherRank ? other : self
  }

  private var widthRank: Int? {
    [.boolean, .int16, .int32, .int64, .float, .double, .decimal].firstIndex(of: self)
  }

  /// Whether a value of one type can equal a value of the other.
  package func isComparable(with other: AttributeType) -> Bool {
    if self == .undefined || other == .undefined { return true }
    return comparisonKind == other.comparisonKind
  }

  private var comparisonKind: AttributeType {
    widthRank != nil ? .double : self == .transformable ? .binary : self
  }
}
