import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Requests that do not fit the model")
struct FetchErrorTests {
  private func error(
    _ format: String, entity: String = "Employee", order: [FetchOrder] = [], limit: Int? = nil
  ) throws -> FetchError? {
    let schema = try TestModel.schema(indexed: true)
    var query = FetchQuery(entity: schema.entity(named: entity)!.number)
    query.predicate = try FetchPredicate(format: format)
    query.order = order
    query.limit = limit
    do {
      _ = try PreparedFetch(query, schema)
      return nil
    } catch let error as FetchError {
      return error
    }
  }

  @Test("The error about an unknown key names its entity and the nearest names")
  func unknownKey() throws {
    let error = try #require(try error("salery > 5"))
    #expect(error.code == .unknownProperty)
    #expect(error.entity == "Employee")
    #expect(error.key == "salery")
    #expect(error.suggestions == ["salary"])
    #expect(error.message == "Employee has no property salery. Did you mean salary?")
  }

  @Test("Two exchanged letters count as one mistake")
  func exchanged() throws {
    #expect(try error("lable == 'x'", entity: "Tag")?.suggestions == ["label"])
    #expect(try error("agge == 1")?.suggestions == ["age"])
    #expect(try error("ega == 1")?.suggestions == [])
    #expect(try error("nmae == 'x'")?.suggestions == ["name"])
  }

  @Test("Patterns with nested repeats are evaluated without the error matchTooLong")
  func nestedRepeats() throws {
    let context = try Staff.context()
    let other = context.worker(String(repeating: "a", count: 24))
    try context.save()
    for pattern in ["(a+)+b", "(a|a)*b", "(a*)*c"] {
      #expect(try context.count(for: Self.matches(pattern)) == 0)
    }
    #expect(try context.fetch(Self.matches("(a+)+")) == [other])
  }

