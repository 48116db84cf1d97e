// Converts a model to the boxes and lines of a diagram.

package import PerdureModel

extension ModelDiagram {
  /// Makes the diagram of the part of `model` that `options` select. Names that the model does not
  /// have are skipped.
  ///
  /// The result does not depend on the order in which the model declares its entities.
  package init(of model: ManagedObjectModel, _ options: DiagramOptions = DiagramOptions()) {
    let names = Self.names(in: model, options)
    let entities = names.sorted().compactMap { model.entitiesByName[$0] }
    boxes = entities.map { Self.box(of: $0, names, options.attributes) }
    edges = []
    let positions = Dictionary(uniqueKeysWithValues: boxes.enumerated().map { ($1.name, $0) })
    for (position, entity) in entities.enumerated() {
      if let above = entity.superentityName.flatMap({ positions[$0] }) {
        edges.append(Self.inheritance(of: position, from: above))
      }
      for relationship in entity.relationships.sorted(by: { $0.name < $1.name }) {
        if let edge = edge(for: relationship, of: position, positions, model) { edges.append(edge) }
      }
    }
  }

  /// The names of the entities in the diagram.
  private static func names(in model: ManagedObjectModel, _ options: DiagramOptions) -> Set<String> {
    let all = Set(model.entities.map(\.name))
    if options.entities.isEmpty { return all }
    let neighbours = neighbours(in: model)
    var names = all.intersection(options.entities)
    var frontier = names
    var depth = 0
    while !frontier.isEmpty, depth < options.depth ?? .max {
      frontier = Set(frontier.flatMap { neighbours[$0] ?? [] }).subtracting(names)
      names.formUnion(frontier)
      depth += 1
    }
    return names
  }

  /// For each entity, the entities that a line joins to it.
  private static func neighbours(in model: ManagedObjectModel) -> [String: Set<String>] {
    var neighbours: [String: Set<String>] = [:]
    for entity in model.entities {
      let others =
        entity.relationships.map(\.destinationEntityName) + [entity.superentityName].compactMap(\.self)
      for other in others {
        neighbours[entity.name, default: []].insert(other)
        neighbours[other, default: []].insert(entity.name)
      }
    }
    return neighbours
  }

  private static func box(
    of entity: EntityDescription, _ shown: Set<String>, _ attributes: DiagramOptions.Attributes
  ) -> Box {
    let keys = Set(entity.uniquenessConstraints.joined())
    let properties = entity.slotted
    let attributeRows = properties.compactMap { property -> Row? in
      guard case .attribute(let attribute) = property else { return nil }
      let isKey = keys.contains(attribute.name)
      return attributes == .all || attributes == .keys && isKey ? row(attribute, isKey) : nil
    }
    let relationshipRows = properties.compactMap { property -> Row? in
      if case .relationship(let relationship) = property { row(relationship) } else { nil }
    }
    return Box(
      name: entity.name, isAbstract: entity.isAbstract,
      hiddenSuperentity: entity.superentityName.flatMap { shown.contains($0) ? nil : $0 },
      rows: attributeRows + relationshipRows)
  }

  private static func row(_ attribute: AttributeDescription, _ isKey: Bool) -> Row {
    let words = [attribute.isTransient ? "transient" : nil, attribute.derivation == nil ? nil : "derived"]
    let type = "\(attribute.type)" + (attribute.isOptional ? "?" : "")
    return Row(
      name: attribute.name, detail: ([type] + words.compactMap(\.self)).joined(separator: " "), isKey: isKey,
      isUnstored: attribute.isTransient || attribute.isComputed)
  }

  private static func row(_ relationship: RelationshipDescription) -> Row {
    let name = relationship.destinationEntityName
    let type = relationship.isToMany ? "[\(name)]" : name + (relationship.isOptional ? "?" : "")
    let words = [
      range(of: relationship), relationship.isOrdered ? "ordered" : nil,
      relationship.isTransient ? "transient" : nil, word(for: relationship.deleteRule),
    ]
    return Row(
      name: relationship.name, detail: ([type] + words.compactMap(\.self)).joined(separator: " "),
      isRelationship: true, isUnstored: relationship.isTransient)
  }

  /// The count limits of a to-many relationship, such as "2…5" or "1…"; nil if there are none.
  private static func range(of relationship: RelationshipDescription) -> String? {
    guard relationship.isToMany else { return nil }
    let least = max(relationship.minCount, relationship.isOptional ? 0 : 1)
    if least == 0 && relationship.maxCount == 0 { return nil }
    return "\(least)…" + (relationship.maxCount == 0 ? "" : "\(relationship.maxCount)")
  }

  /// The words for a delete rule. Nullify has none, because it is the usual rule.
  private static func word(for rule: DeleteRule) -> String? {
    switch rule {
    case .nullify: nil
    case .cascade: "cascade"
    case .deny: "deny"
    case .noAction: "no action"
    }
  }
}

extension ModelDiagram {
  private static func inheritance(of entity: Int, from above: Int) -> Edge {
    Edge(
      kind: .inheritance, from: End(port: Port(box: entity), head: .none),
      to: End(port: Port(box: above), head: .none))
  }

  /// The line for a relationship. Nil if the destination has no box, or if the line of the inverse
  /// includes this relationship.
  private func edge(
    for relationship: RelationshipDescription, of position: Int, _ positions: [String: Int],
    _ model: ManagedObjectModel
  ) -> Edge? {
    guard let other = positions[relationship.destinationEntityName] else { return nil }
    let inverse = relationship.inverseName.flatMap { name in
      model.entitiesByName[relationship.destinationEntityName]?.relationships.first { $0.name == name }
    }
    if let inverse, (boxes[other].name, inverse.name) < (boxes[position].name, relationship.name) {
      return nil
    }
    let isOwnInverse = other == position && inverse?.name == relationship.name
    let from = Port(box: position, row: row(named: relationship.name, in: position))
    let to = Port(box: other, row: inverse.flatMap { row(named: $0.name, in: other) })
    return Edge(
      kind: .relationship(
        isTransient: relationship.isTransient,
        cascades: Self.cascades(relationship, isOwnInverse ? nil : inverse)),
      from: End(port: from, head: inverse.map { $0.isToMany ? .many : .one } ?? .none),
      to: End(port: to, head: relationship.isToMany ? .many : .one))
  }

  private func row(named name: String, in box: Int) -> Int? {
    boxes[box].rows.firstIndex { $0.isRelationship && $0.name == name }
  }

  private static func cascades(
    _ relationship: RelationshipDescription, _ inverse: RelationshipDescription?
  ) -> Cascades {
    switch (relationship.deleteRule == .cascade, inverse?.deleteRule == .cascade) {
    case (true, true): .both
    case (true, false): .to
    case (false, true): .from
    case (false, false): .neither
    }
  }
}
