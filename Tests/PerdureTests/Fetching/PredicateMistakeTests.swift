import FoundationEssentials
import Perdure
import PerdureModel
import PerdurePredicates
import Testing

@testable import Perdure

/// A class without macros, because the macros warn about these names.
private final class Word: ManagedObject {
  override class var _propertyNamesByKeyPath: [AnyKeyPath: String] {
    [\Word.no: "no", \Word.yes: "yes", \Word.null: "null"]
  }
  var no: String {
    get { _get(0) }
    set { _set(0, newValue) }
  }
  var yes: String {
    get { _get(1) }
    set { _set(1, newValue) }
  }
  var null: String {
    get { _get(2) }
    set { _set(2, newValue) }
  }
  override class var entityDescription: EntityDescription {
    EntityDescription(
      "Word",
      properties: ["no", "yes", "null"].map { .string($0, optional: false, default: "x") }
        + [.boolean("flag", optional: false, default: false)])
  }
}

@Suite("Mistakes in predicates that a request reports without reading a row")
struct PredicateMistakeTests {
  private func code(_ format: String, _ entity: String = "Employee") throws -> FetchError.Code? {
    try code(try FetchPredicate(format: format), entity)
  }

  private func code(_ predicate: FetchPredicate, _ entity: String = "Employee") throws -> FetchError.Code? {
    let schema = try TestModel.schema(indexed: true)
    var query = FetchQuery(entity: try #require(schema.entity(named: entity)).number)
    query.predicate = predicate
    do {
      _ = try PreparedFetch(query, schema)
      return nil
    } catch let error as FetchError {
      return error.code
    }
  }

  @Test("A request rejects functions and arithmetic with unsuitable arguments")
  func arguments() throws {
    for format in [
      "abs(name) > 3", "hired + 86400 > 3", "length(age) > 3", "lowercase(age) == 'x'", "name + 1 == 2",
      "name & 1 == 1", "salary & 1 == 1", "(age / 2) & 1 == 1", "~level == 1", "1.5 << 2 == 6",
      "CAST(age, 'Nonsense') == 3", "CAST(age, name) == 3", "sqrt(company) > 1", "tags + 1 == 2",
      "sum({1, 'x'}) == 1", "uppercase(tags.label) == 'A'", "age ** name == 1", "-code == 1",
      "length(company) > 1", "photo * 2 == 3", "age == 1 OR abs(name) > 3", "'x' + 1 == age",
      "SUBQUERY(tags, $t, abs($t.label) > 1).@count > 0", "TERNARY(abs(name) > 1, 1, 2) == 1",
      "abs(age) == 'x'", "name BETWEEN {'a', 'b', note}", "age BETWEEN salary",
      "age BETWEEN tags.weight",
    ] {
      let found = try code(format)
      #expect(found == .typeMismatch || found == .manyValues, "\(format): \(String(describing: found))")
    }
    for format in ["random() > 0.5", "randomn:(5) == 1", "FUNCTION(name, 'x', 1) == 1"] {
      #expect(try code(format) == .unsupportedFunction, "\(format)")
    }
    let wrongCount = FetchPredicate.comparison(
      FetchComparison(.function(.abs, []), .equal, .constant(.integer(1))))
    #expect(try code(wrongCount) == .typeMismatch)
    for format in [
      "abs(age) > 3", "age + salary * 2 > level", "length(name) > 3", "length(photo) > 0", "length(tags) > 0",
      "age & 4 != 0", "(age & 4) >> 2 == 1", "active | 2 == 3", "~age & 0x8000000000000000 == 0",
      "(abs(age) * 2 + 1) & 1 == 1", "CAST(hired, 'NSNumber') + 1 > 2", "CAST(name, 'NSNumber') & 1 == 1",
      "hired > CAST(CAST(now(), 'NSNumber') - 86400, 'NSDate')", "max(age, 3) == 3", "sum(tags.weight) > 1",
      "mode(tags.label) == {'a'}", "abs(NULL) == NULL", "name BETWEEN {note, 'b'}", "lowercase(name) == NULL",
      "employees.@count + 1 > 2",
    ] {
      let entity = format.hasPrefix("employees") ? "Company" : "Employee"
      #expect(try code(format, entity) == nil, "\(format)")
    }
  }

  @Test("A request rejects a malformed pattern anywhere in the predicate")
  func patterns() throws {
    for format in [
      "name MATCHES '['", "name MATCHES '(a'", "age == 99 AND name MATCHES '*'",
      "ANY tags.label MATCHES '(a)\\\\1'", "TRUEPREDICATE OR name MATCHES 'a{2,1}'", "name MATCHES '(?<=a)b'",
    ] {
      #expect(try code(format) == .invalidPattern, "\(format)")
    }
    #expect(try code("name MATCHES '[a-z]+' AND note MATCHES[cd] '\\\\w*'") == nil)
  }

  @Test("An attribute with the name of a constant is accepted with a #, and rejected without a #")
  func constantNames() throws {
    let container = try PersistentContainer(name: "Words", classes: [Word.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    _ = Word(context: context)
    func count(_ format: String, _ arguments: [(any PredicateArgument)?] = []) throws -> Int {
      try context.count(
        for: FetchRequest<Word>(predicate: FetchPredicate(format: format, argumentArray: arguments)))
    }
    for name in ["no", "yes", "null"] {
      for format in ["\(name) == %@", "%@ == \(name)", "\(name) != %@", "\(name) BEGINSWITH %@"] {
        let error = #expect(throws: FetchError.self, "\(format)") { try count(format, ["x"]) }
        #expect(error?.code == .typeMismatch && error?.message.contains("#\(name)") == true, "\(format)")
      }
      #expect(try count("#\(name) == %@", ["x"]) == 1)
      #expect(try count("%K == %@", [name, "x"]) == 1)
    }
    #expect(try count("flag == no") == 1)
    #expect(try code("no == 'x'") == .typeMismatch)
    #expect(try code("1 == 'x'") == .typeMismatch)
    for format in ["YES == YES", "1 == 1", "TRUE == 1", "NULL == 'x'", "'a' < 'b'", "NO == FALSE"] {
      #expect(try code(format) == nil, "\(format)")
    }
  }

  @Test("Sort descriptors and typed queries can name attributes that are called like constants")
  func typedConstantNames() throws {
    let container = try PersistentContainer(name: "Words", classes: [Word.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let words = (0..<3).map { number in
      let word = Word(context: context)
      (word.no, word.yes, word.null) = ("\(number)", "\((number + 1) % 3)", "\((number + 2) % 3)")
      return word
    }
    for isSaved in [false, true] {
      let place: Comment = "saved: \(isSaved)"
      for (name, keyPath, first) in [
        ("no", \Word.no, 0), ("yes", \.yes, 2), ("null", \.null, 1),
      ] as [(String, KeyPath<Word, String>, Int)] {
        let expected = (0..<3).map { words[(first + $0) % 3] }
        for (order, reversed) in [
          (FetchOrder(name), FetchOrder(name, ascending: false)),
          (FetchOrder(keyPath), FetchOrder(keyPath, ascending: false)),
        ] {
          #expect(try context.fetch(FetchRequest<Word>(sortDescriptors: [order])) == expected, place)
          let found = try context.fetch(FetchRequest<Word>(sortDescriptors: [reversed]))
          #expect(found == expected.reversed(), place)
        }
      }
      #expect(try context.fetch(Word.fetchRequest { $0.no == "1" }) == [words[1]], place)
      #expect(try context.fetch(Word.fetchRequest { $0.yes == "1" && $0.null != "x" }) == [words[0]], place)
      #expect(try context.count(for: Word.fetchRequest { $0.null > "0" }) == 2, place)
      try context.save()
    }
  }

  @Test("A predicate joined in a loop is flattened, and a predicate nested too deeply is rejected")
  func depth() async throws {
    let container = try Staff.container(.engine)
    let context = container.newContext()
    for salary in 0..<3 { context.worker("W").salary = Int64(salary) }
    try context.save()
    func salary(_ value: Int) -> FetchPredicate {
      .comparison(
        FetchComparison(.keyPath(PropertyPath("salary")), .equal, .constant(.integer(Int64(value)))))
    }
    func folded(_ size: Int, _ join: (FetchPredicate, Int) -> FetchPredicate) -> FetchPredicate {
      (1..<size).reduce(salary(0)) { join($0, $1) }
    }
    let size = 3_000
    let flat: [(FetchPredicate, Int)] = [
      (folded(size) { $0 || salary($1) }, 3), (folded(size) { .or([$0, salary($1)]) }, 3),
      (folded(size) { salary($1) || $0 }, 3), (folded(size) { .or([salary($1), $0]) }, 3),
      (folded(size) { .and([$0, .not(salary($1))]) }, 1),
      (folded(size + 1) { predicate, _ in !predicate }, 1), (folded(size) { predicate, _ in !predicate }, 2),
    ]
    for (predicate, expected) in flat {
      #expect(try context.count(for: FetchRequest<Employee>(predicate: predicate)) == expected)
      let elsewhere = try await container.performBackgroundTask { context in
        try context.count(for: FetchRequest<Employee>(predicate: predicate))
      }
      #expect(elsewhere == expected)
    }
    let longPath = PropertyPath([String](repeating: "manager", count: size) + ["salary"])
    let deep = [
      folded(20_000) { $1 % 2 == 0 ? $0 || salary($1) : $0 && salary($1) },
      folded(20_000) { $1 % 2 == 0 ? salary($1) || $0 : !$0 },
      .comparison(FetchComparison(.keyPath(longPath), .equal, .constant(.integer(1)))),
      .comparison(
        FetchComparison(.member(of: .evaluatedObject, longPath), .equal, .constant(.integer(1)))),
      folded(size) { $1 % 2 == 0 ? .or([$0, salary($1)]) : .and([$0, salary($1)]) },
      FetchPredicate.comparison(
        FetchComparison(
          (0..<size).reduce(.keyPath(PropertyPath("salary"))) { sum, _ in
            .function(.add, [sum, .constant(.integer(1))])
          },
          .equal, .constant(.integer(1)))),
    ]
    for predicate in deep {
      #expect("\(predicate)" == "(more than 200 levels or names)")
      for ask in [
        { _ = try context.count(for: FetchRequest<Employee>(predicate: predicate)) },
        { _ = try context.explain(FetchRequest<Employee>(predicate: predicate)) },
        { _ = try context.fetch(FetchRequest<Employee>())[0...].filtered(by: predicate) },
      ] as [() throws -> Void] {
        let error = #expect(throws: FetchError.self) { try ask() }
        #expect(error?.code == .tooDeep)
      }
    }
    let text = longPath.names.joined(separator: ".")
    let syntax = #expect(throws: PredicateSyntaxError.self) { try FetchPredicate(format: "\(text) == 1") }
    #expect(syntax?.code == .tooDeep)
    let order = #expect(throws: FetchError.self) {
      try context.fetch(FetchRequest<Employee>(sortDescriptors: [FetchOrder(text)]))
    }
    #expect(order?.code == .tooDeep)
    let level = folded(100) { $1 % 2 == 0 ? .or([$0, salary($1)]) : .and([$0, .not(salary($1))]) }
    #expect(throws: Never.self) { try context.count(for: FetchRequest<Employee>(predicate: level)) }
  }

  @Test("The message about a common mistake gives the right form")
  func remedies() throws {
    let context = try Staff.context()
    func message(_ format: String) -> String {
      do {
        _ = try context.count(for: FetchRequest<Employee>(predicate: try FetchPredicate(format: format)))
        return "no error"
      } catch { return "\(error)" }
    }
    for (format, expected) in [
      ("name IS NULL", "write name == NULL or name != NULL"),
      ("salary", "write salary == TRUE for a truth value"),
      ("5", "compare 5 with a property"), ("salary + 1", "compare salary + 1 with a property"),
      ("TRUE", "write TRUEPREDICATE"), ("'x'", "compare \"x\" with a property"),
      ("friends.count > 1", "Write @count for the operator"), ("(salary & 1.5) == 0", "1.5 is a real number"),
      ("lowercase:(salary) == 'x'", "needs text, but salary is"),
    ] {
      #expect(message(format).contains(expected), "\(format): \(message(format))")
    }
    let worker = context.worker("W")
    for (key, value, expected) in [
      ("name", 3 as Any, "cannot hold an Int: it holds text"),
      ("salary", "x" as Any, "cannot hold a String: it holds a number"),
      ("salary", 1.5 as Any, "cannot hold a Double: the value does not fit"),
    ] {
      let error = #expect(throws: PerdureError.self) { try worker.setCheckedValue(value, forKey: key) }
      #expect(error?.message.contains(expected) == true, "\(error?.message ?? "")")
    }
  }

  @Test("The description of an error about thousands of objects shows only the first objects")
  func longDescriptions() throws {
    let context = try Staff.context()
    for _ in 0..<3_000 { context.worker("W")["name"] = nil }
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.details.count ?? 0 >= 3_000)
    let text = "\(String(describing: error))"
    #expect(text.count < 10_000 && text.contains("more details"))
  }

  @Test("A message shows only the beginning of a long value")
  func longValues() throws {
    let context = try Staff.context()
    let long = String(repeating: "x", count: 100_000)
    for format in ["%@ + salary == 3", "abs(%@) == salary", "1 == %@"] {
      let request = FetchRequest<Employee>(predicate: try FetchPredicate(format: format, long))
      let error = #expect(throws: FetchError.self, "\(format)") { try context.fetch(request) }
      #expect("\(error?.message ?? "")\(error?.key ?? "")".count < 1_000, "\(format)")
    }
    let rule = #expect(throws: PredicateEvaluationError.self) {
      _ = try FetchPredicate(format: "SELF MATCHES %@", "(" + long).evaluate(with: .string("a"))
    }
    #expect("\(String(describing: rule))".count < 1_000)
  }

  @Test("A predicate finds objects by entity description or name, saved or not, even through paths")
  func entity() throws {
    let context = try Staff.context()
    let (worker, company) = (context.worker("W"), context.company("C"))
    worker.company = company
    for _ in 0..<2 {
      func found(_ format: String, _ arguments: (any PredicateArgument)?...) throws -> Set<Party> {
        let predicate = try FetchPredicate(format: format, argumentArray: arguments)
        return Set(try context.fetch(FetchRequest<Party>(predicate: predicate)))
      }
      #expect(try found("entity == %@", worker.entity) == [worker])
      #expect(try found("entity != %@", worker.entity) == [company])
      #expect(try found("entity == %@", Staff.entity("Party")).isEmpty)
      #expect(try found("entity.name == 'Company'") == [company])
      #expect(try found("entity.name BEGINSWITH 'C' OR name == 'W'") == [company, worker])
      #expect(try found("entity IN %@", [worker.entity, company.entity]) == [worker, company])
      let through = FetchRequest<Employee>(
        predicate: try FetchPredicate(format: "company.entity.name == 'Company'"))
      #expect(try context.fetch(through) == [worker])
      #expect(throws: FetchError.self) { try found("entity == 3") }
      #expect(throws: FetchError.self) { try found("entity.size == 3") }
      try context.save()
    }
  }

  @Test("ANY and ALL apply a collection operator to each group")
  func groups() throws {
    let context = try Staff.context()
    func found(_ format: String) throws -> [String] {
      try context.fetch(FetchRequest<Company>(predicate: FetchPredicate(format: format))).map(\.name).sorted()
    }
    // Company A has workers with 2 projects and 1 project. B has a worker with 1 project. C has no
    // workers.
    let projects = (0..<2).map { _ in Project(context: context) }
    for (name, counts) in [("A", [2, 1]), ("B", [1]), ("C", [])] {
      let company = context.company(name)
      for count in counts {
        let worker = context.worker(name)
        worker.company = company
        for project in projects.prefix(count) { worker.projects.insert(project) }
      }
    }
    for _ in 0..<2 {
      #expect(try found("ANY workers.projects.@count > 1") == ["A"])
      #expect(try found("ALL workers.projects.@count == 1") == ["B", "C"])
      #expect(try found("NONE workers.projects.@count == 1") == ["C"])
      #expect(try found("workers.projects.@count > 1") == ["A"])
      #expect(
        try found("SUBQUERY(workers, $w, ANY $w.projects.members.@count > 2).@count > 0") == ["A", "B"])
      #expect(throws: FetchError.self) { try found("ANY workers.@count > 1") }
      try context.save()
    }
  }
}
