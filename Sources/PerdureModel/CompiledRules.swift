// The rules of one attribute, prepared for checking many values. The check has no side effects: it
// takes a value and returns the broken rules. Bounds have the same form as values in rows, so a
// check is one comparison. Regular expressions are parsed once. A check of a number, a date or a
// text against bounds and lengths allocates nothing if no rule is broken.

package import PerdurePredicates

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The rules of an attribute, in the order of its description.
package struct CompiledRules: Sendable {
  /// A rule that a value breaks.
  package struct Broken {
    /// The rule.
    package let rule: ValidationRule
    /// The error if the rule's predicate could not be evaluated; otherwise nil. Such a rule is
    /// treated as broken.
    package let cause: PredicateEvaluationError?
  }

  private let rules: [ValidationRule]
  private let checks: [Check]

  /// Compiles the rules that a model has accepted for `type`.
  ///
  /// - Throws: `PredicateEvaluationError` for an invalid pattern. Rules that do not fit the type
  ///   are skipped, because no model contains them.
  package init(_ rules: [ValidationRule], type: AttributeType) throws(PredicateEvaluationError) {
    var kept: [ValidationRule] = []
    var checks: [Check] = []
    for rule in rules {
      guard let check = try Check(rule, type) else { continue }
      kept.append(rule)
      checks.append(check)
    }
    self.rules = kept
    self.checks = checks
  }

  package var isEmpty: Bool { checks.isEmpty }

  /// The rules that a value breaks, in order. Null breaks no rule.
  package func broken(by value: Value) -> [Broken] {
    var result: [Broken] = []
    if value.isNull { return result }
    for position in checks.indices {
      switch checks[position].answer(value) {
      case .holds: break
      case .fails: result.append(Broken(rule: rules[position], cause: nil))
      case .cannotBeAsked(let cause): result.append(Broken(rule: rules[position], cause: cause))
      }
    }
    return result
  }
}

/// One rule. A bound has the form of the attribute's values.
private enum Check: Sendable {
  case integerAtLeast(Int64)
  case integerAtMost(Int64)
  case doubleAtLeast(Double)
  case doubleAtMost(Double)
  case decimalAtLeast(Decimal)
  case decimalAtMost(Decimal)
  case lengthAtLeast(Int)
  case lengthAtMost(Int)
  case pattern(RegularExpression)
  case predicate(FetchPredicate)
  case unreadable(String)

  enum Answer {
    case holds
    case fails
    case cannotBeAsked(PredicateEvaluationError)

    init(_ holds: Bool) { self = holds ? .holds : .fails }
  }

  /// Returns nil if the rule does not fit the type.
  init?(_ rule: ValidationRule, _ type: AttributeType) throws(PredicateEvaluationError) {
    switch rule {
    case .minimum(let bound):
      switch bound.converted(to: type)?.value {
      case .integer(let least): self = .integerAtLeast(least)
      case .double(let least): self = .doubleAtLeast(least)
      case .date(let least): self = .doubleAtLeast(least.timeIntervalSinceReferenceDate)
      case .decimal(let least): self = .decimalAtLeast(least)
      default: return nil
      }
    case .maximum(let bound):
      switch bound.converted(to: type)?.value {
      case .integer(let most): self = .integerAtMost(most)
      case .double(let most): self = .doubleAtMost(most)
      case .date(let most): self = .doubleAtMost(most.timeIntervalSinceReferenceDate)
      case .decimal(let most): self = .decimalAtMost(most)
      default: return nil
      }
    case .minimumLength(let count): self = .lengthAtLeast(count)
    case .maximumLength(let count): self = .lengthAtMost(count)
    case .pattern(let pattern): self = .pattern(try RegularExpression(pattern, options: []))
    case .predicate(let predicate, _): self = .predicate(predicate)
    case .unreadablePredicate(let text, _): self = .unreadable(text)
    }
  }

  func answer(_ value: Value) -> Answer {
    switch (self, value) {
    case (.integerAtLeast(let least), .integer(let integer)): Answer(integer >= least)
    case (.integerAtMost(let most), .integer(let integer)): Answer(integer <= most)
    case (.doubleAtLeast(let least), .double(let double)): Answer(double >= least)
    case (.doubleAtMost(let most), .double(let double)): Answer(double <= most)
    case (.doubleAtLeast(let least), .date(let date)): Answer(date.timeIntervalSinceReferenceDate >= least)
    case (.doubleAtMost(let most), .date(let date)): Answer(date.timeIntervalSinceReferenceDate <= most)
    case (.decimalAtLeast(let least), .decimal(let decimal)): Answer(!decimal.isNaN && decimal >= least)
    case (.decimalAtMost(let most), .decimal(let decimal)): Answer(!decimal.isNaN && decimal <= most)
    case (.lengthAtLeast(let count), _): Answer(value.hasLength(ofAtLeast: count))
    case (.lengthAtMost(let count), _): Answer(!value.hasLength(ofAtLeast: count + 1))
    case (.pattern(let pattern), .string(let text)): Self.asking { try pattern.matches(text) }
    case (.pattern(let pattern), .url(let url)): Self.asking { try pattern.matches(url.absoluteString) }
    case (.predicate(let predicate), _): Self.asking { try predicate.evaluate(with: value) }
    case (.unreadable(let text), _):
      .cannotBeAsked(
        PredicateEvaluationError(.unsupportedFunction, "\(text) needs a later version of Perdure."))
    default: .fails
    }
  }

  private static func asking(_ holds: () throws -> Bool) -> Answer {
    do {
      return Answer(try holds())
    } catch let error as PredicateEvaluationError {
      return .cannotBeAsked(error)
    } catch {
      return .fails
    }
  }
}

extension Value {
  /// Whether the length is at least `count`. In a text, counting stops at `count` characters.
  fileprivate func hasLength(ofAtLeast count: Int) -> Bool {
    switch self {
    case .string(let text): text.hasCharacters(count)
    case .url(let url): url.absoluteString.hasCharacters(count)
    case .data(let data): data.count >= count
    default: false
    }
  }
}

extension String {
  fileprivate func hasCharacters(_ count: Int) -> Bool {
    // Every character has at least one byte.
    guard utf8.count >= count else { return false }
    return index(startIndex, offsetBy: count, limitedBy: endIndex) != nil
  }
}
