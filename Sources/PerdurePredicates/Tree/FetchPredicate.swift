// A condition that is true or false for an object.

/// A predicate: a tree of comparisons joined by AND, OR and NOT.
///
/// Logic has two values, with no third value for null: `a != "x"` is true if `a` is null.
///
/// Predicates are combined with `and(_:)`, `or(_:)`, `not(_:)`, and with Swift operators. A
/// predicate with more than 200 levels is not evaluated: a fetch throws `FetchError.Code.tooDeep`.
/// An AND inside an AND, and an OR inside an OR, do not count as levels.
public indirect enum FetchPredicate: Hashable, Sendable {
  /// Always true.
  case `true`
  /// Always false.
  case `false`
  /// True if all parts are true. True without parts.
  case and(PredicateParts)
  /// True if at least one part is true. False without parts.
  case or(PredicateParts)
  /// True if the part is false.
  case not(PredicateParts)
  /// A comparison of two expressions.
  case comparison(FetchComparison)
}

/// Two expressions and an operator between them.
public struct FetchComparison: Hashable, Sendable {
  /// The left operand, to which the modifier applies.
  public var left: FetchExpression {
    get { operands.left }
    set { operands = Operands(newValue, operands.right) }
  }
  /// The operator between the two operands.
  public var op: Operator
  /// The right operand.
  public var right: FetchExpression {
    get { operands.right }
    set { operands = Operands(operands.left, newValue) }
  }
  /// The treatment of a collection on the left.
  public var modifier: Modifier
  /// The options for comparing text.
  public var options: StringOptions
  private var operands: Operands

  /// The number of levels, including this one.
  var depth: Int { operands.depth }

  /// A comparison.
  public init(
    _ left: FetchExpression, _ op: Operator, _ right: FetchExpression,
    modifier: Modifier = .direct, options: StringOptions = []
  ) {
    operands = Operands(left, right)
    self.op = op
    self.modifier = modifier
    self.options = options
  }

  /// The kind of a comparison. The raw value is the spelling in text.
  public enum Operator: String, Hashable, Sendable, CaseIterable {
    /// Left is less than right.
    case lessThan = "<"
    /// Left is less than right or equal to it.
    case lessThanOrEqual = "<="
    /// Left is greater than right.
    case greaterThan = ">"
    /// Left is greater than right or equal to it.
    case greaterThanOrEqual = ">="
    /// The two are equal; null equals null.
    case equal = "=="
    /// The two are not equal.
    case notEqual = "!="
    /// The whole text on the left matches the regular expression on the right.
    case matches = "MATCHES"
    /// The whole text on the left matches a pattern of `?` and `*`.
    case like = "LIKE"
    /// The text on the left begins with the right.
    case beginsWith = "BEGINSWITH"
    /// The text on the left ends with the right.
    case endsWith = "ENDSWITH"
    /// The left is an element of the collection, or a part of the text, on the right.
    case `in` = "IN"
    /// The right is an element of the collection, or a part of the text, on the left.
    case contains = "CONTAINS"
    /// The left is between the two elements of the right, both included.
    case between = "BETWEEN"
  }

  /// The treatment of a collection on the left. `NONE` is the negation of `any`.
  public enum Modifier: Hashable, Sendable, CaseIterable {
    /// The left operand is compared as a whole.
    case direct
    /// The comparison must be true for every element. It is true for an empty collection.
    case all
    /// The comparison must be true for at least one element.
    case any
  }
}

/// Options for comparing text, written in brackets after the operator: `==[cd]`.
public struct StringOptions: OptionSet, Hashable, Sendable {
  /// The bits: c 1, d 2, n 4, l 8.
  public let rawValue: UInt8

  /// Options from their bits.
  @inlinable
  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// `c`: upper and lower case are the same.
  public static let caseInsensitive = StringOptions(rawValue: 1)
  /// `d`: letters with and without diacritics are the same.
  public static let diacriticInsensitive = StringOptions(rawValue: 2)
  /// `n`: both sides are already normalized, so their bytes are compared. `c` and `d` are ignored.
  public static let normalized = StringOptions(rawValue: 4)
  /// `l`: compare by the rules of a language. The option is accepted and kept, but it has no effect
  /// on comparisons.
  public static let localeSensitive = StringOptions(rawValue: 8)
}
