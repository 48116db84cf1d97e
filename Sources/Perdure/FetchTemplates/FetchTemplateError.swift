public import PerdureModel

/// A request could not be made from a template. Correct the call or the template.
public struct FetchTemplateError: Error, Hashable, Sendable {
  /// The kind of mistake.
  public enum Code: Hashable, Sendable {
    /// The model has no template with the name.
    case unknownTemplate
    /// Variables have no value or a value of a wrong type, or do not exist. See `problems`.
    case variables
    /// The template needs something that this version does not support.
    case unusableTemplate
  }

  /// A variable whose value is missing or has a wrong type, or that the template does not have.
  public struct Problem: Hashable, Sendable {
    /// The kind of a problem with a variable.
    public enum Kind: Hashable, Sendable {
      /// The call gives no value for a variable of the template. A nil value counts as a value.
      case missing
      /// The template has no such variable.
      case unknown
      /// The value does not have the type that the template needs.
      case wrongType
    }

    /// The kind of the problem.
    public let kind: Kind
    /// The variable's name, without `$`.
    public let variable: String
    /// The type that the template needs; nil for an unknown variable.
    public let expected: FetchVariableType?
    /// The problem and the remedy.
    public let message: String
  }

  /// The kind of mistake.
  public let code: Code
  /// The name of the template.
  public let template: String
  /// The error and the remedy.
  public let message: String
  /// The problems of all variables, in the order of the variables' names.
  public let problems: [Problem]

  init(_ code: Code, _ template: String, _ message: String, problems: [Problem] = []) {
    self.code = code
    self.template = template
    self.message = message
    self.problems = problems
  }
}

extension FetchTemplateError: CustomStringConvertible {
  /// The message, and one line for each problem.
  public var description: String {
    ([message] + problems.map { "- \($0.message)" }).joined(separator: "\n")
  }
}
