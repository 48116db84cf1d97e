// Checks derived attributes. Each depends on at most one other attribute, so the derivations form
// chains. `CycleSearch` finds cycles, as for superentities.

extension ModelValidation {
  /// An attribute, identified by the declaring entity and its name.
  private struct Place: Hashable {
    let entity: Int
    let name: String
  }

  /// The target of a derivation.
  private struct End {
    let place: Place
    let attribute: AttributeDescription
    /// The first optional property on the path. If it is not nil, the derived attribute must be
    /// optional.
    let optional: String?
  }

  mutating func checkDerivations() {
    var places: [Place: Int] = [:]
    var derived: [(place: Place, end: Place?, length: Int)] = []
    for (index, entity) in entities.enumerated() {
      for attribute in entity.attributes where attribute.derivation != nil {
        let end = checkDerivation(of: attribute, in: index)
        let place = Place(entity: index, name: attribute.name)
        if places.updateValue(derived.count, forKey: place) == nil {
          derived.append((place, end?.place, end?.length ?? 0))
        }
      }
    }
    let next = derived.map { $0.end.flatMap { places[$0] } }
    let isCyclic = CycleSearch.membersOfCycles(next)
    for (position, found) in derived.enumerated() where isCyclic[position] {
      error(
        .derivation, entities[found.place.entity].name, found.place.name,
        "The attribute is derived from itself, directly or through others.",
        "Derive one of these attributes from another one.")
    }
    checkLengths(derived.map(\.length), next, isCyclic, derived.map(\.place))
  }

  private mutating func checkLengths(_ lengths: [Int], _ next: [Int?], _ isCyclic: [Bool], _ places: [Place])
  {
    for start in lengths.indices {
      var total = 0
      var current: Int? = start
      while let position = current, !isCyclic[position], total <= ModelLimits.derivationLength {
        total += lengths[position]
        current = next[position]
      }
      guard total > ModelLimits.derivationLength else { continue }
      error(
        .derivation, entities[places[start].entity].name, places[start].name,
        "The derivation has more than \(ModelLimits.derivationLength) steps.",
        "Shorten the path.")
    }
  }

  /// - Returns: The attribute at the end of the derivation and the number of names in the path; nil
  ///   if the derivation does not end at an attribute, or its path cannot be followed.
  private mutating func checkDerivation(
    of attribute: AttributeDescription, in index: Int
  ) -> (place: Place, length: Int)? {
    let entity = entities[index].name
    func note(_ flaw: Derivation.Flaw) {
      error(.derivation, entity, attribute.name, flaw.message, flaw.remedy)
    }
    if attribute.isTransient {
      note(
        .init(
          "A derived attribute is transient.",
          "Make it either derived or transient."))
    }
    if attribute.defaultValue != nil {
      note(
        .init(
          "A derived attribute has a default value.", "Remove the default: the value follows from others."))
    }
    do throws(Derivation.Flaw) {
      let derivation = try Derivation(attribute.derivation ?? "")
      if case .saveTime = derivation.form, attribute.type != .date {
        note(.init("The time of a save is a date, not \(attribute.type).", "Make the attribute date."))
      }
      guard let end = try end(of: derivation, in: index) else {
        if case .count = derivation.form, !attribute.type.isInteger {
          note(.init("A count is a whole number, not \(attribute.type).", "Make the attribute int64."))
        }
        return nil
      }
      if let flaw = Self.typeFlaw(attribute.type, derivation, end.attribute.type) { note(flaw) }
      if let flaw = transformerFlaw(attribute, derivation, end.attribute) { note(flaw) }
      if let optional = end.optional, !attribute.isOptional {
        note(
          .init(
            "The attribute always has a value, but it follows from \(optional), which may have none.",
            "Make the attribute optional, or make \(optional) required."))
      }
      return (end.place, derivation.names.count)
    } catch {
      note(error)
      return nil
    }
  }

  /// Follows a derivation. Returns nil if the derivation does not end at an attribute, or if
  /// another check reports an error in the path.
  private func end(of derivation: Derivation, in index: Int) throws(Derivation.Flaw) -> End? {
    switch derivation.form {
    case .saveTime: return nil
    case .count(let name):
      _ = try toMany(name, in: index)
      return nil
    case .sum(let name, let attribute):
      guard let destination = indicesByName[try toMany(name, in: index).destinationEntityName] else {
        return nil
      }
      let end = try self.attribute(attribute, in: destination)
      return End(place: end.place, attribute: end.attribute, optional: nil)
    case .value(let names), .text(_, let names):
      return try end(of: names, in: index)
    }
  }

  private func end(of names: [String], in index: Int) throws(Derivation.Flaw) -> End? {
    var here = index
    var optional: String?
    var names = names[...]
    while names.count > 1, let name = names.first {
      // The names after a composite are the rest of the path of one of its leaves.
      if case .composite? = visible[here][name]?.property {
        names = [names.joined(separator: ".")]
        continue
      }
      names.removeFirst()
      let relationship = try toOne(name, in: here)
      if relationship.isOptional, optional == nil { optional = "\(entities[here].name).\(name)" }
      guard let next = indicesByName[relationship.destinationEntityName] else { return nil }
      here = next
    }
    let end = try attribute(names.last ?? "", in: here)
    if optional == nil, let name = optionalPart(of: end.attribute.name, in: here) {
      optional = "\(entities[here].name).\(name)"
    }
    return End(place: end.place, attribute: end.attribute, optional: optional)
  }

