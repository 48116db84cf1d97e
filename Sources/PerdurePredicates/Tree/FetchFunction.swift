// The functions of the language: their names, their argument counts, and whether their results
// depend only on the arguments.

/// A function that an expression can call. The raw value is the spelling in a call, for example
/// `add:to:`.
public enum FetchFunction: String, Hashable, Sendable, CaseIterable {
  /// Sum of the arguments, or of one collection.
  case sum = "sum:"
  /// Number of elements.
  case count = "count:"
  /// Least of the arguments, or of one collection.
  case min = "min:"
  /// Greatest of the arguments, or of one collection.
  case max = "max:"
  /// Mean of the arguments, or of one collection.
  case average = "average:"
  /// Middle value, or the mean of the two middle values.
  case median = "median:"
  /// The values that occur most often, as a list in order of first appearance.
  case mode = "mode:"
  /// Standard deviation of the whole population.
  case standardDeviation = "stddev:"
  /// `a + b`
  case add = "add:to:"
  /// `a - b`
  case subtract = "from:subtract:"
  /// `a * b`
  case multiply = "multiply:by:"
  /// `a / b`: null if `b` is 0; a decimal number if one operand is decimal. Otherwise it is a whole
  /// number if both operands are whole and there is no remainder, or else a real number.
  /// Exceptions: AR3 and AR4 in Arithmetic.swift.
  case divide = "divide:by:"
  /// Remainder of a division, with the sign of the dividend.
  case modulus = "modulus:by:"
  /// `a ** b`
  case raise = "raise:toPower:"
  /// `-a`
  case negate = "negate:"
  /// Square root.
  case squareRoot = "sqrt:"
  /// Logarithm to base 10.
  case log = "log:"
  /// Natural logarithm.
  case naturalLog = "ln:"
  /// e to a power.
  case exponential = "exp:"
  /// The greatest whole number that is at most the argument.
  case floor = "floor:"
  /// The least whole number that is at least the argument.
  case ceiling = "ceiling:"
  /// The whole part.
  case truncate = "trunc:"
  /// Magnitude.
  case abs = "abs:"
  /// Text in upper case.
  case uppercase = "uppercase:"
  /// Text in lower case.
  case lowercase = "lowercase:"
  /// Text with case and diacritics folded by ``StringFolding``.
  case canonical = "canonical:"
  /// Number of characters of text, of bytes of data, or of elements of a collection.
  case length = "length:"
  /// The current time: the same for all objects that one evaluator evaluates.
  case now = "now"
  /// A random number. It can be parsed but not evaluated.
  case random = "random"
  /// A random number below a bound. It can be parsed but not evaluated.
  case randomBelow = "randomn:"
  /// Bits set in both.
  case bitwiseAnd = "bitwiseAnd:with:"
  /// Bits set in either.
  case bitwiseOr = "bitwiseOr:with:"
  /// Bits set in exactly one of the two.
  case bitwiseXor = "bitwiseXor:with:"
  /// Bits shifted to the left.
  case leftShift = "leftshift:by:"
  /// Bits shifted to the right, with the sign kept.
  case rightShift = "rightshift:by:"
  /// All bits inverted.
  case onesComplement = "onesComplement:"
  /// The argument itself; a hint not to use an index for it.
  case noIndex = "noindex:"
  /// The distance between locations. It can be parsed but not evaluated.
  case distance = "distanceToLocation:fromLocation:"
  /// A value converted to another type, whose name is a text.
  case cast = "castObject:toType:"
  /// Element of a collection by position.
  case objectFrom = "objectFrom:withIndex:"
  /// `FUNCTION(receiver, 'selector', …)`. It can be parsed but not evaluated.
  case call = "FUNCTION"
}

extension FetchFunction {
  /// The possible argument counts of a call.
  package var argumentCounts: ClosedRange<Int> {
    switch self {
    case .sum, .count, .min, .max, .average, .median, .mode, .standardDeviation: 1...Int.max
    case .now, .random: 0...0
    case .call: 2...Int.max
    case .add, .subtract, .multiply, .divide, .modulus, .raise, .bitwiseAnd, .bitwiseOr, .bitwiseXor,
      .leftShift, .rightShift, .distance, .cast, .objectFrom:
      2...2
    default: 1...1
    }
  }

  /// Whether a call on constants can be evaluated once. False if equal arguments can give different
  /// results, and for functions that cannot be evaluated.
  package var isPure: Bool {
    switch self {
    case .now, .random, .randomBelow, .distance, .call: false
    default: true
    }
  }

  /// The infix operator with which this function is printed, and its precedence in the printer. Nil
  /// for `negate:`, which is printed as a sign, and for functions that are printed as calls.
  package var infix: (symbol: String, precedence: Int)? {
    switch self {
    case .add: ("+", 2)
    case .subtract: ("-", 2)
    case .multiply: ("*", 3)
    case .divide: ("/", 3)
    case .raise: ("**", 4)
    default: nil
    }
  }

  /// The function with this spelling in a call, except `FUNCTION`, which the parser handles. The
  /// spelling is the selector (`add:to:`), or the selector without colons. `ceil`, `avg` and `cast`
  /// are short forms. Case is ignored. Nil if there is none.
  package init?(spelling: String) {
    guard let function = Self.bySpelling[spelling] ?? Self.bySpelling[spelling.lowercased()] else {
      return nil
    }
    self = function
  }

  /// The names to compare with a misspelt name: all selectors if it contains a colon, otherwise the
  /// selectors of one part, without their colon.
  static func spellings(comparableWith spelling: String) -> [String] {
    let selectors = allCases.filter { $0 != .call }.map(\.rawValue)
    if spelling.contains(":") { return selectors }
    return selectors.map { $0.split(separator: ":") }.filter { $0.count == 1 }.map { String($0[0]) }
  }

  private static let bySpelling: [String: FetchFunction] = {
    var table: [String: FetchFunction] = ["ceil": .ceiling, "avg": .average, "cast": .cast]
    for function in allCases where function != .call {
      let selector = function.rawValue
      table[selector] = function
      table[selector.lowercased()] = function
      table[selector.filter { $0 != ":" }.lowercased()] = function
    }
    return table
  }()
}
