// Fractions in text that no Double holds, such as 12345678901234567890.12345.
//
// A literal has no type until it is compared. So such a literal stays text, in the form `CAST("…", "NSNumber")`,
// which prints and reads back. Compared with a Decimal it is that decimal number; elsewhere it is the Double
// next to it, as in Swift.

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

extension FetchExpression {
  /// A number in text: a constant, or a long literal; nil when the text is no number or too large.
  init?(number text: String, isNegative: Bool) {
    guard let value = Value(number: text, isNegative: isNegative) else { return nil }
    let whole = isNegative ? "-" + text : text
    if Self.longLiteral(whole, value) != nil {
      self = .function(.cast, [.constant(.string(whole)), .constant(.string(Self.numberType))])
    } else {
      self = .constant(value)
    }
  }

  private static let numberType = "NSNumber"

  /// The number of a long literal as a decimal, with at most 38 digits; nil for any other expression.
  package var longLiteral: Decimal? {
    guard case .function(.cast, let arguments) = self, arguments.count == 2,
      case .constant(.string(let text)) = arguments[0],
      arguments[1] == .constant(.string(Self.numberType))
    else { return nil }
    let isNegative = text.hasPrefix("-")
    guard let value = Value(number: isNegative ? String(text.dropFirst()) : text, isNegative: isNegative)
    else { return nil }
    return Self.longLiteral(text, value)
  }

  /// The decimal that a text is, where the number that it reads as is a Double and another one.
  private static func longLiteral(_ text: String, _ number: Value) -> Decimal? {
    guard case .double = number, let decimal = Value.decimal(text),
      Value.sortOrder(.decimal(decimal), number) != .same
    else { return nil }
    return decimal
  }

  /// Whether it is a constant, or a long literal, which is one.
  package var isConstant: Bool {
    if case .constant = self { true } else { longLiteral != nil }
  }

  /// A long literal as the decimal that it is; any other expression as it is.
  package var withExactLiteral: FetchExpression {
    longLiteral.map { .constant(.decimal($0)) } ?? self
  }
}

extension FetchPredicate {
  /// Whether there is a long literal anywhere in the tree.
  package var hasLongLiteral: Bool {
    var isFound = false
    forEachExpression { if $0.longLiteral != nil { isFound = true } }
    return isFound
  }

  /// The predicate with the Doubles next to its long literals.
  package func replacingLongLiterals() -> FetchPredicate {
    mapChildren(
      predicate: { $0.replacingLongLiterals() }, expression: { $0.replacingLongLiterals() })
  }
}

extension FetchExpression {
  fileprivate func replacingLongLiterals() -> FetchExpression {
    if longLiteral != nil, let value = try? PredicateEvaluator(.true).value(of: self, with: .null) {
      return .constant(value)
    }
    return mapChildren(
      predicate: { $0.replacingLongLiterals() }, expression: { $0.replacingLongLiterals() })
  }
}
