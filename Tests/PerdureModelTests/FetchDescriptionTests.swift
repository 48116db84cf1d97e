import PerdureModel
import Testing

private let worker = EntityDescription(
  "Worker",
  properties: [
    .string("name", optional: false), .double("salary"), .int32("age"), .date("born"),
    .transient("mood", .string), .toOne("company", "Company", inverse: "workers"),
    .composite("address", [.string("street"), .int16("number")]),
  ])
private let company = EntityDescription(
  "Company",
  properties: [
    .string("name", optional: false), .double("wage"), .date("seen"),
    .toMany("workers", "Worker", inverse: "company"),
  ])
private let entities = [worker, company]

private func model(_ templates: FetchRequestTemplate...) throws -> ManagedObjectModel {
  try ManagedObjectModel(entities, templates: templates)
}

/// The problems of a model with these templates and these fetched properties of Company.
private func problems(
  _ templates: [FetchRequestTemplate] = [], fetched: [FetchedPropertyDescription] = []
) -> [ModelProblem] {
  var company = company
  company.fetchedProperties = fetched
  do {
    _ = try ManagedObjectModel([worker, company], templates: templates)
    return []
  } catch {
    return error.problems
  }
}

/// The variables of a template of Worker with this predicate, and their types in words.
private func variables(_ predicate: String) throws -> [String: String] {
  let model = try model(FetchRequestTemplate("t", "Worker", predicate))
  return try #require(model.fetchRequestTemplateVariables(forName: "t")).mapValues { "\($0)" }
}

private func messages(_ predicate: String) -> [String] {
  problems([FetchRequestTemplate("t", "Worker", predicate)]).map(\.message)
}

@Suite("Fetch request templates in models")
struct TemplateDescriptionTests {
  @Test("A model lists its templates, and templates do not affect its version")
  func listed() throws {
    let template = FetchRequestTemplate("rich", "Worker", "salary > $least", fetchLimit: 3)
    let with = try model(template)
    #expect(with.fetchRequestTemplates == [template])
    let without = try ManagedObjectModel(entities)
    #expect(with.versionHash == without.versionHash)
    #expect(with.fetchRequestTemplateVariables(forName: "poor") == nil)
  }

  @Test(
    "A variable has the type of the operand that it is compared with",
    arguments: [
      ("salary > $x", "a double"), ("$x == age", "an int32"), ("company == $x", "a Company"),
      ("company.name BEGINSWITH $x", "a string"), ("age IN $x", "a list of int32"),
      ("born BETWEEN $x", "a list of date"), ("born BETWEEN {$x, $x}", "a date"),
      ("company.workers.@count > $x", "an int64"), ("address.number == $x", "an int16"),
      ("SUBQUERY(company.workers, $w, $w.born == $x).@count > 0", "a date"),
      ("company.workers CONTAINS $x", "a Worker"), ("$x IN company.workers", "a Worker"),
      ("ANY company.workers.name == $x", "a string"), ("SELF == $x", "a Worker"),
      ("salary > 2 * $x", "a double"), ("lowercase:(name) == lowercase:($x)", "a string"),
      ("salary > $x AND age > $x", "a double"), ("$x == YES", "a boolean"), ("$x == $x", "any value"),
      ("name.length == $x", "an int64"), ("TERNARY(age > 1, $x, name) == name", "a string"),
    ])
  func inferred(predicate: String, type: String) throws {
    #expect(try variables(predicate) == ["x": type])
  }

  @Test(
    "A variable may be nil if == or != compares it with a value that can be absent",
    arguments: [
      ("born == $x", true), ("$x != born", true), ("company == $x", true), ("company.name == $x", true),
      ("address.number == $x", true), ("ANY company.workers.born == $x", true),
      ("SUBQUERY(company.workers, $w, $w.born == $x).@count > 0", true), ("age > $x OR age == $x", true),
      ("name == $x", false), ("born > $x", false), ("born IN $x", false), ("SELF == $x", false),
      ("ANY company.workers.name == $x", false), ("company.workers.@count == $x", false),
      ("$x IN company.workers", false), ("age + 1 == $x", false), ("$x == 3", false),
    ])
  func nilVariables(_ predicate: String, selects: Bool) throws {
    let request = try model(FetchRequestTemplate("t", "Worker", predicate)).templateRequests["t"]
    #expect(request?.nilVariables == (selects ? ["x"] : []))
  }

  @Test("The variable of a subquery is not a variable of the template")
  func bound() throws {
    let found = try variables("SUBQUERY(company.workers, $w, $w.age > 3).@count > $n")
    #expect(found == ["n": "an int64"])
  }

