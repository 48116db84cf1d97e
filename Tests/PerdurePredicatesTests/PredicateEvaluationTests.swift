import Foundation
import PerdurePredicates
import Testing

@Suite("Evaluation of predicates") struct PredicateEvaluationTests {
  private let data = TestCompany()

  private func holds(_ format: String, _ object: TestObject, _ arguments: [(any PredicateArgument)?] = [])
    throws
    -> Bool
  {
    try FetchPredicate(format: format, argumentArray: arguments).evaluate(with: object)
  }

  @Test(
    "Predicates on an employee have the expected results",
    arguments: [
      ("name == 'Ada'", true), ("name == 'ada'", false), ("name ==[c] 'ADA'", true), ("name != 'Ada'", false),
      ("age == 36", true), ("age == 36.0", true), ("age < 36", false), ("age <= 36", true),
      ("age > 35.5", true),
      ("age >= 37", false), ("age BETWEEN {36, 40}", true), ("age BETWEEN {37, 40}", false),
      ("age BETWEEN {age, age}", true), ("age BETWEEN NULL", false), ("age IN {1, 36}", true),
      ("age IN {}", false),
      ("name IN {'ada'}", false), ("name IN[c] {'ada'}", true), ("'d' IN name", true),
      ("name IN 'Adam'", true),
      ("name BEGINSWITH 'A'", true), ("name BEGINSWITH[c] 'aD'", true), ("name ENDSWITH 'a'", true),
      ("name CONTAINS 'd'", true), ("name CONTAINS[c] 'DA'", true), ("name LIKE 'A?a'", true),
      ("name LIKE 'a*'", false),
      ("name LIKE[c] 'a*'", true), ("name MATCHES '[A-Z]d.'", true), ("name MATCHES 'd'", false),
      ("name MATCHES[c] 'a.A'", true), ("marks CONTAINS 3", true), ("marks CONTAINS 2", false),
      ("3 IN marks", true),
      ("isLead == TRUE", true), ("isLead == 1", true), ("isLead == YES", true), ("isLead == 'TRUE'", false),
      ("name == 3", false), ("name != 3", true), ("name < 3", false), ("age BEGINSWITH '3'", false),
      ("name.length == 3", true), ("length:(name) == 3", true), ("marks.@count == 2", true),
      ("marks.@max == 3", true),
      ("marks.@min.#self == 1", true), ("marks[0] == 3", true), ("marks[FIRST] == 3", true),
      ("marks[LAST] == 1", true),
      ("marks[SIZE] == 2", true), ("marks[5] == NULL", true), ("marks[-1] == NULL", true),
      ("ANY marks > 2", true),
      ("ALL marks > 2", false), ("NONE marks > 5", true), ("marks == {3, 1}", true),
      ("marks == {1, 3}", false),
      ("boss == NULL", true), ("boss.name == NULL", true), ("boss.name != 'x'", true),
      ("company.name BEGINSWITH 'Ü'", true),
      ("company.name BEGINSWITH[cd] 'uber'", true), ("company.name CONTAINS 'u'", false),
      ("company.#in == 7", true),
      ("SELF == SELF", true), ("SELF.name == name", true), ("born > CAST(99, 'NSDate')", true),
      ("CAST(born, 'NSNumber') == 100", true), ("born < now()", true), ("TRUEPREDICATE", true),
      ("FALSEPREDICATE", false),
      ("TERNARY(age > 30, 'old', 'young') == 'old'", true), ("(marks UNION {9, 3}) == {3, 1, 9}", true),
      ("(marks INTERSECT {9, 3}) == {3}", true), ("(marks MINUS {9, 3}) == {1}", true),
      ("(SELF)['name'] == 'Ada'", true),
      ("uppercase:(name) == 'ADA'", true), ("lowercase(name) == 'ada'", true),
      ("canonical:('É') == 'e'", true),
    ])
  func ada(_ format: String, _ expected: Bool) throws {
    #expect(try holds(format, data.ada) == expected)
    #expect(try holds("NOT (\(format))", data.ada) == !expected)
    #expect(try FetchPredicate(format: format).simplified().evaluate(with: data.ada) == expected)
  }

