import Foundation
import PerdureModel
import PerdurePredicates
import Testing

@Suite("Validation rules")
struct ValidationRuleTests {
  private func attribute(
    _ type: AttributeType, default value: DefaultValue? = nil, _ rules: ValidationRule...
  ) -> EntityDescription {
    entity("E", .attribute("a", type, default: value, rules: rules))
  }

  /// The positions of the rules that a value violates.
  private func broken(_ type: AttributeType, _ rules: [ValidationRule], by value: Value) throws -> [Int] {
    try CompiledRules(rules, type: type).broken(by: value).compactMap { rules.firstIndex(of: $0.rule) }
  }

  @Test("Bounds are inclusive, and NaN violates every bound")
  func bounds() throws {
    let rules: [ValidationRule] = [.minimum(-1), .maximum(3)]
    for type in [AttributeType.int16, .int32, .int64] {
      let found = try [-2, -1, 3, 4].map { try broken(type, rules, by: .integer($0)) }
      #expect(found == [[0], [], [], [1]])
    }
    for type in [AttributeType.float, .double] {
      let found = try [-1.5, -1, 3, 3.5, .infinity, .nan].map { try broken(type, rules, by: .double($0)) }
      #expect(found == [[0], [], [], [1], [1], [0, 1]])
    }
    let decimals = try ["-1.01", "-1", "3", "3.001"].map {
      try broken(.decimal, rules, by: .decimal(#require(Decimal(string: $0))))
    }
    #expect(decimals == [[0], [], [], [1]])
    #expect(try broken(.decimal, rules, by: .decimal(.nan)) == [0, 1])
    let days: [ValidationRule] = [.minimum(.date(.init(timeIntervalSinceReferenceDate: 10)))]
    let dates = try [9.0, 10, 11].map {
      try broken(.date, days, by: .date(Date(timeIntervalSinceReferenceDate: $0)))
    }
    #expect(dates == [[0], [], []])
  }

  @Test("A bound of a Float attribute is rounded to the nearest Float")
  func floatBound() throws {
    let rules: [ValidationRule] = [.minimum(0.1), .maximum(0.1)]
    #expect(try broken(.float, rules, by: .double(Double(Float(0.1)))) == [])
  }

  @Test("Lengths count characters of text and URIs, and bytes of data")
  func lengths() throws {
    let rules: [ValidationRule] = [.minimumLength(2), .maximumLength(3)]
    let texts = ["", "a", "ab", "e\u{301}e\u{301}", "🇩🇪🇫🇷🇮🇹", "abcd", "👩‍👩‍👧‍👦"]
    #expect(
      try texts.map { try broken(.string, rules, by: .string($0)) } == [[0], [0], [], [], [], [1], [0]])
    let urls: [ValidationRule] = [.maximumLength(18)]
    #expect(try broken(.uri, urls, by: .url(#require(URL(string: "https://example.org")))) == [0])
    #expect(try broken(.uri, urls, by: .url(#require(URL(string: "https://example.or")))) == [])
    let data = try [1, 2, 3, 4].map { try broken(.binary, rules, by: .data(Data(count: $0))) }
    #expect(data == [[0], [], [], [1]])
  }

  @Test("A pattern must match the whole text")
  func patterns() throws {
    let rules: [ValidationRule] = [.pattern("[a-z]+")]
    #expect(try broken(.string, rules, by: .string("abc")) == [])
    #expect(try broken(.string, rules, by: .string("abc1")) == [0])
    let secure: [ValidationRule] = [.pattern("https://.*")]
    #expect(try broken(.uri, secure, by: .url(#require(URL(string: "http://example.org")))) == [0])
  }

  @Test("A predicate is evaluated on SELF, and an evaluation error counts as a violation")
  func predicates() throws {
    let even = try ValidationRule.predicate(FetchPredicate(format: "modulus:by:(SELF, 2) == 0"), message: "")
    #expect(try broken(.int64, [even], by: .integer(4)) == [])
    #expect(try broken(.int64, [even], by: .integer(5)) == [0])
    let text = try ValidationRule.predicate(FetchPredicate(format: "SELF MATCHES '('"), message: "")
    let found = try CompiledRules([text], type: .string).broken(by: .string("a"))
    #expect(found.count == 1 && found[0].cause?.code == .invalidPattern)
  }

  @Test("A rule from a format string equals a rule from its predicate; the model reports invalid strings")
  func predicateFormats() throws {
    let rule = ValidationRule.predicate(format: "SELF != 13", message: "must not be 13")
    #expect(rule == .predicate(try FetchPredicate(format: "SELF != 13"), message: "must not be 13"))
    let text = ValidationRule.predicate(format: "SELF !=")
    #expect(text == .unreadablePredicate("SELF !=", message: ""))
    let error = #expect(throws: ModelError.self) { try ManagedObjectModel([attribute(.int64, text)]) }
    #expect(error?.problems.map(\.rule) == [.validationRule])
  }

  @Test("Nil violates no rule, and all violated rules are listed in order")
  func several() throws {
    let rules: [ValidationRule] = [.minimumLength(3), .pattern("[a-z]+"), .maximumLength(1)]
    #expect(try broken(.string, rules, by: .null) == [])
    #expect(try broken(.string, rules, by: .string("A1")) == [0, 1, 2])
  }

  @Test("The text of a rule is a phrase that can follow the property's name")
  func words() throws {
    let rules: [ValidationRule] = [
      .minimum(1), .maximum(2.5), .minimumLength(1), .maximumLength(40), .pattern("a|b"),
      .predicate(try FetchPredicate(format: "SELF != 0"), message: "must not be nothing"),
      .predicate(try FetchPredicate(format: "SELF != 0"), message: ""),
      .minimum(.date(Date(timeIntervalSinceReferenceDate: 0))),
      .maximum(.date(Date(timeIntervalSinceReferenceDate: 0.5))), .minimum(.decimal(Decimal(5) / 100)),
    ]
    #expect(
      rules.map(\.description) == [
        "must be at least 1", "must be at most 2.5", "must have a length of at least 1",
        "must have a length of at most 40", "must match a|b as a whole", "must not be nothing",
        "must be such that SELF != 0", "must be at least 2001-01-01T00:00:00Z",
        "must be at most 2001-01-01T00:00:00.500Z", "must be at least 0.05",
      ])
  }

