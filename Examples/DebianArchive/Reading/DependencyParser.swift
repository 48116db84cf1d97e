// Dependency fields:
//
//   field        := [clause ("," clause)*]        empty clauses (an extra comma) are skipped
//   clause       := alternative ("|" alternative)*
//   alternative  := name [":" architecture] ["(" relation version ")"]
//   relation     := "<<" | "<=" | "=" | ">=" | ">>", and from old packages "<" for "<=" and ">" for ">="
//
// Spaces may occur between any two of these parts, but not around the colon. A clause that violates
// the grammar is reported and skipped. It still has a number, so later clauses keep their numbers.

/// Reads dependency fields.
public enum DependencyParser {
  /// Parses the alternatives in `field`, in order.
  ///
  /// - Parameters:
  ///   - field: The unchanged value, including line ends.
  ///   - malformed: Called with the text of each skipped clause.
  public static func parse(
    _ field: ArraySlice<UInt8>, kind: DependencyKind, malformed: (String) -> Void = { _ in }
  ) -> [Dependency] {
    var scanner = FieldScanner(field)
    var dependencies: [Dependency] = []
    var group = 0
    while true {
      scanner.skipSpace()
      if scanner.isAtEnd { return dependencies }
      if scanner.take(UInt8(ascii: ",")) { continue }
      let start = scanner.position
      if let clause = alternatives(&scanner, kind: kind, group: group) {
        dependencies += clause
      } else {
        _ = scanner.take { $0 != UInt8(ascii: ",") }
        malformed(field[start..<scanner.position].trimmingSpace().text)
      }
      group += 1
    }
  }

  /// Parses a clause up to its comma or the end. Returns nil if it violates the grammar.
  private static func alternatives(
    _ scanner: inout FieldScanner, kind: DependencyKind, group: Int
  ) -> [Dependency]? {
    var clause: [Dependency] = []
    repeat {
      guard var dependency = name(&scanner, kind: kind, group: group) else { return nil }
      dependency.position = clause.count
      scanner.skipSpace()
      if scanner.take(UInt8(ascii: "(")) {
        guard let constraint = constraint(&scanner) else { return nil }
        dependency.constraint = constraint
        scanner.skipSpace()
      }
      clause.append(dependency)
    } while scanner.take(UInt8(ascii: "|"))
    return scanner.isAtEnd || scanner.next == UInt8(ascii: ",") ? clause : nil
  }

  private static func name(
    _ scanner: inout FieldScanner, kind: DependencyKind, group: Int
  ) -> Dependency? {
    scanner.skipSpace()
    let name = scanner.take(while: isNameByte)
    guard !name.isEmpty else { return nil }
    var dependency = Dependency(kind: kind, group: group, position: 0, target: name.text)
    if scanner.take(UInt8(ascii: ":")) {
      let architecture = scanner.take(while: isNameByte)
      guard !architecture.isEmpty else { return nil }
      dependency.architecture = architecture.text
    }
    return dependency
  }

  private static func constraint(_ scanner: inout FieldScanner) -> VersionConstraint? {
    scanner.skipSpace()
    guard let relation = relation(scanner.take { (0x3C...0x3E).contains($0) }) else { return nil }
    scanner.skipSpace()
    let version = scanner.take { !$0.isSpace && $0 != UInt8(ascii: ")") && $0 != UInt8(ascii: ",") }
    scanner.skipSpace()
    guard !version.isEmpty, scanner.take(UInt8(ascii: ")")) else { return nil }
    return VersionConstraint(relation, version.text)
  }

  private static func relation(_ bytes: ArraySlice<UInt8>) -> VersionRelation? {
    switch bytes.text {
    case "<": .earlierOrEqual
    case ">": .laterOrEqual
    case let sign: VersionRelation(rawValue: sign)
    }
  }

  /// Letters, digits, and the characters that join parts of package names, architectures and their
  /// wildcards.
  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: "_"):
      true
    default: false
    }
  }
}