  @Test(
    "Null equals only null and has no order, and comparisons with null are true or false",
    arguments: [
      ("age == nil", true), ("age != nil", false), ("age != 5", true), ("age == 5", false),
      ("NOT (age == 5)", true),
      ("age < 5", false), ("age >= 5", false), ("NOT (age < 5)", true), ("age <= nil", false),
      ("nil <= nil", false),
      ("age BETWEEN {1, 5}", false), ("age IN {1, 2}", false), ("age IN {1, nil}", true),
      ("name BEGINSWITH nil", false),
      ("NOT name BEGINSWITH nil", true), ("department == nil", true), ("department.name == nil", true),
      ("department.name != 'Sales'", true), ("age + 1 == nil", true), ("age + 1 < 5", false),
      ("name IN nil", false),
      ("marks CONTAINS 1", false), ("marks.@count == 0", true), ("ANY marks == 1", false),
      ("ALL marks == 1", true),
      ("nick == ''", true), ("nick.length == 0", true), ("isLead == FALSE", false),
      ("nil MATCHES 'x'", false),
      ("nil LIKE '*'", false), ("nil CONTAINS ''", false), ("nick BEGINSWITH ''", true),
    ])
  func nulls(_ format: String, _ expected: Bool) throws {
    #expect(try holds(format, data.cy) == expected)
  }

  @Test(
    "Predicates on a company with departments and employees have the expected results",
    arguments: [
      ("ANY employees.age > 30", true), ("ANY employees.age > 40", false), ("ALL employees.age > 10", false),
      ("ALL employees.name != ''", true), ("NONE employees.age > 40", true),
      ("SOME employees.name LIKE[c] 'B*'", true),
      ("ANY employees.age == nil", true), ("ANY departments.employees.name == 'Cÿ'", true),
      ("ALL departments.employees.salary < 11", false), ("ANY employees.tags.name == 'x'", false),
      ("ALL employees.tags.name == 'x'", true), ("NONE employees.tags.name == 'x'", true),
      ("employees.@count == 3", true), ("employees.age.@count == 3", true),
      ("departments.employees.@count == 3", true),
      ("employees.@sum.age == 56", true), ("employees.age.@sum == 56", true),
      ("employees.@avg.age == 28", true),
      ("employees.@min.salary == 4.5", true), ("employees.@max.name == 'bob'", true),
      ("departments.@sum.budget == 100", true),
      ("employees.tags.@count == 0", true), ("employees.tags.@sum.x == 0", true),
      ("employees.tags.@avg.x == nil", true),
      ("employees.tags.@max.x == nil", true),
      ("employees.boss.@distinctUnionOfObjects.name == {nil, 'Ada', 'bob'}", true),
      ("employees.company.@distinctUnionOfObjects.name.@count == 1", true),
      ("sum:(employees.age) == 56", true),
      ("average:(employees.age) == 28", true), ("median:(employees.age) == 28", true),
      ("count:(employees) == 3", true),
      ("SUBQUERY(employees, $e, $e.age > 30).@count == 1", true),
      ("SUBQUERY(employees, $e, $e.age > size * 10).@count == 1", true),
      ("SUBQUERY(employees, $e, $e.company == SELF).@count == 3", true), ("ANY employees IN employees", true),
      (
        "SUBQUERY(departments, $d, SUBQUERY($d.employees, $e, $e.department == $d).@count == 2).@count == 1",
        true
      ),
      (
        "SUBQUERY(employees, $x, SUBQUERY($x.tags, $x, $x.n == 1).@count == 0 AND $x.age > 30).@count == 1",
        true
      ),
      ("ANY SUBQUERY(employees, $e, $e.age > 10).name BEGINSWITH 'b'", true),
      ("employees[0].name == 'Ada'", true),
      ("employees == {}", false), ("ANY employees.department.employees.name == nil", false),
      ("ANY employees.department.name == nil", true), ("employees.age == {36, 20, nil}", true),
      ("ANY size == 3", true),
    ])
  func company(_ format: String, _ expected: Bool) throws {
    #expect(try holds(format, data.company) == expected)
  }

