// Prints a tree as text that parses to the same tree.
//
// Parentheses enclose an AND or OR that is a part of another AND or OR, and the operand of NOT.
// They also enclose an operand that binds less tightly than its position requires. Trees in normal
// form are parsed back as equal trees (see FetchExpression.swift; AND and OR have two or more
// parts). Other trees are parsed back in normal form, with the same meaning.

extension FetchPredicate: CustomStringConvertible {
  /// The predicate as text that can be parsed again. A value of a kind without a literal is written
  /// as `DATE("…")`, `UUID("…")` and so on.
  ///
  /// If the predicate is nested so deeply that every fetch rejects it, the result is a short text
  /// in parentheses.
  public var predicateFormat: String { flattened()?.printed ?? FetchExpression.tooDeepText }

  fileprivate var printed: String {
    switch self {
    case .true: "TRUEPREDICATE"
    case .false: "FALSEPREDICATE"
    case .and(let parts): Self.joined(parts, by: " AND ", none: "TRUEPREDICATE")
    case .or(let parts): Self.joined(parts, by: " OR ", none: "FALSEPREDICATE")
    case .not(let part): "NOT (\(part.only.printed))"
    case .comparison(let comparison): comparison.printed
    }
  }

  /// The same as ``predicateFormat``.
  public var description: String { predicateFormat }

  private static func joined(_ parts: PredicateParts, by word: String, none: String) -> String {
    if parts.count < 2 { return parts.first?.printed ?? none }
    return parts.map { part in
      switch part {
      case .and, .or: "(\(part.printed))"
      default: part.printed
      }
    }.joined(separator: word)
  }
}

extension FetchComparison: CustomStringConvertible {
  /// The comparison as text.
  public var description: String { FetchPredicate.comparison(self).predicateFormat }

  var printed: String {
    let word =
      switch modifier {
      case .direct: ""
      case .all: "ALL "
      case .any: "ANY "
      }
    return word + left.printed(atLeast: 2) + " " + op.rawValue + options.printed + " "
      + right.printed(atLeast: 2)
  }
}

extension StringOptions {
  var printed: String {
    if isEmpty { return "" }
    return "[" + (contains(.caseInsensitive) ? "c" : "") + (contains(.diacriticInsensitive) ? "d" : "")
      + (contains(.normalized) ? "n" : "") + (contains(.localeSensitive) ? "l" : "") + "]"
  }
}

extension FetchExpression: CustomStringConvertible {
  /// The expression as text that can be parsed again; see `FetchPredicate.predicateFormat`.
  public var description: String { isWithinLevelMax ? printed : Self.tooDeepText }

  fileprivate static let tooDeepText = "(more than \(FetchPredicate.levelMax) levels or names)"

  /// The first 100 characters of the description, for messages: an expression may be of any length.
  package var shortDescription: String { description.shortened }

  var printed: String { printed(atLeast: 1) }

  /// The precedence of expressions that an index or a path can follow. The other precedences are 1
  /// for set operations, 2 to 4 for `FetchFunction.infix`, and 5 for signs.
  private static let primary = 6

  func printed(atLeast minimum: Int) -> String {
    let (text, precedence) = plain
    return precedence < minimum ? "(\(text))" : text
  }

  /// The text without enclosing parentheses, and its precedence.
  private var plain: (String, precedence: Int) {
    switch self {
    case .constant(let value): (value.description, value.isSignedOrNumber ? 5 : Self.primary)
    case .keyPath(let path): (path.printed, Self.primary)
    case .variable(let name): (Self.printed(variable: name), Self.primary)
    case .evaluatedObject: ("SELF", Self.primary)
    case .member(let base, let path): (base.printedAsBase + "." + path.printed, Self.primary)
    case .element(let base, let index):
      (base.printed(atLeast: Self.primary) + "[\(index.printed)]", Self.primary)
    case .function(let function, let arguments): Self.call(function, arguments)
    case .aggregate(let elements): ("{" + Self.list(elements) + "}", Self.primary)
    case .subquery(let collection, let variable, let predicate):
      (
        "SUBQUERY(\(collection.printed), \(Self.printed(variable: variable)), \(predicate.printed))",
        Self.primary
      )
    case .conditional(let predicate, let first, let second):
      ("TERNARY(\(predicate.printed), \(first.printed), \(second.printed))", Self.primary)
    case .set(let operation, let left, let right):
      (left.printed(atLeast: 1) + " \(operation.rawValue) " + right.printed(atLeast: 2), 1)
    }
  }

