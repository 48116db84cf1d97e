internal import PerdurePredicates

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension ModelValidation {
  /// Checks the validation rules of an attribute. First it checks each rule alone, then all rules
  /// together. If it finds no error, and the model does not come from a store, it checks the
  /// default value against the rules.
  mutating func checkRules(_ attribute: AttributeDescription, _ entity: String) {
    guard !attribute.rules.isEmpty else { return }
    if attribute.derivation != nil {
      error(
        .validationRule, entity, attribute.name, "A derived attribute has validation rules.",
        "Put them on the source of the attribute, for example as counts of the relationship.")
      return
    }
    var flaws: [(message: String, remedy: String)] = []
    for rule in attribute.rules {
      if let flaw = flaw(of: rule, for: attribute.type) { flaws.append(flaw) }
    }
    flaws += Self.contradictions(attribute)
    for flaw in flaws { error(.validationRule, entity, attribute.name, flaw.message, flaw.remedy) }
    if flaws.isEmpty, !isStored { checkDefaultAgainstRules(attribute, entity) }
  }

  private mutating func checkDefaultAgainstRules(_ attribute: AttributeDescription, _ entity: String) {
    guard let value = attribute.defaultValue?.converted(to: attribute.type)?.value else { return }
    let broken: [CompiledRules.Broken]
    do throws(PredicateEvaluationError) {
      broken = try CompiledRules(attribute.rules, type: attribute.type).broken(by: value)
    } catch {
      return
    }
    for broken in broken {
      warn(
        .defaultBreaksRule, entity, attribute.name,
        "The default \("\(value)".shortened) breaks a rule: the attribute \("\(broken.rule)".shortened).",
        "Every object must be given another value before it is saved. Correct the default or the rule.")
    }
  }

  private func flaw(of rule: ValidationRule, for type: AttributeType) -> (message: String, remedy: String)? {
    switch rule {
    case .minimum(let bound), .maximum(let bound):
      if !type.hasOrder {
        return ("\(type.phrase) has no least or greatest value.", "Use another rule, or a predicate.")
      }
      if bound.converted(to: type) == nil || bound.isNaN {
        return (
          "The bound \("\(bound.value)".shortened) is not of the type \(type).", Self.remedy(forBoundOf: type)
        )
      }
    case .minimumLength(let count), .maximumLength(let count):
      if !type.hasLength {
        return ("\(type.phrase) has no length.", "Use minimum and maximum, or a predicate.")
      }
      if count < 0 || count >= Int(Int32.max) {
        return ("The length \(count) is impossible.", "Use a length from 0 to \(Int32.max - 1).")
      }
    case .pattern(let pattern):
      if type != .string, type != .uri { return ("\(type.phrase) is not text.", "Use another rule.") }
      return isStored ? nil : Self.flaw(ofPattern: pattern)
    case .predicate(let predicate, _):
      if type == .undefined {
        return ("No predicate can be evaluated for this attribute.", "Give the attribute a type.")
      }
      if type == .transformable {
        return (
          "A predicate cannot test transformed bytes.",
          "Check the value in validateForInsert and validateForUpdate."
        )
      }
      if type == .objectID {
        return (
          "A predicate cannot compare an id.", "Check the object in validateForInsert and validateForUpdate."
        )
      }
      // In stored models, such an error is found when the predicate is evaluated.
      return isStored ? nil : Self.flaw(of: predicate)
    case .unreadablePredicate(let text, _):
      if !isStored { return ("The predicate \(text) cannot be read.", "Use a predicate of this version.") }
    }
    return nil
  }

  private static func remedy(forBoundOf type: AttributeType) -> String {
    type == .decimal
      ? "Give a whole number, or write .decimal(…): a literal with a point is a Double."
      : "Give a value of the attribute's type and range."
  }

  private static func flaw(ofPattern pattern: String) -> (message: String, remedy: String)? {
    do throws(PredicateEvaluationError) {
      _ = try CompiledRules([.pattern(pattern)], type: .string)
      return nil
    } catch {
      return ("The pattern cannot be read: \(error)", "Correct the regular expression.")
    }
  }

  /// The error in a predicate of a rule. The predicate may use only the value, and must be storable
  /// as text.
  private static func flaw(of predicate: FetchPredicate) -> (message: String, remedy: String)? {
    var names = Set(predicate.properties)
    var hasObject = false
    predicate.forEachExpression { expression in
      switch expression {
      case .member(_, let path): names.formUnion(path.names)
      case .constant(let value): hasObject = hasObject || value.namesObject
      default: break
      }
    }
    names.formUnion(predicate.variables.map { "$\($0)" })
    if names == ["length"] {
      return ("The predicate names length.", "Use minimumLength and maximumLength, or length:(SELF).")
    }
    if !names.isEmpty {
      return (
        "The predicate names \(names.sorted().joined(separator: ", ")).",
        "Write SELF for the value; a rule concerns one attribute."
      )
    }
    if hasObject { return ("The predicate names an object.", "Compare with values.") }
    if (try? FetchPredicate(format: predicate.predicateFormat)) == nil {
      return ("The predicate cannot be written as text.", "Make it smaller.")
    }
    return nil
  }

  private static func contradictions(
    _ attribute: AttributeDescription
  ) -> [(message: String, remedy: String)] {
    var least: [Value] = []
    var most: [Value] = []
    var (leastLength, mostLength) = (0, Int.max)
    for rule in attribute.rules {
      switch rule {
      case .minimum(let bound): least += [bound.converted(to: attribute.type)?.value].compactMap { $0 }
      case .maximum(let bound): most += [bound.converted(to: attribute.type)?.value].compactMap { $0 }
      case .minimumLength(let count): leastLength = max(leastLength, count)
      case .maximumLength(let count): mostLength = min(mostLength, count)
      case .pattern, .predicate, .unreadablePredicate: break
      }
    }
    var flaws: [(message: String, remedy: String)] = []
    for least in least {
      for most in most where (try? isGreater(least, most)) == true {
        flaws.append(("No value is at least \(least) and at most \(most).", "Exchange the two."))
      }
    }
    if leastLength > mostLength {
      flaws.append(("No length is at least \(leastLength) and at most \(mostLength).", "Exchange the two."))
    }
    return flaws
  }

  private static func isGreater(_ left: Value, _ right: Value) throws(PredicateEvaluationError) -> Bool {
    try FetchPredicate.comparison(FetchComparison(.evaluatedObject, .greaterThan, .constant(right)))
      .evaluate(with: left)
  }
}

extension AttributeType {
  /// Whether values are numbers or points in time.
  fileprivate var hasOrder: Bool {
    switch self {
    case .int16, .int32, .int64, .decimal, .double, .float, .date: true
    case .undefined, .string, .boolean, .binary, .uuid, .uri, .transformable, .objectID: false
    }
  }

  /// The subject of messages about values of the type.
  fileprivate var phrase: String {
    switch self {
    case .undefined: "An attribute of any type"
    case .objectID: "An object id"
    default: "A \(self)"
    }
  }

  /// Whether values have a length.
  fileprivate var hasLength: Bool { self == .string || self == .binary || self == .uri }
}

extension DefaultValue {
  fileprivate var isNaN: Bool {
    switch self {
    case .double(let value): value.isNaN
    case .decimal(let value): value.isNaN
    case .date(let value): value.timeIntervalSinceReferenceDate.isNaN
    default: false
    }
  }
}

extension Value {
  fileprivate var namesObject: Bool {
    switch self {
    case .reference, .objectID: true
    case .list(let values): values.contains(where: \.namesObject)
    default: false
    }
  }
}