  @Test("Objects compare by identity")
  func identity() throws {
    let ada = ObjectReference(rawValue: 11)
    let bob = ObjectReference(rawValue: 12)
    #expect(try holds("SELF == %@", data.ada, [ada]))
    #expect(try !holds("SELF == %@", data.ada, [bob]))
    #expect(try holds("SELF IN %@", data.ada, [[bob, ada]]))
    #expect(try holds("boss == %@", data.bob, [ada]))
    #expect(try holds("boss != %@", data.ada, [ada]))
    #expect(try holds("ANY employees == %@", data.company, [bob]))
    #expect(try holds("employees CONTAINS %@", data.company, [bob]))
    #expect(try !holds("SELF < %@", data.ada, [bob]))
  }

  @Test(
    "Arithmetic and functions have the expected results",
    arguments: [
      ("1 + 2 * 3 == 7", true), ("(1 + 2) * 3 == 9", true), ("10 - 2 - 3 == 5", true), ("7 / 2 == 3.5", true),
      ("6 / 2 == 3", true), ("2 ** 10 == 1024", true), ("2 ** -1 == 0.5", true), ("2 ** 3 ** 2 == 64", true),
      ("-(2) == 0 - 2", true), ("1 / 0 == nil", true), ("1.5 / 0 == nil", true),
      ("modulus:by:(7, 3) == 1", true),
      ("modulus:by:(7, 0) == nil", true), ("modulus:by:(-7, 3) == -1", true),
      ("9223372036854775807 + 1 == 9223372036854775808", true),
      ("9223372036854775807 + 1 > 9223372036854775807", true),
      ("(-9223372036854775808) / (-1) == 9223372036854775808", true),
      ("modulus:by:(-9223372036854775808, -1) == 0", true),
      (
        "9223372036854775807 * 9223372036854775807 == DECIMAL('85070591730234615847396907784232501249')", true
      ),
      ("2 ** 100 > 1e30", true), ("DECIMAL('0.1') + DECIMAL('0.2') == DECIMAL('0.3')", true),
      ("0.1 + 0.2 == 0.3", false),
      ("DECIMAL('1e100') * DECIMAL('1e100') == 1e200", true),
      ("DECIMAL('1e-128') * DECIMAL('1e-128') == 0", false),
      ("sqrt(9) == 3", true), ("log(1000) > 2.999", true), ("ln(1) == 0", true), ("exp(0) == 1", true),
      ("floor(-1.5) == -2", true),
      ("ceiling(-1.5) == -1", true), ("trunc(-1.5) == -1", true),
      ("abs(-9223372036854775808) == 9223372036854775808", true),
      ("floor(DECIMAL('-1.5')) == -2", true), ("ceiling(DECIMAL('1.5')) == 2", true),
      ("abs(DECIMAL('-1.5')) == 1.5", true),
      ("sum(1, 2, 3) == 6", true), ("sum({1, 2, nil}) == 3", true), ("sum({}) == 0", true),
      ("min(3, 1, 2) == 1", true),
      ("max({1, nil}) == 1", true), ("average({1, 2}) == 1.5", true), ("median({3, 1, 2}) == 2", true),
      ("mode({1, 2, 2, 1, 3}) == {1, 2}", true), ("mode({3, 'a', 3.0, 'b', 'a'}) == {3, 'a'}", true),
      ("stddev({2, 4, 4, 4, 5, 5, 7, 9}) == 2", true), ("count({1, nil}) == 2", true),
      ("bitwiseAnd:with:(6, 3) == 2", true),
      ("bitwiseOr:with:(6, 3) == 7", true), ("bitwiseXor:with:(6, 3) == 5", true),
      ("leftshift:by:(1, 4) == 16", true),
      ("leftshift:by:(1, 100) == 0", true), ("rightshift:by:(-16, 2) == -4", true),
      ("onesComplement(0) == -1", true), ("TRUE + 1 == 2", true),
      ("CAST('12', 'NSNumber') == 12", true), ("CAST('-1.5', 'NSNumber') == -1.5", true),
      ("CAST('x', 'NSNumber') == nil", true), ("CAST('1-2', 'NSDecimalNumber') == nil", true),
      ("CAST('1.2.3', 'NSDecimalNumber') == nil", true), ("CAST('1e', 'NSDecimalNumber') == nil", true),
      ("CAST('.', 'NSDecimalNumber') == nil", true), ("CAST('+.5e-1', 'NSDecimalNumber') == 0.05", true),
      ("CAST('5.', 'NSDecimalNumber') == 5", true),
      ("CAST(5, 'NSString') == '5'", true), ("CAST('1.10', 'NSDecimalNumber') == DECIMAL('1.1')", true),
      ("CAST(9007199254740993, 'NSNumber') == 9007199254740993", true),
      ("CAST(CAST(9007199254740993, 'NSDecimalNumber'), 'NSNumber') == 9007199254740993", true),
      ("CAST(CAST(-9223372036854775808, 'NSString'), 'NSNumber') == -9223372036854775808", true),
      ("CAST('18446744073709551616', 'NSNumber') == DECIMAL('18446744073709551616')", true),
      ("CAST(CAST(DOUBLE('1e300'), 'NSString'), 'NSNumber') == DOUBLE('1e300')", true),
      ("CAST(CAST(0.1, 'NSDecimalNumber'), 'NSNumber') == 0.1", true),
      // A value outside of a type's range is converted to nil.
      ("CAST(DOUBLE('1e300'), 'NSDecimalNumber') == nil", true),
      ("CAST('1e300', 'NSDecimalNumber') == nil", true), ("CAST('-1e300', 'NSDecimalNumber') == nil", true),
      ("CAST(DOUBLE('inf'), 'NSDecimalNumber') == nil", true),
      ("CAST(DOUBLE('nan'), 'NSDecimalNumber') == DOUBLE('nan')", true),
      ("CAST('1e400', 'NSNumber') == nil", true), ("CAST('--5', 'NSNumber') == nil", true),
      ("CAST('-+5', 'NSNumber') == nil", true), ("CAST('1x', 'NSDecimalNumber') == nil", true),
      ("CAST(CAST(1.5, 'NSDate'), 'NSNumber') == 1.5", true), ("CAST('x', 'NSDate') == nil", true),
      ("CAST(CAST(DATE('-1.25'), 'NSNumber'), 'NSDate') == DATE('-1.25')", true),
      ("CAST(nil, 'NSNumber') == nil", true), ("CAST(TRUE, 'NSDecimalNumber') == 1", true),
      ("noindex:(3) == 3", true),
      ("CAST(CAST(DATE('86500'), 'NSNumber') - 86400, 'NSDate') == DATE('100')", true),
      ("DOUBLE('nan') == DOUBLE('nan')", true), ("DOUBLE('nan') <= DOUBLE('nan')", false),
      ("DOUBLE('inf') > 5", true), ("1 < DOUBLE('nan')", false),
      ("DATA('AQ==') < DATA('Ag==')", true), ("'a' <[c] 'B'", true), ("'a' < 'B'", false),
      ("'É' ==[cd] 'e'", true), ("length:('👨‍👩‍👧') == 1", true),
      ("objectFrom:withIndex:({7, 8}, 1) == 8", true), ("'abc' MATCHES '[a-c]+'", true),
      ("'Éa' MATCHES[cd] 'eA'", true),
    ])
  func functions(_ format: String, _ expected: Bool) throws {
    #expect(try FetchPredicate(format: format).evaluate(with: Value.null) == expected)
    #expect(try FetchPredicate(format: format).simplified() == (expected ? .true : .false))
  }

