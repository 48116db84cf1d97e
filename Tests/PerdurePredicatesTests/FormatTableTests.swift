import Foundation
import PerdurePredicates
import Testing

/// Tests the table of the format language in the comment of `FetchPredicate(format:)`.
@Suite("The table of the format language")
struct FormatTableTests {
  private struct Row {
    let form: String
    let example: String
    let cellCount: Int
  }

  private static let rows: [Row] = {
    let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../Sources/PerdurePredicates/Text/FetchPredicate+Format.swift")
    let text = (try? String(contentsOf: path, encoding: .utf8)) ?? ""
    return text.split(separator: "\n").compactMap { line in
      guard line.hasPrefix("  /// | `"), line.hasSuffix("` |") else { return nil }
      // A vertical bar separates cells, even inside code. Therefore a literal bar is escaped.
      let cells = line.dropFirst(6).replacing("\\|", with: "\0").dropLast().split(separator: "|")
        .map { $0.trimmingCharacters(in: .whitespaces).replacing("\0", with: "|") }
      return Row(
        form: cells.first ?? "", example: String((cells.last ?? "").dropFirst().dropLast()),
        cellCount: cells.count)
    }
  }()

  private static let arguments: [String: any PredicateArgument & Sendable] = [
    "@": "Ada", "d": 36, "K": "age",
  ]

  @Test("Every example of the table is true, even after printing and parsing")
  func examples() throws {
    #expect(Self.rows.count >= 30)
    let ada = TestCompany().ada
    for row in Self.rows {
      let places = row.example.components(separatedBy: "%").dropFirst().map { String($0.prefix(1)) }
      let predicate = try FetchPredicate(
        format: row.example, argumentArray: places.map { Self.arguments[$0] })
      #expect(try predicate.evaluate(with: ada, variables: ["x": 36]), "\(row.example)")
      let again = try FetchPredicate(format: predicate.description)
      #expect(try again.evaluate(with: ada, variables: ["x": 36]), "\(row.example)")
      #expect(!(try FetchPredicate.not(predicate).evaluate(with: ada, variables: ["x": 36])))
    }
  }

  @Test("Every row has a form, a meaning and an example")
  func cells() {
    for row in Self.rows { #expect(row.cellCount == 3, "\(row.form)") }
    #expect(Self.rows.contains { $0.form == "`AND`, `&&`; `OR`, `||`" })
  }

  @Test("The table contains every comparison operator")
  func operators() {
    let forms = Self.rows.map(\.form).joined(separator: " ")
    for op in [
      "==", "!=", "<", "<=", ">", ">=", "BETWEEN", "IN", "CONTAINS", "BEGINSWITH", "ENDSWITH", "LIKE",
      "MATCHES",
      "ANY", "ALL", "NONE", "SOME", "SUBQUERY", "TERNARY", "CAST", "%@", "%K", "$name",
    ] { #expect(forms.contains(op), "\(op)") }
  }
}
