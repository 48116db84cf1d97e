/// The order of names in files that Xcode writes: case is ignored, and runs of digits are compared
/// as numbers. The order does not depend on the system's locale.
enum NaturalOrder {
  /// Whether `left` comes before `right`. Names that differ only in case or in leading zeros are
  /// ordered by their bytes.
  static func precedes(_ left: String, _ right: String) -> Bool {
    let (first, second) = (parts(left), parts(right))
    for (one, other) in zip(first, second) where one != other { return one < other }
    if first.count != second.count { return first.count < second.count }
    return left.utf8.lexicographicallyPrecedes(right.utf8)
  }

  /// A character in lower case, or a run of digits without leading zeros.
  private enum Part: Equatable {
    case character(String)
    case number(String)

    static func < (left: Part, right: Part) -> Bool {
      switch (left, right) {
      case (.character(let one), .character(let other)): one.utf8.lexicographicallyPrecedes(other.utf8)
      case (.number(let one), .number(let other)):
        (one.utf8.count, one) < (other.utf8.count, other)
      case (.number, .character(let other)): "0" < other
      case (.character(let one), .number): one < "0"
      }
    }
  }

  private static func parts(_ name: String) -> [Part] {
    var parts: [Part] = []
    var rest = name[...]
    while let first = rest.first {
      let digits = rest.prefix { ("0"..."9").contains($0) }
      if digits.isEmpty {
        parts.append(.character(first.lowercased()))
        rest.removeFirst()
      } else {
        parts.append(.number(String(digits.drop { $0 == "0" })))
        rest = rest[digits.endIndex...]
      }
    }
    return parts
  }
}
