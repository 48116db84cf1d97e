// Mistakes that the constants of a comparison show: bounds, patterns, and words that stand for constants.

internal import PerdurePredicates

extension PredicateCheck {
  /// BETWEEN has two bounds on its right.
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

  /// A regular expression can be read.
  func checkPattern(_ comparison: FetchComparison) throws(FetchError) {
    guard comparison.op == .matches, case .constant(.string(let pattern)) = comparison.right else { return }
    do {
      _ = try RegularExpression(pattern, options: comparison.options)
    } catch {
      throw FetchError(
        .invalidPattern, error.message, entity: entity.name, key: comparison.left.shortDescription)
    }
  }

  /// Two constants: nothing depends on the object, which is a mistake where they can never be equal, or where one of them
  /// was meant as the name of an attribute.
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

  /// The attribute with a name that stands for a constant in text.
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
  /// Whether it is a number or a truth value, which compare with each other.
  fileprivate var isNumber: Bool {
    switch self {
    case .bool, .integer, .double, .decimal: true
    default: false
    }
  }
}