  @Test("A rule that does not fit its attribute's type is a problem of the model")
  func unfitting() throws {
    let predicate = try ValidationRule.predicate(FetchPredicate(format: "SELF != 0"), message: "")
    let wrong = [
      attribute(.string, .minimum(1)), attribute(.boolean, .maximum(true)), attribute(.uuid, .minimum("a")),
      attribute(.int16, .maximum(40_000)), attribute(.int64, .minimum(0.5)),
      attribute(.double, .minimum(.double(.nan))), attribute(.int64, .minimumLength(1)),
      attribute(.string, .minimumLength(-1)), attribute(.date, .pattern("a")),
      attribute(.date, .minimum(.date(Date(timeIntervalSinceReferenceDate: .nan)))),
      entity("E", .transient("a", rules: [predicate])), attribute(.string, .pattern("(")),
    ]
    for wrong in wrong { #expect(findings([wrong]) == ["validationRule E.a"], "\(wrong)") }
    let right = [
      attribute(.int16, .minimum(-1), .maximum(7), predicate), attribute(.float, .maximum(1)),
      attribute(.decimal, .minimum(0)), attribute(.binary, .maximumLength(9)), attribute(.boolean, predicate),
      attribute(.uri, .pattern("https://.*"), .maximumLength(80)), attribute(.string, .minimumLength(0)),
      entity("E", .transient("a", .int64, rules: [.minimum(0)])),
    ]
    for right in right { #expect(findings([right]) == [], "\(right)") }
  }

  @Test("Rules that contradict each other are a problem of the model")
  func contradictions() {
    #expect(findings([attribute(.int64, .minimum(3), .maximum(2))]) == ["validationRule E.a"])
    #expect(findings([attribute(.int64, .minimum(3), .maximum(3))]) == [])
    #expect(findings([attribute(.string, .minimumLength(2), .maximumLength(1))]) == ["validationRule E.a"])
  }

  @Test(
    "A predicate that names anything except SELF is a problem of the model",
    arguments: ["name == 1", "SELF.name == 1", "SELF == $x", "SUBQUERY(a, $x, $x == 1).@count == 0"])
  func names(_ format: String) throws {
    let rule = try ValidationRule.predicate(FetchPredicate(format: format), message: "")
    #expect(findings([attribute(.int64, rule)]) == ["validationRule E.a"])
  }

  @Test("A derived attribute cannot have rules")
  func derived() {
    let count = AttributeDescription("n", .int64, derivation: "rs.@count", rules: [.maximum(3)])
    #expect(
      findings([entity("E", .attribute(count), .toMany("rs", "E", inverse: "rs"))])
        == ["validationRule E.n"])
  }

  @Test("A default that violates a rule causes a warning")
  func defaults() throws {
    func broken(_ value: DefaultValue) throws -> [String] {
      try ManagedObjectModel([attribute(.int64, default: value, .maximum(5))]).warnings
        .filter { $0.rule == .defaultBreaksRule }.map(finding)
    }
    #expect(try broken(7) == ["defaultBreaksRule E.a"])
    #expect(try broken(5) == [])
  }
}

@Suite("Transient attributes in models")
struct TransientDescriptionTests {
  @Test("Only transient attributes may have the type undefined")
  func undefined() {
    #expect(findings([entity("E", .attribute("a", .undefined))]) == ["undefinedType E.a"])
    #expect(findings([entity("E", .transient("a"), .transient("b", .string, default: "x"))]) == [])
    #expect(findings([entity("E", .transient("a", default: "x"))]) == ["defaultType E.a"])
  }

  @Test("Indexes, constraints and derivations reject transient attributes")
  func places() {
    let inIndex = EntityDescription(
      "E", properties: [.transient("a", .string)], indexes: [FetchIndexDescription(on: "a")])
    #expect(findings([inIndex]) == ["indexProperty E.by_a"])
    let inConstraint = EntityDescription(
      "E", properties: [.transient("a", .string)], uniquenessConstraints: [["a"]])
    #expect(findings([inConstraint]) == ["constraintProperty E.a"])
    let derived = AttributeDescription("n", .int64, derivation: "rs.@count", isTransient: true)
    #expect(
      findings([entity("E", .attribute(derived), .toMany("rs", "E", inverse: "rs"))]) == ["derivation E.n"])
  }
}
