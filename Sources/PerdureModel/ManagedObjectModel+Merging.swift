import PerdurePredicates

extension ManagedObjectModel {
  /// Merges several models into one. Use the merged model if several parts of a program describe
  /// entities for a common store.
  ///
  /// An entity in several models must be described in the same way, and is in the result once. The
  /// order of its properties must be the same too, because accessors depend on it. A configuration
  /// in several models contains the entities of all of them. A template in several models must be
  /// the same in all of them, and is in the result once. Each model must be valid alone, so no
  /// relationship can have its destination in another model.
  ///
  /// - Throws: `ModelError` `invalidModel`. The error lists every difference if two models describe
  ///   an entity differently. It lists every broken rule if the result is not a valid model.
  /// - Complexity: O(p) for p properties of all models.
  public convenience init(merging models: [ManagedObjectModel]) throws(ModelError) {
    var entities: [EntityDescription] = []
    var positions: [String: Int] = [:]
    var comparison = ModelComparison()
    for entity in models.flatMap(\.entities) {
      if let position = positions[entity.name] {
        comparison.compare(entities[position], entity)
      } else {
        positions[entity.name] = entities.count
        entities.append(entity)
      }
    }
    let differing = Set(comparison.differences.map(\.entity)).sorted()
    if !differing.isEmpty {
      throw ModelError(
        .invalidModel,
        "The models describe \(differing.joined(separator: ", ")) differently. Describe an entity once, or rename it.",
        differences: comparison.differences)
    }
    var configurations: [String: [String]] = [:]
    for model in models { configurations.merge(model.entityNamesByConfiguration) { $0 + $1 } }
    var templates: [FetchRequestTemplate] = []
    for template in models.flatMap(\.fetchRequestTemplates) where !templates.contains(template) {
      templates.append(template)
    }
    try self.init(
      entities, configurations: configurations,
      versionIdentifiers: models.reduce(into: []) { $0.formUnion($1.versionIdentifiers) },
      templates: templates)
  }

  /// The message for a configuration that the model does not have. The message lists the existing
  /// names.
  package func lack(ofConfiguration name: String) -> String {
    let known = configurations.map { "\"\($0)\"" }.joined(separator: ", ")
    return "The model has no configuration \"\(name)\". It has \(known.isEmpty ? "none" : known)."
      + NearMisses.question(name, in: configurations)
  }

  /// The model of a store that is opened with a configuration. It contains only the configuration's
  /// entities.
  ///
  /// - Throws: `ModelError` `invalidModel` if the configuration does not exist, or the destination
  ///   of a relationship is outside of it.
  package func restricted(toConfiguration name: String) throws(ModelError) -> ManagedObjectModel {
    guard let entities = entities(forConfigurationName: name) else {
      throw ModelError(.invalidModel, lack(ofConfiguration: name))
    }
    let crossing = warnings.filter { warning in
      warning.rule == .configurationSplitsRelationship && entities.contains { $0.name == warning.entity }
        && isCrossing(warning, entities)
    }
    if !crossing.isEmpty {
      throw ModelError(
        .invalidModel,
        "A store cannot be opened with the configuration \"\(name)\": relationships lead out of it.",
        problems: crossing)
    }
    let names = Set(entities.map(\.name))
    return try ManagedObjectModel(
      entities, configurations: [name: entities.map(\.name)], versionIdentifiers: versionIdentifiers,
      templates: fetchRequestTemplates.filter { names.contains($0.request.entityName) },
      isStored: false, isPart: true)
  }

  /// Whether a warning is about a relationship that leaves `entities`. Warnings do not name their
  /// configuration.
  private func isCrossing(_ warning: ModelProblem, _ entities: [EntityDescription]) -> Bool {
    let relationship = entitiesByName[warning.entity]?.relationships.first { $0.name == warning.property }
    return !entities.contains { $0.name == relationship?.destinationEntityName }
  }
}
