// A question that is true or false of an object.

/// A predicate: a tree of comparisons joined by AND, OR and NOT.
///
/// Logic has two values. There is no third one for null: `a != "x"` holds when `a` is null.
///
/// Predicates are joined by `and(_:)`, `or(_:)`, `not(_:)`, and by operators in Swift. One with
/// more than 200 levels is not evaluated: a fetch throws `FetchError.Code.tooDeep`. AND in AND and
/// OR in OR do not count.
public indirect enum FetchPredicate: Hashable, Sendable {
  /// Holds always.
  case `true`
  /// Never holds.
  case `false`
  /// Holds when all parts hold; so with no parts it holds.
  case and(PredicateParts)
  /// Holds when at least one part holds; so with no parts it does not.
  case or(PredicateParts)
  /// Holds when the part does not.
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
  /// What is asked about the two.
  public var op: Operator
  /// The right operand.
  public var right: FetchExpression {
    get { operands.right }
    set { operands = Operands(operands.left, newValue) }
  }
  /// How a collection on the left is treated.
  public var modifier: Modifier
  /// How text is compared.
  public var options: StringOptions
  private var operands: Operands

  /// The number of levels, with this one.
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

  /// How a collection on the left is treated. `NONE` is the negation of `any`.
  public enum Modifier: Hashable, Sendable, CaseIterable {
    /// The left operand is compared as it is.
    case direct
    /// The comparison must hold for every element; so it holds for an empty collection.
    case all
    /// The comparison must hold for at least one element.
    case any
  }
}

/// How text is compared, written in brackets after the operator: `==[cd]`.
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
  /// `n`: both sides are already in the wanted form; bytes are compared, `c` and `d` are ignored.
  public static let normalized = StringOptions(rawValue: 4)
  /// `l`: by the rules of a language. Accepted and kept; comparisons use the same pinned tables
  /// everywhere.
  public static let localeSensitive = StringOptions(rawValue: 8)
}
