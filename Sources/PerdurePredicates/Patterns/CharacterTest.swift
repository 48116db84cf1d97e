// Tests of one character: a literal, a range, a class, and their unions, intersections and
// complements.

/// A test of one character.
indirect enum CharacterTest: Sendable {
  /// Every character.
  case any
  /// One character. `lowercased` is its lower case if the match ignores case, and nil otherwise.
  case character(Character, lowercased: String?)
  /// Characters that consist of one scalar, which is in a range. If `ignoresCase` is true, also
  /// characters whose lower or upper case is such a character.
  case range(ClosedRange<UInt32>, ignoresCase: Bool)
  case digit
  case word
  case whitespace
  case horizontalSpace
  case newline
  /// The characters whose first scalar has one of these general categories.
  case categories(Set<Unicode.GeneralCategory>)
  /// Characters that satisfy one of the tests. A union with CR and LF also matches CR LF, which is
  /// one character.
  case union([CharacterTest])
  case intersection(CharacterTest, CharacterTest)
  case not(CharacterTest)

  func holds(_ character: Character) -> Bool {
    switch self {
    case .any: return true
    case .character(let wanted, let lowercased):
      return character == wanted || (lowercased != nil && character.lowercased() == lowercased)
    case .range(let range, let ignoresCase):
      if Self.scalar(character).map(range.contains) == true { return true }
      guard ignoresCase else { return false }
      return [character.lowercased(), character.uppercased()].contains { text in
        text.count == 1 && text.first.flatMap(Self.scalar).map(range.contains) == true
      }
    case .digit: return character.isNumber
    case .word: return Self.isWord(character)
    case .whitespace: return character.isWhitespace
    case .horizontalSpace: return character.isWhitespace && !character.isNewline && character != "\u{B}"
    case .newline: return character.isNewline
    case .categories(let categories):
      return character.unicodeScalars.first.map { categories.contains($0.properties.generalCategory) }
        ?? false
    case .union(let tests):
      if tests.contains(where: { $0.holds(character) }) { return true }
      return character == "\r\n" && holds("\r") && holds("\n")
    case .intersection(let first, let second): return first.holds(character) && second.holds(character)
    case .not(let test): return !test.holds(character)
    }
  }

  static func isWord(_ character: Character) -> Bool {
    if character.isLetter || character.isNumber || character == "_" { return true }
    guard let first = character.unicodeScalars.first else { return false }
    switch first.properties.generalCategory {
    case .connectorPunctuation, .nonspacingMark, .spacingMark, .enclosingMark: return true
    default: return first.properties.isAlphabetic || first.properties.isJoinControl
    }
  }

  /// The only scalar of a character; nil if it has several.
  private static func scalar(_ character: Character) -> UInt32? {
    let scalars = character.unicodeScalars
    guard let first = scalars.first, scalars.count == 1 else { return nil }
    return first.value
  }
}

/// A test with its results for ASCII as a bit set.
struct PreparedTest: Sendable {
  let test: CharacterTest
  private let low: UInt64
  private let high: UInt64

  init(_ test: CharacterTest) {
    self.test = test
    var bits: (UInt64, UInt64) = (0, 0)
    for code in UInt8(0)..<128 where test.holds(Character(Unicode.Scalar(code))) {
      if code < 64 { bits.0 |= 1 << UInt64(code) } else { bits.1 |= 1 << UInt64(code - 64) }
    }
    (low, high) = bits
  }

  /// Whether the test accepts an ASCII character.
  @inline(__always)
  func holds(ascii code: UInt8) -> Bool {
    code < 64 ? low >> UInt64(code) & 1 == 1 : high >> UInt64(code & 63) & 1 == 1
  }
}

extension CharacterTest {
  /// The test for a name in `\p{…}`; nil for an unknown name.
  init?(property name: String) {
    let plain = name.lowercased().filter { $0 != "_" && $0 != " " && $0 != "-" }
    guard let categories = Self.categoriesByName[plain] else { return nil }
    self = .categories(categories)
  }

  /// The test for a name in `[:…:]`; nil for an unknown name.
  init?(posix name: String) {
    switch name {
    case "alpha": self = .categories(Self.letters)
    case "digit": self = .categories([.decimalNumber])
    case "alnum": self = .categories(Self.letters.union([.decimalNumber]))
    case "upper": self = .categories([.uppercaseLetter])
    case "lower": self = .categories([.lowercaseLetter])
    case "space": self = .whitespace
    case "blank": self = .horizontalSpace
    case "punct": self = .categories(Self.punctuation)
    case "word": self = .word
    case "xdigit":
      self = .union([
        .range(0x30...0x39, ignoresCase: false), .range(0x41...0x46, ignoresCase: false),
        .range(0x61...0x66, ignoresCase: false),
      ])
    default: return nil
    }
  }

  private static let letters: Set<Unicode.GeneralCategory> = [
    .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
  ]
  private static let punctuation: Set<Unicode.GeneralCategory> = [
    .connectorPunctuation, .dashPunctuation, .openPunctuation, .closePunctuation, .initialPunctuation,
    .finalPunctuation, .otherPunctuation,
  ]

  private static let categoriesByName: [String: Set<Unicode.GeneralCategory>] = [
    "l": letters, "letter": letters, "lu": [.uppercaseLetter], "uppercaseletter": [.uppercaseLetter],
    "ll": [.lowercaseLetter], "lowercaseletter": [.lowercaseLetter], "lt": [.titlecaseLetter],
    "lm": [.modifierLetter], "lo": [.otherLetter], "uppercase": [.uppercaseLetter],
    "lowercase": [.lowercaseLetter],
    "m": [.nonspacingMark, .spacingMark, .enclosingMark], "mn": [.nonspacingMark], "mc": [.spacingMark],
    "me": [.enclosingMark], "n": [.decimalNumber, .letterNumber, .otherNumber],
    "number": [.decimalNumber, .letterNumber, .otherNumber], "nd": [.decimalNumber], "nl": [.letterNumber],
    "no": [.otherNumber], "p": punctuation, "punctuation": punctuation, "pc": [.connectorPunctuation],
    "pd": [.dashPunctuation], "ps": [.openPunctuation], "pe": [.closePunctuation],
    "pi": [.initialPunctuation], "pf": [.finalPunctuation], "po": [.otherPunctuation],
    "s": [.mathSymbol, .currencySymbol, .modifierSymbol, .otherSymbol],
    "symbol": [.mathSymbol, .currencySymbol, .modifierSymbol, .otherSymbol], "sm": [.mathSymbol],
    "sc": [.currencySymbol], "sk": [.modifierSymbol], "so": [.otherSymbol],
    "z": [.spaceSeparator, .lineSeparator, .paragraphSeparator], "zs": [.spaceSeparator],
    "zl": [.lineSeparator], "zp": [.paragraphSeparator],
    "separator": [.spaceSeparator, .lineSeparator, .paragraphSeparator],
    "c": [.control, .format, .surrogate, .privateUse, .unassigned], "cc": [.control], "cf": [.format],
    "cs": [.surrogate], "co": [.privateUse], "cn": [.unassigned],
  ]
}
