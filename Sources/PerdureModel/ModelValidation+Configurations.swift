extension ModelValidation {
  /// Checks the configurations. A configuration must contain all entities of a hierarchy or none.
  /// Otherwise a fetch of a superentity could miss objects of its subentities, or a store could
  /// contain an entity without its superentity.
  mutating func checkConfigurations() {
    for (name, members) in configurations.sorted(by: { $0.key < $1.key }) {
      if !Self.isIdentifier(name) {
        error(
          .configuration, name, nil, "\"\(name)\" is not a valid name of a configuration.",
          "Use letters, digits and underscores.")
      }
      let unknown = members.filter { indicesByName[$0] == nil }
      for entity in unknown {
        error(
          .configuration, entity, nil,
          "The configuration \"\(name)\" names an entity that is not in the model.",
          "Add it, or correct the name.\(question(entity, in: indicesByName.keys))")
      }
      checkHierarchies(of: name, Set(members.compactMap { indicesByName[$0] }))
    }
  }

  private mutating func checkHierarchies(of name: String, _ members: Set<Int>) {
    for (index, entity) in entities.enumerated() {
      if let parent = parents[index], members.contains(index) != members.contains(parent) {
        error(
          .configuration, entity.name, nil,
          "The configuration \"\(name)\" has only one of \"\(entity.name)\" and its superentity "
            + "\"\(entities[parent].name)\".",
          "Put the whole hierarchy into the configuration, or none of it.")
      }
      guard members.contains(index) else { continue }
      for relationship in entity.relationships {
        guard let destination = indicesByName[relationship.destinationEntityName],
          !members.contains(destination)
        else { continue }
        warn(
          .configurationSplitsRelationship, entity.name, relationship.name,
          "The relationship leads out of the configuration \"\(name)\", so no store can be opened with this configuration.",
          "Put \"\(relationship.destinationEntityName)\" into the configuration too.")
      }
    }
  }
}
