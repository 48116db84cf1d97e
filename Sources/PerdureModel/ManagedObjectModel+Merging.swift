import PerdurePredicates

extension ManagedObjectModel {
  /// Puts models together: what parts of a program describe for themselves, in one store.
  ///
  /// An entity that several of them have, and describe in the same way, is in the result once; the
  /// order of properties counts, as accessors go by it. A configuration that several of them have
  /// has the entities of all. Nothing else is joined: a relationship to an entity of another model
  /// is valid in neither of the two, and so not here.
  ///
  /// - Throws: `ModelError` `invalidModel`, with every difference, when two models describe an
  ///   entity differently; with every broken rule when the result is no valid model.
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
    try self.init(
      entities, configurations: configurations,
      versionIdentifiers: models.reduce(into: []) { $0.formUnion($1.versionIdentifiers) })
  }

  /// That the model has not a configuration, and which it has, in words.
  package func lack(ofConfiguration name: String) -> String {
    let known = configurations.map { "\"\($0)\"" }.joined(separator: ", ")
    return "The model has no configuration \"\(name)\". It has \(known.isEmpty ? "none" : known)."
      + NearMisses.question(name, in: configurations)
  }

  /// The model of a store that is opened with a configuration: its entities and no others.
  ///
  /// - Throws: `ModelError` `invalidModel` when there is no such configuration, or a relationship
  ///   leads out of it.
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
    return try ManagedObjectModel(
      entities, configurations: [name: entities.map(\.name)], versionIdentifiers: versionIdentifiers)
  }

  /// Warnings do not name their configuration.
  private func isCrossing(_ warning: ModelProblem, _ entities: [EntityDescription]) -> Bool {
    let relationship = entitiesByName[warning.entity]?.relationships.first { $0.name == warning.property }
    return !entities.contains { $0.name == relationship?.destinationEntityName }
  }
}
