// The parsed text of a derivation: the source of a derived attribute.
//
//   derivation := "now()" | path | function ":(" path ")" | name ".@count"
//                 | name "." name ".@sum" | name ".@sum." name
//   path       := name { "." name }             to-one relationships, and an attribute at the end
//   function   := "canonical" | "lowercase" | "uppercase"
//
// The check of the whole model resolves the names (ModelValidation+Derivations.swift).

import PerdurePredicates

/// A parsed derivation.
package struct Derivation: Sendable, Hashable {
  /// The function that is applied to text.
  package enum Function: String, Sendable, Hashable, CaseIterable {
    case canonical, lowercase, uppercase
  }

  package enum Form: Sendable, Hashable {
    /// The time of the last save of the object. It is the only form with a value in rows.
    case saveTime
    /// The value at the end of a path.
    case value([String])
    /// The result of a function of the text at the end of a path.
    case text(Function, [String])
    /// The number of objects of a to-many relationship.
    case count(String)
    /// The sum of an attribute of the objects of a to-many relationship.
    case sum(String, of: String)
  }

  /// The error in a text that is not a valid derivation, and the remedy.
  package struct Flaw: Error, Sendable, Hashable {
    package let message: String
    package let remedy: String

    package init(_ message: String, _ remedy: String) {
      self.message = message
      self.remedy = remedy
    }
  }

  package let form: Form

  /// Parses a derivation.
  package init(_ text: String) throws(Flaw) {
    form = try Self.form(text)
  }

  /// The names of the properties along the path, in order.
  package var names: [String] {
    switch form {
    case .saveTime: []
    case .value(let names), .text(_, let names): names
    case .count(let relationship): [relationship]
    case .sum(let relationship, let attribute): [relationship, attribute]
    }
  }

  /// The to-many relationship whose objects are counted; nil for other forms.
  var countedRelationship: String? {
    if case .count(let relationship) = form { relationship } else { nil }
  }

  /// Whether the value is a count or a sum. Such a value is never absent.
  package var isAggregate: Bool {
    switch form {
    case .saveTime, .value, .text: false
    case .count, .sum: true
    }
  }
}

extension AttributeDescription {
  /// Whether a save sets the attribute to the time of the save. Rows contain the value.
  package var isSetBySaves: Bool { derivation == Derivation.saveTimeText }

  /// Whether the value is computed from other properties, so that no row contains it.
  package var isComputed: Bool { derivation != nil && !isSetBySaves }
}

// MARK: - Parsing

extension Derivation {
  fileprivate static let saveTimeText = "now()"

  private static func form(_ text: String) throws(Flaw) -> Form {
    if text == saveTimeText { return .saveTime }
    guard let colon = text.firstIndex(of: ":") else { return try form(ofPath: text) }
    let names = Function.allCases.map { "\($0.rawValue):(…)" }.joined(separator: ", ")
    guard let function = Function(rawValue: String(text[..<colon])) else {
      let name = String(text[..<colon])
      throw Flaw(
        "\"\(name):\" is not a function of derivations.",
        "Use one of \(names).\(NearMisses.question(name, in: Function.allCases.map(\.rawValue)))")
    }
    let argument = text[text.index(after: colon)...]
    guard argument.hasPrefix("("), argument.hasSuffix(")"), argument.count > 2 else {
      throw Flaw(
        "\(function.rawValue): has no path in parentheses.", "Write \(function.rawValue):(name).")
    }
    let path = String(argument.dropFirst().dropLast())
    guard !path.contains(":") else {
      throw Flaw(
        "The argument of \(function.rawValue): is another function.",
        "Derive an attribute with the inner function, and name it here.")
    }
    guard case .value(let names) = try form(ofPath: path) else {
      throw Flaw("The argument of \(function.rawValue): is a number.", "Name an attribute with text.")
    }
    return .text(function, names)
  }

  private static func form(ofPath text: String) throws(Flaw) -> Form {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    let operators = parts.indices.filter { parts[$0].hasPrefix("@") }
    let names = parts.filter { !$0.hasPrefix("@") }
    guard !names.isEmpty, names.allSatisfy(ModelValidation.isIdentifier) else {
      throw Flaw(
        "\"\(text)\" is not a path of property names.",
        "Write names with full stops between them, as in \"company.name\".")
    }
    guard let place = operators.first else { return .value(names) }
    let rest = "Add a derived attribute to the other entity, and write its name at the end of a path."
    switch parts[place] {
    case "@count" where operators.count == 1 && place == parts.count - 1:
      guard names.count == 1 else {
        throw Flaw("\"\(text)\" counts the objects of another object's relationship.", rest)
      }
      return .count(names[0])
    case "@sum" where operators.count == 1 && place > 0 && place >= parts.count - 2:
      guard names.count == 2 else {
        throw Flaw(
          "\"\(text)\" does not add up one attribute of one relationship.",
          names.count == 1
            ? "Write relationship.attribute.@sum."
            : "Add an attribute with the derivation \"\(names.dropFirst().joined(separator: "."))\" to the other "
              + "entity, and use the sum of that attribute.")
      }
      return .sum(names[0], of: names[1])
    case "@count", "@sum":
      throw Flaw("\"\(text)\" has \(parts[place]) in a wrong position.", "Use one operator, at the end.")
    default:
      throw Flaw(
        "\"\(text)\" has the operator \(parts[place]).",
        "Use @count or @sum, or use a fetch.")
    }
  }
}
