internal import Synchronization

/// A set of entities that was checked as a whole and can no longer change.
///
/// A model may be shared by any number of containers, on any thread.
///
///     let model = try ManagedObjectModel([
///       EntityDescription("Company", properties: [
///         .string("name", optional: false),
///         .toMany("workers", "Worker", inverse: "company", deleteRule: .cascade),
///       ]),
///       EntityDescription("Worker", properties: [
///         .string("email", optional: false),
///         .toOne("company", "Company", inverse: "workers"),
///       ], uniquenessConstraints: [["email"]]),
///     ])
public final class ManagedObjectModel: Sendable {
  /// The entities, in the order in which they were given.
  public let entities: [EntityDescription]
  /// The entities by name.
  public let entitiesByName: [String: EntityDescription]
  /// Valid parts of the model that are often mistakes, for example a relationship without an
  /// inverse.
  ///
  /// The first container with a log handler (`PersistentContainer.log(_:)`) passes the warnings to
  /// the handler, once for each model.
  public let warnings: [ModelProblem]
  /// The version of the model: a hash of the versions of its entities. Equal models have equal
  /// hashes on every platform. The order of entities and properties has no effect.
  ///
  /// The hash of an entity covers its name, its superentity, whether it is abstract, its uniqueness
  /// constraints and its hash modifier. It also covers all its properties, including inherited
  /// ones. For every property, it covers the name, whether it is optional, whether it is transient,
  /// and the hash modifier. For an attribute, it also covers the type and the derivation. For a
  /// composite, it covers the elements. For a relationship, it covers the destination, the inverse,
  /// the minimum and maximum count, and whether it is ordered.
  ///
  /// It does not cover class names, defaults, delete rules, validation rules, value transformers,
  /// indexes or renaming identifiers. It also does not cover fetched properties, templates, user
  /// info, version identifiers, configurations, or any order of declaration.
  public let versionHash: UInt64
  /// The version hash of each entity, including inherited properties. See ``versionHash``.
  public let entityVersionHashesByName: [String: UInt64]
  /// The program's names for this version of the model. They are stored with the model, but are not
  /// part of the version hash.
  public let versionIdentifiers: Set<String>
  /// The names of the configurations, ascending.
  public let configurations: [String]

  /// The fetch request templates, in the order in which they were given. They are not part of the
  /// version hash.
  public let fetchRequestTemplates: [FetchRequestTemplate]

  /// The entities with inheritance and inverses resolved, at the same indices as `entities`.
  package let schemas: [EntitySchema]
  private let indicesByName: [String: Int]
  private let hasLoggedWarnings = Atomic(false)
  /// The entities of each configuration, in the order of `entities`.
  let entityNamesByConfiguration: [String: [String]]
  /// The checked requests of the templates, by name.
  package let templateRequests: [String: CheckedFetchRequest]
  /// The checked requests of fetched properties, by the names of the declaring entity and the
  /// property.
  package let fetchedRequests: [String: [String: CheckedFetchRequest]]

  /// Checks `entities` together and makes a model of them.
  ///
  /// - Parameters:
  ///   - configurations: Named subsets of the entities, as lists of entity names. A store that is
  ///     opened with a configuration contains only its entities. An entity may be in several
  ///     configurations. A configuration contains all entities of a hierarchy or none.
  ///   - versionIdentifiers: Names for this version of the model.
  ///   - templates: Fetch requests with names.
  /// - Throws: `ModelError` `invalidModel` with every broken rule.
  /// - Complexity: O(p) for p properties. Inherited properties are counted once per entity.
  public convenience init(
    _ entities: [EntityDescription], configurations: [String: [String]] = [:],
    versionIdentifiers: Set<String> = [], templates: [FetchRequestTemplate] = []
  ) throws(ModelError) {
    try self.init(
      entities, configurations: configurations, versionIdentifiers: versionIdentifiers,
      templates: templates, isStored: false)
  }

  /// - Parameters:
  ///   - isStored: Whether the model comes from a store.
  ///   - isPart: Whether the entities are a part of a model that was checked as a whole. Templates
  ///     and fetched properties may then name entities of other parts.
  init(
    _ entities: [EntityDescription], configurations: [String: [String]], versionIdentifiers: Set<String>,
    templates: [FetchRequestTemplate] = [], isStored: Bool, isPart: Bool = false
  ) throws(ModelError) {
    var validation = ModelValidation(
      entities, configurations: configurations, isStored: isStored, isPart: isPart)
    validation.run(templates)
    if !validation.errors.isEmpty {
      let count = validation.errors.count
      throw ModelError(
        .invalidModel, "The model breaks \(count) \(count == 1 ? "rule" : "rules"). Nothing was changed.",
        problems: validation.errors)
    }
    self.warnings = validation.warnings
    self.indicesByName = validation.indicesByName
    let family = EntityFamily(entities, indices: indicesByName)
    self.entities = family.entities
    self.entitiesByName = Dictionary(uniqueKeysWithValues: self.entities.map { ($0.name, $0) })
    self.schemas = EntitySchema.resolve(entities, parents: validation.parents, indices: indicesByName)
    let hashes = ModelHash.hashes(of: entities, parents: validation.parents)
    self.entityVersionHashesByName = hashes.byName
    self.versionHash = hashes.model
    self.versionIdentifiers = versionIdentifiers
    self.fetchRequestTemplates = templates
    self.templateRequests = validation.templateRequests
    self.fetchedRequests = validation.fetchedRequests
    self.configurations = configurations.keys.sorted()
    self.entityNamesByConfiguration = configurations.mapValues { names in
      let names = Set(names)
      return entities.map(\.name).filter(names.contains)
    }
  }

  /// The entities of a configuration in the order of the model; all entities if `name` is nil.
  ///
  /// Returns nil if the configuration does not exist.
  public func entities(forConfigurationName name: String?) -> [EntityDescription]? {
    guard let name else { return entities }
    return entityNamesByConfiguration[name]?.compactMap { entitiesByName[$0] }
  }

  /// Returns the warnings to the first caller, and none to the others. Any thread may call it.
  package func warningsToLog() -> [ModelProblem] {
    hasLoggedWarnings.exchange(true, ordering: .relaxed) ? [] : warnings
  }

  /// The resolved entity called `name`, or nil.
  package func schema(named name: String) -> EntitySchema? {
    indicesByName[name].map { schemas[$0] }
  }

  /// The names and types of the variables of a template; nil if the model has no template with this
  /// name.
  ///
  /// - Complexity: O(1).
  public func fetchRequestTemplateVariables(forName name: String) -> [String: FetchVariableType]? {
    templateRequests[name]?.variables
  }
}