  @Test(
    "An invalid operation throws an error with the expected code",
    arguments: [
      ("missing == 1", PredicateEvaluationError.Code.unknownProperty), ("name.foo == 1", .unknownProperty),
      ("$x == 1", .unboundVariable), ("name + 1 == 2", .invalidOperand), ("age BETWEEN {1}", .invalidOperand),
      ("age BETWEEN 3", .invalidOperand), ("uppercase:(age) == 'x'", .invalidOperand),
      ("name MATCHES '['", .invalidPattern),
      ("name MATCHES '(((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((('", .invalidPattern),
      ("random() > 0", .unsupportedFunction), ("FUNCTION(self, 'x') == 1", .unsupportedFunction),
      ("CAST(age, 'Foo') == 1", .invalidOperand),
      ("bitwiseAnd:with:('1.5', 1) == 1", .invalidOperand), ("age['x'] == 1", .unknownProperty),
      ("age[0] == 1", .invalidOperand),
      ("distanceToLocation:fromLocation:(1, 2) > 1", .unsupportedFunction),
      ("length(age) == 1", .invalidOperand),
    ])
  func errors(_ format: String, _ code: PredicateEvaluationError.Code) throws {
    let predicate = try FetchPredicate(format: format)
    let error = #expect(throws: PredicateEvaluationError.self) { try predicate.evaluate(with: data.ada) }
    #expect(error?.code == code)
    #expect(throws: PredicateEvaluationError.self) { try predicate.simplified().evaluate(with: data.ada) }
  }

