// Predicates and expressions from text.

extension FetchPredicate {
  /// Reads a predicate from text.
  ///
  ///     try FetchPredicate(format: "name BEGINSWITH[c] %@ AND age > %d", "Li", 30)
  ///
  /// The arguments replace the specifiers in order. `%K` takes a property path. `%d`, `%i`, `%u`
  /// and similar specifiers take a whole number. `%f` and similar specifiers take any number. `%s`
  /// takes text, and `%@` takes any value or nil. A specifier in quotes is plain text. Put user
  /// input into arguments, never into the text.
  ///
  /// Words may be written in any case. The table lists the constructs. Each example is true for
  /// Ada, an object in Perdure's tests.
  ///
  /// | form | meaning | example |
  /// |---|---|---|
  /// | `==`, `=`, `!=`, `<>` | equal or not; nil equals only nil | `name == "Ada" AND boss == nil` |
  /// | `<`, `<=`, `>`, `>=`, `=<`, `=>` | order; false with nil | `age >= 36 AND NOT age < nil` |
  /// | `BETWEEN` | from one value to another, both included | `age BETWEEN {30, 40}` |
  /// | `IN` | the value is in a list or a collection, or is part of a text | `age IN {1, 36} AND 'd' IN name` |
  /// | `CONTAINS` | `IN` with the operands exchanged | `marks CONTAINS 3 AND name CONTAINS 'd'` |
  /// | `BEGINSWITH`, `ENDSWITH` | the beginning or end of a text | `name BEGINSWITH 'A' AND name ENDSWITH 'a'` |
  /// | `LIKE` | the whole text; `?` is one character, `*` any number | `name LIKE 'A*'` |
  /// | `MATCHES` | the whole text matches a regular expression | `name MATCHES '[A-Z]d.'` |
  /// | `[c]`, `[d]`, `[cd]` | after an operator: ignores case, diacritics, or both | `name ==[c] 'ADA'` |
  /// | `[n]` | texts are compared by their unchanged bytes | `name ==[n] 'Ada'` |
  /// | `NOT`, `!` | negation; binds before `AND` and `OR` | `NOT age < 30 AND age < 40` |
  /// | `AND`, `&&`; `OR`, `\|\|` | `AND` binds before `OR` | `age == 36 OR age == 1 AND name == 'x'` |
  /// | `ANY`, `SOME` | true for at least one element | `ANY company.employees.age < 30` |
  /// | `ALL` | true for every element, or without elements | `ALL company.employees.name != ''` |
  /// | `NONE` | true for no element | `NONE company.employees.age > 99` |
  /// | `TRUEPREDICATE`, `FALSEPREDICATE` | always true, always false | `TRUEPREDICATE AND NOT FALSEPREDICATE` |
  /// | `'text'`, `"text"` | text, with `\n`, `\t`, `\"`, `\u00e9` | `"A\u0064a" == name` |
  /// | `1`, `0x1F`, `1.5`, `1e3` | numbers | `age == 0x24 AND age < 1e3` |
  /// | `TRUE`, `YES`, `FALSE`, `NO` | truth values, 1 and 0 as numbers | `isLead == TRUE AND isLead == 1` |
  /// | `NULL`, `NIL` | no value | `nick == NULL` |
  /// | `{a, b}` | a list | `marks == {3, 1}` |
  /// | `a.b.c`, `SELF`, `#key` | a path; the object; an escaped word | `SELF.company.#in == 7` |
  /// | `@count` | the number of elements | `company.employees.@count == 3` |
  /// | `@sum`, `@avg`, `@min`, `@max` | aggregates | `company.employees.@sum.age == 56` |
  /// | `@distinctUnionOfObjects` | the different elements | `marks.@distinctUnionOfObjects.@count == 2` |
  /// | `a[0]`, `a[FIRST]`, `a[LAST]`, `a[SIZE]` | elements, count | `marks[0] == 3 AND marks[SIZE] == 2` |
  /// | `length` | the number of characters of a text | `name.length == 3` |
  /// | `+`, `-`, `*`, `/`, `**` | arithmetic | `age * 2 - 2 ** 3 == 64` |
  /// | `&`, `\|`, `^`, `~`, `<<`, `>>` | bits of whole numbers | `(age & 4) != 0 AND age >> 2 == 9` |
  /// | `SUBQUERY(c, $x, p)` | the elements that satisfy p | `SUBQUERY(company.employees, $x, $x.age > 30) != {}` |
  /// | `TERNARY(p, a, b)` | if p then a, else b | `TERNARY(age > 30, 'old', 'young') == 'old'` |
  /// | `CAST(a, "NSDate")` | a value as another type | `born == CAST(100, "NSDate")` |
  /// | `a UNION b`, `INTERSECT`, `MINUS` | of collections, in parentheses | `(marks MINUS {3}) == {1}` |
  /// | `uppercase:(a)`, `abs:(a)`, … | functions (``FetchFunction``) | `uppercase:(name) == 'ADA'` |
  /// | `DATE("1")`, `UUID("…")`, `DATA("…")`, `URL("…")` | constants | `born == DATE("100")` |
  /// | `DECIMAL("1.5")`, `DOUBLE("inf")` | numbers | `age == DECIMAL("36") AND age < DOUBLE("inf")` |
  /// | `$name` | a variable | `age == $x` |
  /// | `%@`, `%d`, `%f`, `%s` | any argument, a whole number, any number, text | `name == %@ AND age == %d` |
  /// | `%K` | an argument that is a path | `%K == 36` |
  ///
  /// A fraction with more digits than a Double can represent is exact in a comparison with a
  /// Decimal. Bitwise operators bind more tightly than comparisons: `flags & 4 != 0` means
  /// `(flags & 4) != 0`.
  ///
  /// `CAST` accepts the types `NSDate`, `NSNumber`, `NSDecimalNumber`, `NSString`, `NSUUID` and
  /// `NSURL`, and their Swift names `Date`, `Double`, `Decimal`, `String`, `UUID` and `URL`.
  ///
  /// - Throws: `PredicateSyntaxError` with the column, the expected text and the remedy, if the
  ///   text is not a predicate, is nested more than 50 levels deep, or does not match the
  ///   arguments.
  /// - Complexity: linear in the length of the text.
  public init(
    format: String, _ arguments: (any PredicateArgument)?...
  ) throws(PredicateSyntaxError) {
    try self.init(format: format, argumentArray: arguments)
  }

  /// Reads a predicate from text, with the arguments in an array.
  ///
  /// - Throws: as ``init(format:_:)``.
  public init(
    format: String, argumentArray: [(any PredicateArgument)?]
  ) throws(PredicateSyntaxError) {
    var parser = try PredicateParser(
      format, arguments: argumentArray.map { $0?.argumentValue ?? .null })
    self = try parser.parsePredicate()
  }
}

extension FetchExpression {
  /// Reads an expression from text, such as `salary * 12` or `sum:(orders.price)`.
  ///
  /// - Throws: as ``FetchPredicate/init(format:_:)``.
  public init(
    format: String, _ arguments: (any PredicateArgument)?...
  ) throws(PredicateSyntaxError) {
    var parser = try PredicateParser(format, arguments: arguments.map { $0?.argumentValue ?? .null })
    self = try parser.parseWholeExpression()
  }
}
