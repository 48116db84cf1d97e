/// The error in the text of a predicate, with its position and the remedy. No predicate was made.
public struct PredicateSyntaxError: Error, Hashable, Sendable {
  /// The kind of a mistake.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Kind: String, Sendable {
      case unexpectedToken, unclosedText, badLiteral, unknownName, argumentMissing, argumentsLeft
      case argumentType, tooDeep, unsupported
    }
    private let kind: Kind

    /// Another token was expected here.
    public static let unexpectedToken = Code(kind: .unexpectedToken)
    /// A quote was opened and not closed.
    public static let unclosedText = Code(kind: .unclosedText)
    /// An invalid number, escape or typed literal.
    public static let badLiteral = Code(kind: .badLiteral)
    /// A function, option, specifier or collection operator that does not exist.
    public static let unknownName = Code(kind: .unknownName)
    /// A specifier such as `%@` has no argument.
    public static let argumentMissing = Code(kind: .argumentMissing)
    /// There are more arguments than specifiers.
    public static let argumentsLeft = Code(kind: .argumentsLeft)
    /// An argument has a type that its specifier does not accept.
    public static let argumentType = Code(kind: .argumentType)
    /// Parts are nested deeper than the limit.
    public static let tooDeep = Code(kind: .tooDeep)
    /// A part of the language that Perdure does not support.
    public static let unsupported = Code(kind: .unsupported)

    /// The name of the code.
    public var description: String { kind.rawValue }
  }

  /// The kind of the mistake.
  public let code: Code
  /// The position in the text, as a character number from 1.
  public let column: Int
  /// The expected text.
  public let expected: String
  /// The text found.
  public let found: String
  /// The remedy.
  public let remedy: String
}

extension PredicateSyntaxError: CustomStringConvertible {
  /// The column, the expected text, the text found and the remedy, on one line.
  public var description: String {
    "Predicate, column \(column): expected \(expected), found \(found). \(remedy)"
  }
}
