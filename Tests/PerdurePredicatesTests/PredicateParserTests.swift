import Foundation
import PerdurePredicates
import Testing

@Suite("Parsing of predicates") struct PredicateParserTests {
  private func comparison(
    _ name: String, _ op: FetchComparison.Operator, _ value: Value,
    options: StringOptions = []
  ) -> FetchPredicate {
    .comparison(
      FetchComparison(.keyPath(PropertyPath(name)), op, .constant(value), options: options))
  }

  @Test("NOT binds tighter than AND, and AND binds tighter than OR")
  func precedence() throws {
    let predicate = try FetchPredicate(format: "NOT a == 1 AND b == 2 OR c == 3")
    #expect(
      predicate
        == .or([
          .and([.not(comparison("a", .equal, .integer(1))), comparison("b", .equal, .integer(2))]),
          comparison("c", .equal, .integer(3)),
        ]))
    #expect(try predicate == FetchPredicate(format: "! a = 1 && b = 2 || c = 3"))
    let grouped = try FetchPredicate(format: "a == 1 AND (b == 2 OR c == 3)")
    guard case .and(let parts) = grouped, case .or = parts[1] else {
      Issue.record("parentheses were lost: \(grouped)")
      return
    }
  }

  @Test(
    "Every spelling of an operator is parsed",
    arguments: [
      ("a = 1", "a == 1"), ("a <> 1", "a != 1"), ("a =< 1", "a <= 1"), ("a => 1", "a >= 1"),
      ("a like 'x*'", "a LIKE \"x*\""), ("a Matches '.*'", "a MATCHES \".*\""),
      ("a beginswith[cd] 'x'", "a BEGINSWITH[cd] \"x\""), ("a ENDSWITH [c] 'x'", "a ENDSWITH[c] \"x\""),
      ("a CONTAINS[nl] 'x'", "a CONTAINS[nl] \"x\""), ("a in {1, 2}", "a IN {1, 2}"),
      ("a BETWEEN {1, 5}", "a BETWEEN {1, 5}"), ("SOME r.a > 1", "ANY r.a > 1"),
      ("NONE r.a > 1", "NOT (ANY r.a > 1)"), ("ALL r.a > 1", "ALL r.a > 1"),
      ("a + 2 == 4", "a + 2 == 4"), ("a - (b - c) == 4", "a - (b - c) == 4"),
      ("(a + 2) * 3 < 4", "(a + 2) * 3 < 4"),
      ("-a == -5", "-a == -5"), ("a == - - 5", "a == -(-5)"), ("2 ** -3 == a", "2 ** -3 == a"),
      ("rel.attr.@sum > 5", "rel.@sum.attr > 5"), ("rel.@sum.attr > 5", "rel.@sum.attr > 5"),
      ("rel.@count == 0", "rel.@count == 0"), ("v.@max.#self == 0", "v.@max.#self == 0"),
      ("SELF.name == nil", "name == NULL"), ("$x.name == yes", "$x.name == TRUE"),
      ("SUBQUERY(r, $x, $x.a == 1).@count > 0", "SUBQUERY(r, $x, $x.a == 1).@count > 0"),
      ("TERNARY(j != NULL, j, '').length == 0", "TERNARY(j != NULL, j, \"\").length == 0"),
      ("g[0] == 1", "g[0] == 1"), ("(SELF.g)[LAST] == 1", "g[LAST] == 1"), ("g[size] == 1", "g[SIZE] == 1"),
      ("#size == 1", "#size == 1"), ("a.size == 1", "a.#size == 1"), ("size == 1", "#size == 1"),
      ("SUM(1, 2) == a", "sum:(1, 2) == a"), ("add:to:(a, 2) == 3", "a + 2 == 3"),
      ("CAST(a, 'NSDate') < now()", "CAST(a, \"NSDate\") < now()"),
      ("a IN (b UNION {1})", "a IN (b UNION {1})"), ("0x1F == 0b11 + 0o17", "31 == 3 + 15"),
      ("a == .5 + 1e10", "a == 0.5 + 10000000000.0"), ("TRUEPREDICATE", "TRUEPREDICATE"),
      ("a == 99999999999999999999", "a == DECIMAL(\"99999999999999999999\")"),
      ("a == -9223372036854775808", "a == -9223372036854775808"),
      ("(((a))) == ((1))", "a == 1"), ("((a == 1))", "a == 1"), ("a == {}", "a == {}"),
      ("rel.@distinctUnionOfObjects.name.@count > 1", "(rel.@distinctUnionOfObjects.name).@count > 1"),
    ])
  func spellings(_ text: String, _ printed: String) throws {
    let predicate = try FetchPredicate(format: text)
    #expect(predicate.predicateFormat == printed)
    #expect(try FetchPredicate(format: printed) == predicate)
  }

  @Test("Arguments become constants of their types")
  func arguments() throws {
    let date = Date(timeIntervalSinceReferenceDate: 1.5)
    let uuid = UUID()
    let missing: Int? = nil
    let values: [((any PredicateArgument)?, Value)] = [
      (5, .integer(5)), (UInt64.max, .decimal(Decimal(UInt64.max))), (1.5, .double(1.5)),
      (true, .bool(true)), ("x", .string("x")), (date, .date(date)), (uuid, .uuid(uuid)),
      (Data([1, 2]), .data(Data([1, 2]))), (Decimal(3), .decimal(3)), (nil, .null), (missing, .null),
      (URL(string: "https://debian.org")!, .url(URL(string: "https://debian.org")!)),
      (ObjectReference(rawValue: 7), .reference(ObjectReference(rawValue: 7))),
      ([1, 2], .list([.integer(1), .integer(2)])), (1...5, .list([.integer(1), .integer(5)])),
      (["a", nil] as [String?], .list([.string("a"), .null])),
    ]
    for (argument, value) in values {
      let predicate = try FetchPredicate(format: "%K == %@", "name", argument)
      #expect(predicate == comparison("name", .equal, value))
      #expect(try FetchPredicate(format: predicate.predicateFormat) == predicate)
    }
    #expect(try FetchPredicate(format: "a == %ld", 5) == comparison("a", .equal, .integer(5)))
    #expect(try FetchPredicate(format: "a == %f", 5.5) == comparison("a", .equal, .double(5.5)))
    #expect(try FetchPredicate(format: "a == %s", "t") == comparison("a", .equal, .string("t")))
  }

  @Test("An argument cannot change the structure of a predicate")
  func injection() throws {
    let hostile = "x\" OR TRUEPREDICATE OR \"a\" == \"a"
    let predicate = try FetchPredicate(format: "name == %@", hostile)
    #expect(predicate == comparison("name", .equal, .string(hostile)))
    #expect(try FetchPredicate(format: predicate.predicateFormat) == predicate)
    let path = try FetchPredicate(format: "%K == 1", "name == 1 OR b")
    #expect(path == comparison("name == 1 OR b", .equal, .integer(1)))
    #expect(try FetchPredicate(format: path.predicateFormat) == path)
  }

  @Test("A specifier inside quotes is text")
  func quotedSpecifier() throws {
    #expect(
      try FetchPredicate(format: "name == \"%@\" AND b == '$x'")
        == .and([comparison("name", .equal, .string("%@")), comparison("b", .equal, .string("$x"))]))
  }

  @Test("A path argument may contain reserved words and operators")
  func pathArguments() throws {
    #expect(
      try FetchPredicate(format: "%K > 1", "rel.@avg.in")
        == .comparison(
          FetchComparison(
            .keyPath(PropertyPath("rel", "in", aggregate: .avg)), .greaterThan, .constant(.integer(1)))))
    #expect(try FetchPredicate(format: "%K.b == 1", "a") == FetchPredicate(format: "a.b == 1"))
    #expect(try FetchPredicate(format: "SELF.%K == 1", "a") == FetchPredicate(format: "a == 1"))
    #expect(try FetchPredicate(format: "%K == 1", "SELF") == FetchPredicate(format: "SELF == 1"))
  }

  @Test("Escapes in text are decoded")
  func escapes() throws {
    let predicate = try FetchPredicate(format: #"a == "q\"\\\n\t\r\u0041\uD83D\uDE00" OR a == 'it\'s'"#)
    #expect(
      predicate
        == .or([
          comparison("a", .equal, .string("q\"\\\n\t\rA😀")), comparison("a", .equal, .string("it's")),
        ]))
    #expect(try FetchPredicate(format: predicate.predicateFormat) == predicate)
  }

  @Test(
    "A syntax error has a column and a code",
    arguments: [
      ("a == ", 6, PredicateSyntaxError.Code.unexpectedToken), ("a == \"x", 6, .unclosedText),
      ("näme == 'x", 9, .unclosedText), ("a == 1 AND", 11, .unexpectedToken), ("a", 2, .unexpectedToken),
      ("a NOT IN b", 3, .unexpectedToken), ("a == %@", 6, .argumentMissing), ("(a == 1", 8, .unexpectedToken),
      ("a == 1)", 7, .unexpectedToken), ("a ==[x] 1", 6, .unknownName), ("foo(a) == 1", 1, .unknownName),
      ("a.@median.b == 1", 3, .unknownName), ("a == 12abc", 6, .badLiteral), (#"a == "\d""#, 7, .badLiteral),
      (#"a == "\uD800""#, 7, .badLiteral), ("a == 1e999", 6, .badLiteral), ("in == 3", 1, .unexpectedToken),
      ("a == $", 7, .unexpectedToken), ("a == 1 % 2", 8, .unknownName), ("a == ?", 6, .unexpectedToken),
      ("ANYKEY == 1", 1, .unsupported), ("a UTI-CONFORMS-TO 'x'", 3, .unsupported), ("", 1, .unexpectedToken),
      ("a == UUID('x')", 11, .badLiteral), ("ANY (a == 1)", 1, .unexpectedToken),
      ("#'' == 1", 1, .unexpectedToken),
      ("abs(1, 2) == 1", 1, .unexpectedToken), ("$x := 3", 4, .unsupported),
      ("a..b == 1", 3, .unexpectedToken),
    ])
  func errors(_ text: String, _ column: Int, _ code: PredicateSyntaxError.Code) {
    let error = #expect(throws: PredicateSyntaxError.self) { try FetchPredicate(format: text) }
    #expect(error?.column == column, "\(text): \(String(describing: error))")
    #expect(error?.code == code, "\(text): \(String(describing: error))")
    #expect(error?.remedy.isEmpty == false)
  }

  @Test("Arguments must match the specifiers in number and type")
  func argumentErrors() {
    let codes: [(() throws -> FetchPredicate, PredicateSyntaxError.Code)] = [
      ({ try FetchPredicate(format: "a == %@", 1, 2) }, .argumentsLeft),
      ({ try FetchPredicate(format: "a == '%@'", 1) }, .argumentsLeft),
      ({ try FetchPredicate(format: "a == %d", "x") }, .argumentType),
      ({ try FetchPredicate(format: "a == %d", 1.5) }, .argumentType),
      ({ try FetchPredicate(format: "a == %f", "x") }, .argumentType),
      ({ try FetchPredicate(format: "a == %s", 1) }, .argumentType),
      ({ try FetchPredicate(format: "%K == 1", 1) }, .argumentType),
      ({ try FetchPredicate(format: "%K == 1", "a..b") }, .argumentType),
      ({ try FetchPredicate(format: "%K == 1", "") }, .argumentType),
    ]
    for (read, code) in codes {
      let error = #expect(throws: PredicateSyntaxError.self) { try read() }
      #expect(error?.code == code)
    }
  }
}