  @Test(
    "A pattern that takes too many steps throws matchTooLong",
    .enabled(if: LongRun.isOptimized, "takes a minute without optimisation"))
  func longMatches() throws {
    let context = try Staff.context()
    context.worker(String(repeating: "abcdefghij", count: 3_000) + "x")
    try context.save()
    let error = #expect(throws: PredicateEvaluationError.self) {
      try context.fetch(Self.matches("(?:(?=.*x)[a-z]{0,50})*"))
    }
    #expect(error?.code == .matchTooLong)
  }

  private static func matches(_ pattern: String) throws -> FetchRequest<Employee> {
    FetchRequest<Employee>(predicate: try FetchPredicate(format: "name MATCHES %@", pattern))
  }

  @Test("An unknown key after a relationship gets suggestions from the related entity")
  func unknownKeyBehind() throws {
    let error = try #require(try error("company.fonded == nil"))
    #expect(error.entity == "Company")
    #expect(error.suggestions == ["founded"])
  }

  @Test("A path cannot continue after an attribute, except with the length of a text")
  func behindAttribute() throws {
    #expect(try error("age.x == 1")?.code == .notARelationship)
    #expect(try error("name.length == 1") == nil)
    #expect(try error("ANY age == 1")?.code == .notARelationship)
  }

  @Test("Aggregates over objects, and sums and averages of texts and dates, are refused")
  func aggregates() throws {
    for format in [
      "tags.@sum.holders > 1", "employees.@avg.boss > 1", "employees.@min.company == nil",
      "employees.boss.@max == nil", "employees.@sum.name > 1", "employees.@avg.code > 1",
      "sum:(employees.boss) > 1", "max:(employees) > 1", "average:(employees.name) > 1",
      "SUBQUERY(employees, $e, $e.reports.@sum.badge > 1).@count > 0", "employees.@sum > 1",
      "employees.@sum.hired > 1", "average:(employees.hired) == nil",
    ] {
      let entity = format.hasPrefix("tags") ? "Employee" : "Company"
      let error = try #require(try error(format, entity: entity), "\(format)")
      #expect(error.code == .typeMismatch, "\(format)")
      #expect(error.message.contains("@count"), "\(error.message)")
    }
    #expect(
      try error("employees.@sum.boss > 1", entity: "Company")?.message
        == "@sum works on numbers, but employees.@sum.boss of Company gives it objects of Employee: name one of "
        + "their attributes, or ask for @count.")
    for format in [
      "employees.@sum.age > 1", "employees.@max.name == 'x'", "employees.@avg.score > 1",
      "employees.@min.hired == nil", "max:(employees.age) > 1", "sum:({1, 2}) > employees.@count",
      "employees.@sum.active > 1", "employees.@count > 1", "employees.@unionOfObjects.boss.@count > 1",
    ] {
      #expect(try error(format, entity: "Company") == nil, "\(format)")
    }
  }

  @Test("A comparison with a value of another type is an error")
  func types() throws {
    #expect(try error("name == 3")?.code == .typeMismatch)
    #expect(try error("age == 'x'")?.code == .typeMismatch)
    #expect(try error("age BEGINSWITH 'x'")?.code == .typeMismatch)
    #expect(try error("ANY tags.label IN {'x', 3}")?.code == .typeMismatch)
    #expect(try error("company == 'x'")?.code == .typeMismatch)
    #expect(try error("'x' == age")?.code == .typeMismatch)
    #expect(try error("active == 1 AND age == 1.5 AND level < 3 AND name == nil") == nil)
  }

  @Test("A comparison of many values with one value needs ANY, ALL, NONE or an aggregate")
  func manyValues() throws {
    let error = try #require(try error("tags.label == 'a'"))
    #expect(error.code == .manyValues)
    #expect(error.key == "tags.label")
    #expect(error.message.contains("ANY, ALL or NONE"))
    for format in [
      "tags == nil", "tags.label != 'a'", "company.employees.age > 3", "tags.label BEGINSWITH 'a'",
      "tags.label IN {'a'}", "'a' == tags.label", "note == tags.label", "name CONTAINS tags.label",
      "tags.weight BETWEEN {1, 2}", "tags.weight < reports.age", "ANY tags.label == friends.name",
      "NOT (tags.label == 'a' OR age > 3)", "SUBQUERY(reports, $x, $x.tags.label == 'a').@count > 0",
      "SUBQUERY(tags, $t, $t.weight > 1) > 0",
    ] {
      #expect(try self.error(format)?.code == .manyValues, "\(format)")
    }
    for format in [
      "ANY tags.label == 'a'", "ALL tags.weight > 1", "NONE tags.label == 'a'", "tags.@count == 0",
      "tags.@max.weight > 3", "'a' IN tags.label", "tags.label CONTAINS 'a'", "tags == tags",
      "tags.label == {'a'}", "ANY tags.label IN friends.name", "sum(tags.weight) > 3", "tags[SIZE] > 1",
      "tags.label.@distinctUnionOfObjects == {'a'}",
    ] {
      #expect(try self.error(format) == nil, "\(format)")
    }
  }

  @Test("A variable needs a value, and a subquery's variable has the type of the element")
  func variables() throws {
    #expect(try error("age == $x")?.code == .unboundVariable)
    #expect(try error("SUBQUERY(tags, $t, $t.label == 'x').@count > 0") == nil)
    #expect(try error("SUBQUERY(tags, $t, $t.labl == 'x').@count > 0")?.suggestions == ["label"])
  }

  @Test("Objects can be sorted only by single values")
  func order() throws {
    #expect(try error("TRUEPREDICATE", order: [FetchOrder("tags.label")])?.code == .toManyOrder)
    #expect(try error("TRUEPREDICATE", order: [FetchOrder("tags")])?.code == .toManyOrder)
    #expect(try error("TRUEPREDICATE", order: [FetchOrder("tags.@count")]) == nil)
    #expect(try error("TRUEPREDICATE", order: [FetchOrder("agee")])?.suggestions == ["age"])
  }

  @Test("A negative limit is an error")
  func window() throws {
    #expect(try error("TRUEPREDICATE", limit: -1)?.code == .invalidWindow)
  }

  @Test(
    "A request is refused if its class does not fit its entity, or if it has no entity")
  func otherClass() throws {
    let context = try Staff.context()
    _ = context.worker("W")
    for error in [
      #expect(throws: FetchError.self) { try context.fetch(FetchRequest<Company>(entityName: "Employee")) },
      #expect(throws: FetchError.self) { try context.fetch(FetchRequest<Employee>(entityName: "Party")) },
    ] {
      #expect(error?.code == .otherClass)
      #expect(error?.message.contains("here, not") == true)
    }
    #expect(try context.fetch(FetchRequest<Party>(entityName: "Employee")).count == 1)
    #expect(try context.fetch(FetchRequest<ManagedObject>(entityName: "Employee")).count == 1)
    let error = #expect(throws: FetchError.self) { try context.fetch(FetchRequest<ManagedObject>()) }
    #expect(error?.code == .unknownEntity)
  }

  @Test("The error about an unknown entity suggests the nearest names")
  func entity() throws {
    let schema = try TestModel.schema(indexed: true)
    let request = FetchRequest<Never>(entityName: "Employe")
    let error = try #require(throws: FetchError.self) {
      try request.query(schema, entityOfClass: "")
    }
    #expect(error.code == .unknownEntity)
    #expect(error.suggestions == ["Employee"])
  }
}
