public import PerdurePredicates

/// A requirement that an attribute's values must meet at a save.
///
///     AttributeDescription("age", .int16, rules: [.minimum(0), .maximum(150)])
///     AttributeDescription("code", .string, rules: [.minimumLength(1), .pattern("[A-Z]+")])
///
/// Rules are data. A store contains them with its model, so every program that reads the model has
/// them. They are checked when an object is saved and when its context is validated, never at
/// assignment. An absent value breaks no rule: only `isOptional` applies to absent values.
public enum ValidationRule: Sendable, Hashable {
  /// The minimum of a number or a date. NaN breaks the rule. A bound of a decimal that is not whole
  /// needs `.decimal(…)`, because a literal with a point is a Double.
  case minimum(DefaultValue)
  /// The maximum of a number or a date. NaN breaks the rule.
  case maximum(DefaultValue)
  /// The minimum number of characters of a text or URI, or of bytes.
  case minimumLength(Int)
  /// The maximum number of characters of a text or URI, or of bytes.
  case maximumLength(Int)
  /// A regular expression that the whole text, or the whole URI, matches.
  case pattern(String)
  /// A predicate that the value, called `SELF`, must satisfy. It uses no properties and no
  /// variables.
  ///
  /// The message states the requirement and follows the name of the property: "must be even". A
  /// pattern is checked faster by `pattern` than by a predicate with MATCHES.
  case predicate(FetchPredicate, message: String)
  /// The text of a predicate that this version cannot read. A later version wrote it in a stored
  /// model, or `predicate(format:message:)` was called with an invalid text.
  ///
  /// The store can still be read. A new value cannot be checked against the rule, so it breaks the
  /// rule. For a program's own model, `ManagedObjectModel.init` reports the rule as an error.
  case unreadablePredicate(String, message: String)
}

extension ValidationRule {
  /// A predicate that the value must satisfy, as a format string without arguments.
  ///
  ///     AttributeDescription("age", .int16, rules: [.predicate(format: "modulus:by:(SELF, 2) == 0")])
  ///
  /// If the text is not a valid predicate, the model reports a problem.
  ///
  /// - Parameter message: The requirement in words, such as "must be even"; empty to quote the
  ///   predicate.
  public static func predicate(format: String, message: String = "") -> ValidationRule {
    do {
      return .predicate(try FetchPredicate(format: format), message: message)
    } catch {
      return .unreadablePredicate(format, message: message)
    }
  }
}

extension ValidationRule: CustomStringConvertible {
  /// The requirement of the rule, in words that follow the name of the property.
  public var description: String {
    switch self {
    case .minimum(let value): "must be at least \(value.words)"
    case .maximum(let value): "must be at most \(value.words)"
    case .minimumLength(let count): "must have a length of at least \(count)"
    case .maximumLength(let count): "must have a length of at most \(count)"
    case .pattern(let pattern): "must match \(pattern) as a whole"
    case .predicate(let predicate, let message):
      message.isEmpty ? "must be such that \(predicate.predicateFormat)" : message
    case .unreadablePredicate(let text, let message): message.isEmpty ? "must be such that \(text)" : message
    }
  }

  /// The whole rule in words. Rules that differ have different texts.
  var wholeText: String {
    switch self {
    // Use `value`, because `words` shows a date only to the millisecond.
    case .minimum(let value): "must be at least \(value.value)"
    case .maximum(let value): "must be at most \(value.value)"
    case .minimumLength, .maximumLength, .pattern: description
    case .predicate(let predicate, let message): Self.wholeText(predicate.predicateFormat, message)
    case .unreadablePredicate(let text, let message): Self.wholeText(text, message)
    }
  }

  private static func wholeText(_ predicate: String, _ message: String) -> String {
    message.isEmpty ? "must be such that \(predicate)" : "\(message) (\(predicate))"
  }
}

extension DefaultValue {
  /// A bound in words, without the syntax of predicates.
  fileprivate var words: String {
    switch self {
    case .date(let date): DateText.text(of: date)
    case .decimal(let decimal): "\(decimal)"
    default: "\(value)"
    }
  }
}
