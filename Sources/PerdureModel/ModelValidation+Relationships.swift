extension ModelValidation {
  mutating func checkRelationships() {
    for (index, entity) in entities.enumerated() {
      for relationship in entity.relationships {
        checkCounts(relationship, entity.name)
        if relationship.isOrdered, !relationship.isToMany {
          error(
            .orderedToOne, entity.name, relationship.name,
            "The relationship leads to one object, but is ordered.",
            "Remove the order, or make it to-many.")
        }
        if relationship.isOrdered, relationship.isTransient {
          error(
            .transientRelationship, entity.name, relationship.name,
            "The relationship is transient and ordered. Only stores keep an order.",
            "Remove the order, or store the relationship.")
        }
        guard let destination = indicesByName[relationship.destinationEntityName] else {
          error(
            .unknownDestination, entity.name, relationship.name,
            "The destination \"\(relationship.destinationEntityName)\" is not in the model.",
            "Add the entity, or correct the name."
              + question(relationship.destinationEntityName, in: indicesByName.keys))
          continue
        }
        checkInverse(relationship, of: index, destination: destination)
      }
    }
  }

  private mutating func checkCounts(_ relationship: RelationshipDescription, _ entity: String) {
    let (least, most) = (relationship.minCount, relationship.maxCount)
    if least < 0 || most < 0 || (most > 0 && least > most) || least > Int(Int32.max) || most > Int(Int32.max)
    {
      error(
        .countRange, entity, relationship.name, "The limits of \(least) to \(most) objects are impossible.",
        "Use 0 <= minCount <= maxCount, or maxCount 0 for no limit.")
    }
  }

  private mutating func warnOfMissingInverse(_ relationship: RelationshipDescription, _ entity: String) {
    warn(
      .noInverse, entity, relationship.name, "The relationship has no inverse.",
      "Add one in \"\(relationship.destinationEntityName)\". Without it, objects at the other end cannot follow the "
        + "relationship back, and deleting them only removes the links.")
    guard !relationship.isOptional, !relationship.isToMany else { return }
    warn(
      .nullifiedRequired, entity, relationship.name,
      "Deleting a \"\(relationship.destinationEntityName)\" leaves the required relationship empty, and the "
        + "save fails.",
      "Add an inverse that cascades or denies, or make \"\(relationship.name)\" optional.")
  }

  private mutating func checkInverse(
    _ relationship: RelationshipDescription, of index: Int, destination: Int
  ) {
    let entity = entities[index].name
    guard let inverseName = relationship.inverseName else {
      return warnOfMissingInverse(relationship, entity)
    }
    guard let found = visible[destination][inverseName], case .relationship(let inverse) = found.property
    else {
      error(
        .unknownInverse, entity, relationship.name,
        "\"\(relationship.destinationEntityName)\" has no relationship \"\(inverseName)\".",
        "Declare it there with inverse \"\(relationship.name)\"."
          + question(inverseName, in: relationshipNames(visibleIn: destination)))
      return
    }
    let owner = entities[found.declaringEntity].name
    if found.declaringEntity != destination {
      error(
        .inverseMismatch, entity, relationship.name,
        "The inverse \"\(inverseName)\" is declared by \"\(owner)\", so any object of \"\(owner)\" can have it.",
        "Make \"\(owner)\" the destination.")
    } else if inverse.inverseName != relationship.name || inverse.destinationEntityName != entity {
      error(
        .inverseMismatch, entity, relationship.name,
        "The inverse \(owner).\(inverseName) leads to \(place(inverse)), not back to "
          + "\(entity).\(relationship.name).",
        "Name each of the two as the inverse of the other.")
    } else if inverse.isTransient != relationship.isTransient {
      error(
        .transientRelationship, entity, relationship.name,
        "The relationship is \(relationship.isTransient ? "transient" : "stored"), but its inverse "
          + "\(owner).\(inverseName) is \(inverse.isTransient ? "transient" : "stored").",
        "Make both transient, or neither.")
    } else if inverse.deleteRule == .nullify, !relationship.isOptional, !relationship.isToMany {
      warn(
        .nullifiedRequired, owner, inverseName,
        "Deleting leaves the required \(entity).\(relationship.name) empty, and the save fails.",
        "Cascade or deny, or make \"\(relationship.name)\" optional.")
    }
  }

  private func relationshipNames(visibleIn entity: Int) -> [String] {
    visible[entity].filter { if case .relationship = $0.value.property { true } else { false } }.map(\.key)
  }

  private func place(_ relationship: RelationshipDescription) -> String {
    guard let inverse = relationship.inverseName else { return "no inverse" }
    return "\(relationship.destinationEntityName).\(inverse)"
  }
}
