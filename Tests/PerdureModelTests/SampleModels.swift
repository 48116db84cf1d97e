import PerdureModel

/// The sample model, from which tests derive their models.
enum Sample {
  static let company = EntityDescription(
    "Company",
    properties: [
      .string("name", optional: false),
      .toMany("workers", "Worker", inverse: "company", deleteRule: .cascade),
      .derived("workerCount", "workers.@count"),
    ], indexes: [FetchIndexDescription(on: "workerCount")])

  static let person = EntityDescription(
    "Person", isAbstract: true,
    properties: [
      .string("name", optional: false, default: "nobody"),
      .toOne("spouse", "Person", inverse: "spouse"),
      .toMany("friends", "Person", inverse: "friends"),
    ], indexes: [FetchIndexDescription("byName", [.init("name", ascending: false)])])

  static let worker = EntityDescription(
    "Worker", superentity: "Person",
    properties: [
      .string("email", optional: false),
      .toOne("company", "Company", inverse: "workers"),
      .double("salary", default: 1),
      .toMany("projects", "Project", inverse: "members"),
    ], uniquenessConstraints: [["email"]])

  static let project = EntityDescription(
    "Project",
    properties: [
      .toMany("members", "Worker", inverse: "projects"),
      .attribute(AttributeDescription("title", .string, renamingIdentifier: "name")),
    ])

  static let entities = [company, worker, person, project]

  static func model() throws -> ManagedObjectModel { try ManagedObjectModel(entities) }

  /// The entities of the sample model, one of them changed.
  static func entities(
    changing name: String, _ change: (inout EntityDescription) -> Void
  ) -> [EntityDescription] {
    entities.map { entity in
      var entity = entity
      if entity.name == name { change(&entity) }
      return entity
    }
  }
}

/// The problems of a model; empty if the model is valid.
func problems(of entities: [EntityDescription]) -> [ModelProblem] {
  do {
    _ = try ManagedObjectModel(entities)
    return []
  } catch {
    return error.problems
  }
}

/// The problems of a model in order, each as "rule Entity.property".
func findings(_ entities: [EntityDescription]) -> [String] {
  problems(of: entities).map(finding)
}

/// A problem as "rule Entity.property".
func finding(_ problem: ModelProblem) -> String {
  "\(problem.rule.rawValue) \(problem.entity)" + (problem.property.map { ".\($0)" } ?? "")
}

/// An entity with these properties and nothing else.
func entity(_ name: String, _ properties: PropertyDescription...) -> EntityDescription {
  EntityDescription(name, properties: properties)
}