  /// The outermost optional part of an attribute: a composite that contains it, or the attribute
  /// itself.
  private func optionalPart(of path: String, in index: Int) -> String? {
    let names = path.split(separator: ".")
    let parts = names.indices.map { names[...$0].joined(separator: ".") }
    return parts.first { part(at: $0, in: index)?.isOptional == true }
  }

  /// The property at a path: a property, a composite inside other composites, or a leaf.
  private func part(at path: String, in index: Int) -> PropertyDescription? {
    let names = path.split(separator: ".").map(String.init)
    return names.dropFirst().reduce(names.first.flatMap { visible[index][$0]?.property }) { outer, name in
      guard case .composite(let composite)? = outer else { return nil }
      return composite.elements.first { $0.name == name }
    }
  }

  // MARK: Steps

  private func property(_ name: String, in index: Int) throws(Derivation.Flaw) -> VisibleProperty {
    if let found = visible[index][name] { return found }
    throw .init(
      "\(entities[index].name) has no property \"\(name)\".",
      "Correct the name, or declare the property.\(question(name, in: visible[index].keys))")
  }

  private func toMany(_ name: String, in index: Int) throws(Derivation.Flaw) -> RelationshipDescription {
    if case .relationship(let relationship) = try property(name, in: index).property, relationship.isToMany {
      return try stored(relationship, "\(entities[index].name).\(name)")
    }
    throw .init(
      "\(entities[index].name).\(name) is not a to-many relationship, so there are no objects to count or add up.",
      "Correct the name, or remove the operator.")
  }

  private func toOne(_ name: String, in index: Int) throws(Derivation.Flaw) -> RelationshipDescription {
    let place = "\(entities[index].name).\(name)"
    guard case .relationship(let relationship) = try property(name, in: index).property else {
      throw .init("\(place) is an attribute, which has no properties.", "End the path there.")
    }
    if !relationship.isToMany { return try stored(relationship, place) }
    throw .init(
      "\(place) leads to many objects, but a derived attribute has one value.",
      "Make a count or a sum of it: \(name).@count.")
  }

  private func stored(
    _ relationship: RelationshipDescription, _ place: String
  ) throws(Derivation.Flaw) -> RelationshipDescription {
    if !relationship.isTransient { return relationship }
    throw .init("\(place) is transient, so no store has it.", "Store it, or name another relationship.")
  }

  private func attribute(
    _ name: String, in index: Int
  ) throws(Derivation.Flaw) -> (place: Place, attribute: AttributeDescription) {
    let place = "\(entities[index].name).\(name)"
    if case .composite? = part(at: name, in: index) {
      throw .init("\(place) is a composite attribute and has no single value.", "Name one of its attributes.")
    }
    let found = try property(name, in: index)
    guard case .attribute(let attribute) = found.property else {
      throw .init("\(place) is a relationship and has no value.", "Append an attribute, or .@count.")
    }
    if attribute.isTransient {
      throw .init("\(place) is transient, so no store has it.", "Store it, or name another attribute.")
    }
    return (Place(entity: found.declaringEntity, name: name), attribute)
  }

  // MARK: Types

  /// The error if a copy and its source have different value transformers: the copy's transformer
  /// could not read the source's bytes. Stored models are not checked, because rows contain no
  /// copies.
  private func transformerFlaw(
    _ copy: AttributeDescription, _ derivation: Derivation, _ source: AttributeDescription
  ) -> Derivation.Flaw? {
    guard !isStored, case .value = derivation.form, copy.type == .transformable,
      source.type == .transformable, copy.valueTransformerName != source.valueTransformerName
    else { return nil }
    func words(_ name: String?) -> String { name.map { "by \"\($0)\"" } ?? "without a name" }
    return .init(
      "The attribute is transformed \(words(copy.valueTransformerName)), but its source "
        + "\(words(source.valueTransformerName)).", "Name the same value transformer for both, or none.")
  }

  /// The error in the type of a derived attribute, given the type of its source.
  private static func typeFlaw(
    _ type: AttributeType, _ derivation: Derivation, _ source: AttributeType
  ) -> Derivation.Flaw? {
    switch derivation.form {
    case .saveTime, .count: return nil
    case .value:
      if type == source { return nil }
      return .init("The attribute is \(type), but its source is \(source).", "Make it \(source).")
    case .text:
      if source != .string {
        return .init("The function needs text, not \(source).", "Name an attribute with text.")
      }
      return type == .string ? nil : .init("Text cannot be \(type).", "Make the attribute string.")
    case .sum:
      switch source {
      case .int16, .int32, .int64:
        return type.isInteger || type == .decimal
          ? nil : .init("A sum of whole numbers cannot be \(type).", "Make the attribute int64 or decimal.")
      case .float, .double:
        return type == .double
          ? nil : .init("A sum of \(source) cannot be \(type).", "Make the attribute double.")
      case .decimal:
        return type == .decimal
          ? nil : .init("A sum of decimal cannot be \(type).", "Make the attribute decimal.")
      default:
        return .init("Values of type \(source) have no sum.", "Name an attribute with numbers.")
      }
    }
  }
}
