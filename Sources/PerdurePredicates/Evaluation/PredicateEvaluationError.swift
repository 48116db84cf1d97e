/// The error of a predicate that cannot be evaluated for an object.
public struct PredicateEvaluationError: Error, Sendable, CustomStringConvertible {
  /// The kind of a failure.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Kind: String, Sendable {
      case unknownProperty, unboundVariable, invalidOperand, invalidPattern, matchTooLong
      case unsupportedFunction, sourceFailed, tooDeep
    }
    private let kind: Kind

    /// A path names a property that the object does not have.
    public static let unknownProperty = Code(kind: .unknownProperty)
    /// A variable has no value.
    public static let unboundVariable = Code(kind: .unboundVariable)
    /// An operator or function cannot use a value of this kind.
    public static let invalidOperand = Code(kind: .invalidOperand)
    /// A regular expression is invalid.
    public static let invalidPattern = Code(kind: .invalidPattern)
    /// A regular expression takes too many steps on a text.
    public static let matchTooLong = Code(kind: .matchTooLong)
    /// The function is part of the language but is not supported.
    public static let unsupportedFunction = Code(kind: .unsupportedFunction)
    /// The predicate is nested more than 200 levels deep.
    public static let tooDeep = Code(kind: .tooDeep)
    /// The source of properties failed; see the cause.
    public static let sourceFailed = Code(kind: .sourceFailed)

    /// The name of the code.
    public var description: String { kind.rawValue }
  }

  /// The kind of the failure.
  public let code: Code
  /// The error and the remedy.
  public let message: String
  /// The underlying error, if any.
  public let cause: (any Error)?

  /// An error with a message.
  public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  /// The code and the message.
  public var description: String { "\(code): \(message)" }
}
