// Long literals: fractions with more digits than a Double can represent, such as
// 12345678901234567890.12345.
//
// A comparison decides the type of a literal. Until then, the tree stores a long literal as text,
// in the form `CAST("…", "NSNumber")`. The printer writes this form, and the parser reads it. In a
// comparison with a Decimal, the literal is the exact decimal number. Elsewhere it is the nearest
// Double, as in Swift.

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

extension FetchExpression {
  /// Makes a constant or a long literal from the text of a number. Nil if the text is not a number,
  /// or the number is too large.
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

  /// The value of a long literal as a decimal of at most 38 digits; nil for other expressions.
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

  /// The exact decimal value of a text that the parser read as `number`; nil if `number` is not a
  /// Double, or is exactly that value.
  fileprivate static func longLiteral(_ text: String, _ number: Value) -> Decimal? {
    guard case .double = number, let decimal = Value.decimal(text),
      Value.sortOrder(.decimal(decimal), number) != .same
    else { return nil }
    return decimal
  }

  /// Whether the expression is a constant or a long literal.
  package var isConstant: Bool {
    if case .constant = self { true } else { longLiteral != nil }
  }

  /// A long literal as a decimal constant; other expressions unchanged.
  package var withExactLiteral: FetchExpression {
    longLiteral.map { .constant(.decimal($0)) } ?? self
  }
}

extension Double {
  /// Whether the parser reads the description as a long literal, and not as a Double.
  var isReadAsLongLiteral: Bool {
    FetchExpression.longLiteral(description, .double(self)) != nil
  }
}

extension FetchPredicate {
  /// Whether the tree has a long literal.
  package var hasLongLiteral: Bool {
    var isFound = false
    forEachExpression { if $0.longLiteral != nil { isFound = true } }
    return isFound
  }

  /// The predicate with each long literal replaced by the nearest Double.
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
