import FoundationEssentials
import Perdure
import PerdureFileIO
import PerdureModel
import PerdurePredicates
import PerdureTestSupport
import Testing

private let entities = [
  EntityDescription(
    "Firm", properties: [.string("name"), .toMany("staff", "Person", inverse: "firm")]),
  EntityDescription(
    "Person",
    properties: [
      .string("name"), .double("salary"), .int16("age"), .date("born"),
      .toOne("firm", "Firm", inverse: "staff"),
    ]),
  EntityDescription("Boss", superentity: "Person", properties: [.int64("budget")]),
  EntityDescription("Stone", properties: [.string("name")]),
]

private let templates = [
  FetchRequestTemplate(
    "rich", "Person", "salary > $least AND name BEGINSWITH $start",
    sortDescriptors: [FetchOrder("salary", ascending: false)], fetchLimit: 2),
  FetchRequestTemplate("all", "Person", sortDescriptors: [FetchOrder("name")]),
  FetchRequestTemplate("of", "Person", "firm == $firm", sortDescriptors: [FetchOrder("name")]),
  FetchRequestTemplate("named", "Person", "name IN $names"),
  FetchRequestTemplate("after", "Person", "born > $date"),
]

private func container(
  _ description: PersistentStoreDescription = .inMemory
) throws -> PersistentContainer {
  let model = try ManagedObjectModel(entities, templates: templates)
  let container = PersistentContainer(name: "Templates", model: model, description: description)
  try container.loadPersistentStores()
  return container
}

/// A context with five unsaved persons. Four of them belong to one firm.
private func context() throws -> ManagedObjectContext {
  let context = try container().newContext()
  let firm = context.insertNewObject(forEntityName: "Firm")
  firm["name"] = "Acme"
  for (number, name) in ["ada", "alan", "albert", "bob"].enumerated() {
    let person = context.insertNewObject(forEntityName: number == 3 ? "Boss" : "Person")
    person["name"] = name
    person["salary"] = Double(number)
    person["firm"] = firm
  }
  context.insertNewObject(forEntityName: "Person")["name"] = "eve"
  return context
}

private func names(_ objects: [ManagedObject]) -> [String] {
  objects.map { $0["name"] as? String ?? "" }
}

@Suite("Requests from templates")
struct FetchTemplateTests {
  private func request(
    _ name: String, _ variables: [String: (any PredicateArgument)?] = [:]
  ) throws -> FetchRequest<ManagedObject> {
    let model = try ManagedObjectModel(entities, templates: templates)
    return try model.fetchRequestFromTemplate(withName: name, substitutionVariables: variables)
  }

  @Test("A request from a template finds objects by the values of its variables")
  func found() throws {
    let context = try context()
    let model = context.managedObjectModel
    func found(_ name: String, _ variables: [String: (any PredicateArgument)?]) throws -> [String] {
      names(
        try context.fetch(
          try model.fetchRequestFromTemplate(withName: name, substitutionVariables: variables)))
    }
    for _ in 0..<2 {
      #expect(try found("rich", ["least": -1, "start": "a"]) == ["albert", "alan"])
      #expect(try found("rich", ["least": 0.5, "start": "al"]) == ["albert", "alan"])
      #expect(try found("named", ["names": ["bob", "eve"]]).sorted() == ["bob", "eve"])
      let firm = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Firm")).first)
      #expect(try found("of", ["firm": firm]) == ["ada", "alan", "albert", "bob"])
      #expect(try found("of", ["firm": firm.objectID]) == ["ada", "alan", "albert", "bob"])
      #expect(try found("of", ["firm": nil]) == ["eve"])
      #expect(try found("all", [:]) == ["ada", "alan", "albert", "bob", "eve"])
      try context.save()
    }
  }

  @Test("A request from a template is a copy that can be changed")
  func changed() throws {
    var request = try request("rich", ["least": 1, "start": "a"])
    #expect(request.fetchLimit == 2 && request.sortDescriptors == [FetchOrder("salary", ascending: false)])
    request.fetchLimit = 7
    #expect(try self.request("rich", ["least": 1, "start": "a"]).fetchLimit == 2)
  }

  @Test(
    "A request has its template's settings except resultType and returnsDistinctResults, also for a stored template"
  )
  func settings() throws {
    var description = FetchRequestDescription(
      "Person", "age > $least", sortDescriptors: [FetchOrder("name")], fetchLimit: 3)
    (description.fetchOffset, description.fetchBatchSize) = (2, 5)
    (description.includesSubentities, description.includesPendingChanges) = (false, false)
    (description.includesPropertyValues, description.returnsObjectsAsFaults) = (false, false)
    (description.returnsDistinctResults, description.resultType) = (true, .count)
    description.relationshipKeyPathsForPrefetching = ["firm.staff"]
    let model = try ManagedObjectModel(
      entities, templates: [FetchRequestTemplate("some", description), FetchRequestTemplate("all", "Stone")])
    let directory = try TemporaryDirectory()
    let path = directory.file("store")
    let container = PersistentContainer(name: "Settings", model: model, description: .init(path: path))
    try container.loadPersistentStores()
    try container.close()
    let kept = try PersistentContainer.metadataForPersistentStore(at: path).model
    #expect(kept.fetchRequestTemplates == model.fetchRequestTemplates)
    for model in [model, kept] {
      let request = try model.fetchRequestFromTemplate(
        withName: "some", substitutionVariables: ["least": 7])
      for request in [request, try #require(model.fetchRequestTemplate(forName: "some"))] {
        #expect(request.entityName == "Person" && request.sortDescriptors == [FetchOrder("name")])
        #expect(request.fetchLimit == 3 && request.fetchOffset == 2 && request.fetchBatchSize == 5)
        #expect(!request.includesSubentities && !request.includesPendingChanges)
        #expect(!request.includesPropertyValues && !request.returnsObjectsAsFaults)
        #expect(request.relationshipKeyPathsForPrefetching == ["firm.staff"])
      }
      #expect(request.predicate == (try FetchPredicate(format: "age > 7")))
      let all = try model.fetchRequestFromTemplate(withName: "all")
      #expect(all.predicate == nil && all.fetchLimit == 0 && all.fetchOffset == 0 && all.fetchBatchSize == 0)
      #expect(all.includesSubentities && all.includesPendingChanges && all.includesPropertyValues)
      #expect(all.returnsObjectsAsFaults && all.relationshipKeyPathsForPrefetching == [])
    }
  }