  /// The text as the base of a path, in parentheses if the path otherwise applies only to a part of
  /// the base.
  private var printedAsBase: String {
    switch self {
    case .keyPath(let path) where path.aggregate != nil: "(\(printed))"
    case .member(_, let path) where path.aggregate != nil: "(\(printed))"
    default: printed(atLeast: Self.primary)
    }
  }

  private static func printed(variable name: String) -> String {
    let isPlain = !name.isEmpty && name.utf8.allSatisfy(PredicateLexer.isNamePart)
    return "$" + (isPlain ? name : Value.quoted(name))
  }

  private static func list(_ elements: [FetchExpression]) -> String {
    elements.map(\.printed).joined(separator: ", ")
  }

  private static func call(
    _ function: FetchFunction, _ arguments: [FetchExpression]
  ) -> (String, precedence: Int) {
    switch function {
    case _ where function.infix != nil && arguments.count == 2:
      let (symbol, precedence) = function.infix!
      let left = arguments[0].printed(atLeast: precedence)
      return (left + " \(symbol) " + arguments[1].printed(atLeast: precedence + 1), precedence)
    case .negate where arguments.count == 1:
      return ("-" + arguments[0].printedUnderSign, 5)
    case .now, .random: return ("\(function.rawValue)(\(list(arguments)))", primary)
    case .cast: return ("CAST(\(list(arguments)))", primary)
    default: return ("\(function.rawValue)(\(list(arguments)))", primary)
    }
  }

  /// The text after a sign. A negated number is in parentheses: without them, the sign is a part of
  /// the number.
  private var printedUnderSign: String {
    if case .constant(let value) = self, value.isSignedOrNumber { return "(\(printed))" }
    return printed(atLeast: 5)
  }
}

extension String {
  /// The first 100 characters, for messages. An ellipsis shows that the text is longer.
  package var shortened: String {
    let front = prefix(100)
    return front.endIndex == endIndex ? self : front + "…"
  }
}

extension FetchExpression.ElementIndex {
  var printed: String {
    switch self {
    case .at(let position): position.printed
    case .first: "FIRST"
    case .last: "LAST"
    case .size: "SIZE"
    }
  }
}

extension Value {
  /// Whether the literal begins with a sign or a digit.
  var isSignedOrNumber: Bool {
    switch self {
    case .integer: true
    case .double(let double): double.isFinite
    default: false
    }
  }
}

extension PropertyPath: CustomStringConvertible {
  /// The path as text.
  public var description: String { printed }

  var printed: String {
    let words = names.map(Self.printedName)
    guard let aggregate else { return words.joined(separator: ".") }
    let mark = "@" + aggregate.rawValue
    if words.count > 1 {
      return (words.dropLast() + [mark] + words.suffix(1)).joined(separator: ".")
    }
    return (words + [mark] + (aggregate == .count ? [] : ["#self"])).joined(separator: ".")
  }

  private static func printedName(_ name: String) -> String {
    let isPlain =
      name.utf8.first.map(PredicateLexer.isNameStart) == true
      && name.utf8.allSatisfy(PredicateLexer.isNamePart)
    if !isPlain || name.uppercased() == "SELF" { return "#" + Value.quoted(name) }
    return ReservedWords.mustEscape(name) ? "#" + name : name
  }
}
