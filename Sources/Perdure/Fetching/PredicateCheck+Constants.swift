// Checks of the constants of a comparison: bounds, patterns, and attribute names that the parser
// reads as constants.

internal import PerdurePredicates

extension PredicateCheck {
  /// Checks that BETWEEN has two bounds on its right, whichever operand TERNARY selects.
  ///
  /// - Throws: `FetchError.Code.typeMismatch`.
  func checkBounds(_ comparison: FetchComparison) throws(FetchError) {
    guard comparison.op == .between else { return }
    for bounds in comparison.right.choices {
      switch bounds {
      case .constant(.null): continue
      case .constant(.list(let elements)) where elements.count == 2: continue
      case .aggregate(let elements) where elements.count == 2: continue
      case .constant(let value): throw noCollection(comparison.left, .between, value)
      default:
        let key = bounds.shortDescription
        throw FetchError(
          .typeMismatch,
          "BETWEEN needs a list of two values, as in {1, 5}, but has \(key) of \(entity.name) on its right.",
          entity: entity.name, key: key)
      }
    }
  }

  /// Checks that the constant patterns of MATCHES can be parsed, whichever operand TERNARY selects.
  ///
  /// - Throws: `FetchError.Code.invalidPattern`.
  func checkPattern(_ comparison: FetchComparison) throws(FetchError) {
    guard comparison.op == .matches else { return }
    for case .constant(.string(let pattern)) in comparison.right.choices {
      do {
        _ = try RegularExpression(pattern, options: comparison.options)
      } catch {
        throw FetchError(
          .invalidPattern, error.message, entity: entity.name, key: comparison.left.shortDescription)
      }
    }
  }

  /// Checks a comparison of two constants, whose result does not depend on the object.
  ///
  /// - Throws: `FetchError.Code.typeMismatch` if the constants can never be equal, or if one of
  ///   them is spelled as an attribute of the entity. Also if IN or CONTAINS has no collection.
  func checkConstants(_ comparison: FetchComparison, _ left: Value, _ right: Value) throws(FetchError) {
    for value in [left, right] {
      guard let name = attribute(spelledAs: value) else { continue }
      throw FetchError(
        .typeMismatch,
        "\(value) is a constant in \(comparison.description.shortened), and an attribute of \(entity.name) is "
          + "called \(name). Write #\(name) for the attribute, or pass its name for %K.",
        entity: entity.name, key: name)
    }
    switch comparison.op {
    case .in where !right.isCollection: throw noCollection(.constant(left), .in, right)
    case .contains where !left.isCollection: throw noCollection(.constant(right), .contains, left)
    case .in, .between, .contains: return
    default:
      if left.isNull || right.isNull || left.kindName == right.kindName || left.isNumber && right.isNumber {
        return
      }
      throw FetchError(
        .typeMismatch,
        "\(left.description.shortened) is \(left.kindName) and is compared with \(right.kindName), which it never "
          + "equals. An attribute with the name of a constant is written with a #, as in #no.",
        entity: entity.name, key: left.description.shortened)
    }
  }

  /// The property whose name the parser reads as this constant, such as `no`.
  private func attribute(spelledAs value: Value) -> String? {
    let words: [String]
    switch value {
    case .bool(true): words = ["TRUE", "YES"]
    case .bool(false): words = ["FALSE", "NO"]
    case .null: words = ["NULL", "NIL"]
    default: return nil
    }
    return entity.properties.first { words.contains($0.name.uppercased()) }?.name
  }
}

extension Value {
  /// Whether IN accepts this value as a collection: a list, text, or null, which contains no
  /// values.
  fileprivate var isCollection: Bool {
    switch self {
    case .list, .string, .null: true
    default: false
    }
  }
}

extension FetchExpression {
  /// The expressions that TERNARY can select; otherwise the expression itself.
  fileprivate var choices: [FetchExpression] {
    guard case .conditional(_, let first, let second) = self else { return [self] }
    return first.choices + second.choices
  }
}