  @Test("A variable that is compared with two incompatible types is an error of the model")
  func conflict() {
    #expect(
      messages("name == $x AND born == $x") == [
        "The variable $x is compared as a string, and also as a date: no value is both."
      ])
  }

  @Test("For a misspelt name in a template, the model's error suggests the nearest name")
  func misspelt() {
    let found = problems([
      FetchRequestTemplate("a", "Wroker"), FetchRequestTemplate("b", "Worker", "company.nmae == 'x'"),
      FetchRequestTemplate("c", "Worker", "ANY company.workers.salery > 3"),
      FetchRequestTemplate("d", "Worker", nil, sortDescriptors: [FetchOrder("adress.street")]),
      FetchRequestTemplate("e", "Worker", "address.stret == 'x'"),
    ])
    #expect(found.map(\.rule) == Array(repeating: .fetchTemplate, count: 5))
    #expect(found.map(\.property) == ["a", "b", "c", "d", "e"])
    #expect(
      found.map { $0.remedy.split(separator: " ").suffix(1).joined() } == [
        "Worker?", "name?", "salary?", "address?", "address.street?",
      ])
  }

  @Test("All errors in one template are listed together")
  func together() {
    var request = FetchRequestDescription(
      "Worker", "nmae == 'x' AND mood == 'good' AND age.size > 3",
      sortDescriptors: [FetchOrder("company"), FetchOrder("company.workers.age")], fetchLimit: -1)
    request.relationshipKeyPathsForPrefetching = ["company.name"]
    let found = problems([FetchRequestTemplate("t", request)])
    #expect(
      found.map(\.message) == [
        "The limit -1 is impossible.", "Worker has no property \"nmae\".",
        "Worker.mood is transient, so no store has its values.",
        "\"size\" is read from a value of type int32, which has no properties.",
        "The sort key company is an object or a composite attribute, which has no order.",
        "The sort key company.workers.age has any number of values.",
        "The path company.name to prefetch does not end at a relationship.",
      ])
  }

  @Test("For an unreadable predicate, the error of the model has the reason")
  func unreadable() throws {
    let message = try #require(messages("salary > ").first)
    #expect(message.hasPrefix("The predicate salary >  cannot be read. "))
  }

  @Test("Two templates cannot have the same name, and a template must have a name")
  func names() {
    let found = problems([
      FetchRequestTemplate("a b", "Worker"), FetchRequestTemplate("a b", "Company"),
      FetchRequestTemplate("", "Company"),
    ])
    #expect(
      found.map(\.message) == [
        "Two fetch request templates are called \"a b\".",
        "The name of a fetch request template is empty or too long.",
      ])
  }

  @Test("A merged model has the templates of all models; equal templates occur once")
  func merged() throws {
    let (first, second) = (FetchRequestTemplate("a", "Worker"), FetchRequestTemplate("b", "Worker"))
    let merged = try ManagedObjectModel(merging: [try model(first), try model(first, second)])
    #expect(merged.fetchRequestTemplates == [first, second])
    let other = FetchRequestTemplate("a", "Company")
    #expect(throws: ModelError.self) {
      try ManagedObjectModel(merging: [try model(first), try model(other)])
    }
  }
}

@Suite("Fetched properties in models")
struct FetchedPropertyDescriptionTests {
  private func messages(_ predicate: String, userInfo: [String: String] = [:]) -> [String] {
    problems(fetched: [FetchedPropertyDescription("staff", "Worker", predicate, userInfo: userInfo)])
      .map(\.message)
  }

  @Test(
    "A fetched property's predicate can name the owner, the owner's paths, and the property's user info",
    arguments: [
      "company == $FETCH_SOURCE", "salary > $FETCH_SOURCE.wage", "$FETCH_SOURCE.workers CONTAINS SELF",
      "name == $FETCHED_PROPERTY.userInfo.key", "born > $FETCH_SOURCE.seen AND age > 3",
      "SUBQUERY(company.workers, $w, $w.company == $FETCH_SOURCE).@count > 0",
    ])
  func accepted(predicate: String) {
    #expect(messages(predicate, userInfo: ["key": "x"]) == [])
  }