  @Test(
    "Many values are refused where a comparison needs one value, and accepted where it takes a list",
    arguments: [
      ("employees.name == 'Ada'", false), ("employees == NULL", false), ("employees.age > 3", false),
      ("employees.name BEGINSWITH 'A'", false), ("employees.name IN {'Ada'}", false),
      ("'Ada' == employees.name", false), ("name CONTAINS employees.name", false),
      ("employees.age < employees.age", false), ("ANY employees.name == departments.name", false),
      ("ANY employees.name == 'Ada'", true), ("'Ada' IN employees.name", true),
      ("employees.name CONTAINS 'Ada'", true), ("employees.name == departments.employees.name", true),
      ("employees.@count == 3", true), ("employees[0].name == 'Ada'", true),
    ])
  func manyValues(_ format: String, _ isMeaningful: Bool) throws {
    let predicate = try FetchPredicate(format: format)
    if isMeaningful {
      #expect(try predicate.evaluate(with: data.company))
    } else {
      let error = #expect(throws: PredicateEvaluationError.self) {
        try predicate.evaluate(with: data.company)
      }
      #expect(error?.code == .invalidOperand)
      #expect(error?.message.contains("ANY, ALL or NONE") == true)
    }
  }

  @Test("AND and OR skip the operands after the deciding operand")
  func shortCircuit() throws {
    #expect(try !holds("age == 0 AND missing == 1", data.ada))
    #expect(try holds("age == 36 OR missing == 1", data.ada))
    #expect(throws: PredicateEvaluationError.self) { try holds("age == 36 AND missing == 1", data.ada) }
  }

  @Test("Variables get their values at evaluation")
  func variables() throws {
    let predicate = try FetchPredicate(format: "age > $least AND name IN $names")
    #expect(try predicate.evaluate(with: data.ada, variables: ["least": 30, "names": ["Ada"]]))
    #expect(try !predicate.evaluate(with: data.ada, variables: ["least": 40, "names": ["Ada"]]))
    let evaluator = PredicateEvaluator(predicate, variables: ["least": 10, "names": ["Ada", "bob"]])
    #expect(
      try [data.ada, data.bob, data.cy].map { try evaluator.evaluate(with: $0) } == [true, true, false])
  }

  @Test("SELF may be a plain value")
  func plainValue() throws {
    let predicate = try FetchPredicate(format: "SELF.length > 3 AND SELF BEGINSWITH 'a'")
    #expect(try predicate.evaluate(with: .string("abcd")))
    #expect(try !predicate.evaluate(with: .string("abc")))
    #expect(try FetchExpression(format: "age * 2").value(with: data.ada) == .integer(72))
    #expect(
      try FetchExpression(format: "employees").value(with: data.company)
        == .list(
          [11, 12, 13].map {
            .reference(ObjectReference(rawValue: $0))
          }))
  }

  @Test("now() is the time that the evaluator got when it was created")
  func now() throws {
    let moment = Date(timeIntervalSinceReferenceDate: 5)
    let evaluator = PredicateEvaluator(try FetchPredicate(format: "now() == %@", moment), now: moment)
    #expect(try evaluator.evaluate(with: Value.null))
  }
}