  @Test("The request of a template can be used for a fetched property")
  func fetchedProperty() throws {
    let template = FetchRequestTemplate(
      "colleagues", "Person", "firm == $FETCH_SOURCE", sortDescriptors: [FetchOrder("name")])
    var firm = entities[0]
    firm.fetchedProperties = [FetchedPropertyDescription("people", template.request)]
    let container = PersistentContainer(
      name: "Both", model: try ManagedObjectModel([firm] + entities[1...]), description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let owner = context.insertNewObject(forEntityName: "Firm")
    for name in ["bob", "ada"] {
      let person = context.insertNewObject(forEntityName: "Person")
      (person["name"], person["firm"]) = (name, owner)
    }
    #expect(names(owner.fetchedObjects(forKey: "people")) == ["ada", "bob"])
  }

  @Test("fetchRequestTemplate(forName:) returns the request with its variables, or nil for an unknown name")
  func unsubstituted() throws {
    let model = try ManagedObjectModel(entities, templates: templates)
    #expect(model.fetchRequestTemplate(forName: "of")?.predicate?.variables == ["firm"])
    #expect(model.fetchRequestTemplate(forName: "all")?.predicate == nil)
    #expect(model.fetchRequestTemplate(forName: "none") == nil)
  }

  @Test("Missing and unknown variables, and wrong types, are reported in one error with the expected types")
  func wrongVariables() throws {
    let error = #expect(throws: FetchTemplateError.self) {
      try request("rich", ["least": "much", "strat": "a"])
    }
    #expect(
      error?.description == """
        The variables of the fetch request template "rich" do not fit.
        - $least is text. Give it a double, or nil.
        - $start has no value. Give it a string, or nil.
        - The template has no variable $strat. It has $least, $start. Did you mean start?
        """)
    #expect(error?.code == .variables && error?.template == "rich")
    #expect(error?.problems.map(\.kind) == [.wrongType, .missing, .unknown])
    #expect(error?.problems.map(\.expected) == [.attribute(.double), .attribute(.string), nil])
  }

  @Test("An object of another entity is refused as a value, and an object of a subentity is accepted")
  func objects() throws {
    let context = try context()
    let stone = context.insertNewObject(forEntityName: "Stone")
    let error = #expect(throws: FetchTemplateError.self) { try request("of", ["firm": stone]) }
    #expect(error?.problems.map(\.message) == ["$firm is an object of Stone. Give it a Firm, or nil."])
    let model = try ManagedObjectModel(
      entities, templates: [FetchRequestTemplate("is", "Person", "SELF == $person")])
    for entity in ["Person", "Boss"] {
      let person = context.insertNewObject(forEntityName: entity)
      let request = try model.fetchRequestFromTemplate(
        withName: "is", substitutionVariables: ["person": person])
      #expect(try context.fetch(request) == [person])
    }
  }

  @Test(
    "A variable accepts only values of a type that fits the other operand",
    arguments: [
      ("named", "names", Value.list([.string("a")]), true), ("named", "names", .string("ada eve"), true),
      ("named", "names", .list([.integer(1)]), false),
      ("named", "names", .list([.string("a"), .null]), true), ("named", "names", .integer(3), false),
      ("after", "date", .date(Date(timeIntervalSinceReferenceDate: 5)), true),
      ("after", "date", .integer(5), false), ("after", "date", .null, true),
      ("of", "firm", .string("x"), false),
    ])
  func fits(name: String, variable: String, value: Value, isFit: Bool) {
    if isFit {
      #expect(throws: Never.self) { try request(name, [variable: value]) }
    } else {
      #expect(throws: FetchTemplateError.self) { try request(name, [variable: value]) }
    }
  }

  @Test("The error about an unknown template suggests the nearest name")
  func unknown() {
    let error = #expect(throws: FetchTemplateError.self) { try request("rihc") }
    #expect(error?.code == .unknownTemplate)
    #expect(error?.message == "The model has no fetch request template \"rihc\". Did you mean rich?")
  }

  @Test("A template with dictionaries as results is refused when a request is made")
  func dictionaries() throws {
    var description = FetchRequestDescription("Person")
    description.resultType = .dictionaries
    let model = try ManagedObjectModel(
      entities, templates: [FetchRequestTemplate("values", description)])
    let error = #expect(throws: FetchTemplateError.self) {
      try model.fetchRequestFromTemplate(withName: "values")
    }
    #expect(error?.code == .unusableTemplate)
  }

  @Test("Templates are stored, and opening the store with a model without templates removes them")
  func stored() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("store")
    try container(.init(path: path)).close()
    func stored() throws -> [FetchRequestTemplate] {
      try PersistentContainer.metadataForPersistentStore(at: path).model.fetchRequestTemplates
    }
    #expect(try stored() == templates)
    let model = try ManagedObjectModel(entities)
    let other = PersistentContainer(name: "None", model: model, description: .init(path: path))
    try other.loadPersistentStores()
    try other.close()
    #expect(try stored() == [])
  }
}