  @Test("Mistakes about the owner, the user info or variables are errors of the model")
  func refused() {
    #expect(messages("salary > $FETCH_SOURCE.wge") == ["Company has no property \"wge\"."])
    #expect(
      messages("name == $FETCHED_PROPERTY.userInfo.kye", userInfo: ["key": "x"]) == [
        "The user info of the fetched property has no key \"kye\"."
      ])
    #expect(
      messages("name == $other") == [
        "The predicate of a fetched property has the variable $other, which never gets a value."
      ])
    #expect(
      messages("name == $FETCHED_PROPERTY.name") == ["$FETCHED_PROPERTY.name is not a value."])
    #expect(
      messages("born > $FETCH_SOURCE.wage") == [
        "born > $FETCH_SOURCE.wage compares a date with a double: values of these types are never equal."
      ])
    #expect(
      messages("SUBQUERY($FETCH_SOURCE.workers, $w, $w.age > age).@count > 0") == [
        "The predicate cannot read properties of $FETCH_SOURCE.workers."
      ])
    #expect(
      messages("$FETCH_SOURCE.workers[0].age > age") == [
        "The predicate cannot read properties of $FETCH_SOURCE.workers[0]."
      ])
    #expect(
      messages("SELF == $FETCH_SOURCE") == [
        "SELF == $FETCH_SOURCE compares a Worker with a Company: values of these types are never equal."
      ])
  }

  @Test("A fetched property must return objects, and must have an unused name")
  func shape() {
    var counted = FetchRequestDescription("Worker")
    counted.resultType = .count
    let found = problems(fetched: [
      FetchedPropertyDescription("a", counted), FetchedPropertyDescription("name", "Worker"),
      FetchedPropertyDescription("hash", "Worker"), FetchedPropertyDescription("b", "Nobody"),
      FetchedPropertyDescription("b", "Worker"),
    ])
    #expect(
      Set(found.map { "\($0.rule) \($0.property ?? "")" }) == [
        "fetchedProperty a", "duplicateProperty name", "reservedName hash", "fetchedProperty b",
        "duplicateProperty b",
      ])
  }

  @Test("A fetched property is inherited, and cannot have the name of another inherited property")
  func inherited() throws {
    func problems(_ below: EntityDescription) -> [String] {
      let above = EntityDescription(
        "A", properties: [.string("x")], fetchedProperties: [FetchedPropertyDescription("f", "A")])
      do {
        let model = try ManagedObjectModel([above, below])
        #expect(model.entitiesByName["B"]?.fetchedPropertiesByName.keys.sorted() == ["f"])
        return []
      } catch {
        return error.problems.map { "\($0.rule) \($0.entity).\($0.property ?? "")" }
      }
    }
    #expect(problems(EntityDescription("B", superentity: "A", properties: [])) == [])
    #expect(
      problems(EntityDescription("B", superentity: "A", properties: [.string("f")])) == [
        "redefinedProperty B.f"
      ])
    #expect(
      problems(
        EntityDescription(
          "B", superentity: "A", properties: [], fetchedProperties: [FetchedPropertyDescription("f", "A")]))
        == ["redefinedProperty B.f"])
    #expect(
      problems(
        EntityDescription(
          "B", superentity: "A", properties: [], fetchedProperties: [FetchedPropertyDescription("x", "A")]))
        == ["redefinedProperty B.x"])
  }

  @Test("Predicates and sort descriptors cannot name a fetched property")
  func named() {
    var company = company
    company.fetchedProperties = [FetchedPropertyDescription("staff", "Worker")]
    let error = #expect(throws: ModelError.self) {
      try ManagedObjectModel(
        [worker, company],
        templates: [FetchRequestTemplate("t", "Worker", "company.staff.@count > 3")])
    }
    #expect(error?.problems.first?.message.hasPrefix("Company.staff is a fetched property") == true)
  }

  @Test("Fetched properties do not change the version, and a store accepts a change of them")
  func version() throws {
    var changed = company
    changed.fetchedProperties = [FetchedPropertyDescription("staff", "Worker")]
    let (old, new) = (try ManagedObjectModel(entities), try ManagedObjectModel([worker, changed]))
    #expect(old.versionHash == new.versionHash)
    let differences = ModelDifference.differences(from: old, to: new)
    #expect(differences.map(\.kind) == [.detailsChanged])
    #expect(differences.map(\.isCompatible) == [true])
  }

  @Test("A fetched property may return objects of another configuration")
  func acrossStores() throws {
    var owner = EntityDescription("Owner", properties: [.string("name")])
    owner.fetchedProperties = [
      FetchedPropertyDescription("namesakes", "Worker", "name == $FETCH_SOURCE.name")
    ]
    let model = try ManagedObjectModel(
      entities + [owner], configurations: ["Owners": ["Owner"], "Staff": ["Worker", "Company"]],
      templates: [FetchRequestTemplate("all", "Worker")])
    let part = try model.restricted(toConfiguration: "Owners")
    #expect(part.entities.first?.fetchedProperties.map(\.name) == ["namesakes"])
    #expect(part.fetchRequestTemplates == [])
    let staff = try model.restricted(toConfiguration: "Staff")
    #expect(staff.fetchRequestTemplates.map(\.name) == ["all"])
  }
}
