// Checks of the constants of a comparison: bounds, patterns, and attribute names that the parser
// reads as constants.

internal import PerdurePredicates

extension PredicateCheck {
  /// Checks that BETWEEN has two bounds on its right.
  ///
  /// - Throws: `FetchError.Code.typeMismatch`.
  func checkBounds(_ comparison: FetchComparison, _ right: PathType) throws(FetchError) {
    guard comparison.op == .between else { return }
    switch (comparison.right, right) {
    case (.constant, _): return
    case (.aggregate(let elements), _) where elements.count == 2: return
    case (.aggregate, _): break
    case (_, .any): return
    default: break
    }
    let key = comparison.right.shortDescription
    throw FetchError(
      .typeMismatch,
      "BETWEEN needs a list of two values, as in {1, 5}, and has \(key) of \(entity.name) on its right.",
      entity: entity.name, key: key)
  }

  /// Checks that the pattern of MATCHES can be parsed.
  ///
  /// - Throws: `FetchError.Code.invalidPattern`.
  func checkPattern(_ comparison: FetchComparison) throws(FetchError) {
    guard comparison.op == .matches, case .constant(.string(let pattern)) = comparison.right else { return }
    do {
      _ = try RegularExpression(pattern, options: comparison.options)
    } catch {
      throw FetchError(
        .invalidPattern, error.message, entity: entity.name, key: comparison.left.shortDescription)
    }
  }

  /// Checks a comparison of two constants, whose result does not depend on the object.
  ///
  /// - Throws: `FetchError.Code.typeMismatch` if the constants can never be equal, or if one of
  ///   them is spelled as an attribute of the entity.
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
  /// Whether the value is a number or a truth value. They compare with each other.
  fileprivate var isNumber: Bool {
    switch self {
    case .bool, .integer, .double, .decimal: true
    default: false
    }
  }
}
