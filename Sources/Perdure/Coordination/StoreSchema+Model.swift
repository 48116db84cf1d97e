// Computes the schema of a store from its stored model: the columns, the indexes and the layouts.

package import PerdureModel
internal import PerdurePredicates

extension TextFunction {
  /// The letter of the function in the name of an index. The number of the property follows it.
  fileprivate var mark: String {
    switch self {
    case .canonical: "c"
    case .lowercase: "l"
    case .uppercase: "u"
    }
  }
}

extension StoreSchema {
  /// Computes the schema of a store with this model. Equal stored models give equal schemas. Entity
  /// numbers, slots and property numbers are those of the model.
  package init(_ model: StoredModel) {
    var builder = StoreSchemaBuilder(model)
    self = builder.schema()
  }
}

private struct StoreSchemaBuilder {
  let model: StoredModel
  let schemas: [EntitySchema]
  var indexes: [IndexDefinition] = []
  var positions: [String: StoreIndex] = [:]

  init(_ model: StoredModel) {
    self.model = model
    self.schemas = model.model.schemas
  }

  mutating func schema() -> StoreSchema {
    for entity in schemas { addRelationshipIndexes(entity) }
    for entity in schemas { addAttributeIndexes(entity) }
    for entity in schemas { addIndexesOfCopies(entity) }
    let entities = schemas.map { storage($0) }
    return StoreSchema(entities: entities, indexes: indexes).foldingConditions()
  }

  // MARK: Numbers

  private func number(_ entity: EntitySchema, _ slot: Int) -> UInt32 {
    model.propertyNumber(atSlot: slot, ofEntityAt: entity.index)
  }

  private func number(_ endpoint: PropertySchema.Endpoint) -> UInt32 {
    model.propertyNumber(atSlot: endpoint.slot, ofEntityAt: endpoint.entity)
  }

  private func concrete(_ entity: EntitySchema) -> [UInt16] {
    ([entity.index] + entity.subentities).filter { !schemas[$0].isAbstract }
      .map { model.entityNumber(at: $0) }.sorted()
  }

  // MARK: Indexes

  private mutating func add(
    _ name: String, _ kind: IndexDefinition.Kind, _ entity: EntitySchema,
    where condition: IndexCondition? = nil
  ) {
    let name = name + (condition?.suffix ?? "")
    guard positions[name] == nil else { return }
    positions[name] = StoreIndex(rawValue: indexes.count)
    indexes.append(
      IndexDefinition(
        name: name, kind: kind, entities: concrete(entity), condition: condition,
        standIns: standIns(kind, condition, entity)))
  }

  /// The stand-ins of an index. If the layout of an older row lacks a column of the index, a read
  /// of this column returns its stand-in. Stand-ins never change. They are a part of the
  /// definition: a program with other stand-ins does not find this index, and makes its own.
  private func standIns(
    _ kind: IndexDefinition.Kind, _ condition: IndexCondition?, _ entity: EntitySchema
  ) -> [String] {
    var properties: Set<UInt32> = []
    if case .attribute(let components) = kind { properties.formUnion(components.map(\.property)) }
    if case .unique(let components) = kind { properties.formUnion(components.map(\.property)) }
    if case .sums(_, let attribute, _) = kind { properties.insert(attribute) }
    condition?.predicate.forEachExpression { expression in
      guard case .keyPath(let path) = expression,
        let slot = entity.slot(named: path.names.joined(separator: "."))
      else { return }
      properties.insert(number(entity, slot))
    }
    let fed = concrete(entity)
    return entity.properties.compactMap { property in
      let number = number(entity, property.slot)
      guard properties.contains(number), let value = model.standIn(ofProperty: number)?.value, !value.isNull,
        model.layouts.contains(where: {
          fed.contains($0.entityNumber) && !$0.propertyNumbers.contains(number)
        })
      else { return nil }
      return "p\(number) = \(FetchExpression.constant(value))"
    }
  }

  private mutating func addRelationshipIndexes(_ entity: EntitySchema) {
    for property in entity.properties
    where property.declaringEntity == entity.index && !property.isTransient {
      let number = number(entity, property.slot)
      if isColumn(property, of: entity), property.isRelationship {
        add("rel/\(number)", .relation(property: number), entity)
      } else if property.linkStorage == .links, isFirstEnd(property, number) {
        add("link/\(number)", .links(property: number), entity)
        if !isOwnInverse(property, number), let links = positions["link/\(number)"] {
          add("linkrev/\(number)", .linksReversed(property: number, links: links), entity)
        }
      }
      if property.isOrdered { addOrder(number, entity) }
    }
  }

  private mutating func addOrder(_ number: UInt32, _ entity: EntitySchema) {
    add("order/\(number)", .orders(property: number), entity)
    add("ordered/\(number)", .ordered(property: number, orders: position("order/\(number)")), entity)
  }

  /// Adds the indexes that the model declares. A derived count or sum that is the only element of
  /// an index has its own kind of index. Skips any other index with an element that is not in rows:
  /// no sort order uses such an index.
  private mutating func addAttributeIndexes(_ entity: EntitySchema) {
    for index in entity.indexes
    where index.declaringEntity == entity.index && !isInherited(index, by: entity) {
      let properties = index.slots.map { entity.properties[$0] }
      let sources = properties.map { source(of: $0, entity) }
      if let counted = properties.first?.countedSlot, properties.count == 1 {
        addCountOrder(entity, derived: properties[0], counted: counted)
      } else if properties.count == 1, index.predicate == nil, let sums = sums(entity, properties[0]) {
        add(sums.name, sums.kind, sums.members)
      } else if sources.allSatisfy({ isColumn($0.property, of: entity) }) {
        let components = sources.indices.map {
          component(
            entity, sources[$0].property, function: index.functions[$0] ?? sources[$0].function,
            isDescending: !index.isAscending[$0])
        }
        let condition = index.predicate.map { predicate in
          IndexCondition(predicate) { name in entity.slot(named: name).map { number(entity, $0) } }
        }
        let name = "attr/\(list(components))\(scope(index.slots, entity))"
        add(name, .attribute(components), entity, where: condition)
      }
    }
    for constraint in entity.uniquenessConstraints
    where constraint.declaringEntity == entity.index && !isInherited(constraint, by: entity) {
      let components = constraint.slots.map {
        component(entity, entity.properties[$0], function: nil, isDescending: false)
      }
      add("uniq/\(list(components))\(scope(constraint.slots, entity))", .unique(components), entity)
    }
  }

  /// The index of sums for a derived attribute; nil if there is none. The summed attribute must be
  /// stored, and the rows of the members must contain the owner.
  private func sums(
    _ entity: EntitySchema, _ property: PropertySchema
  ) -> (name: String, kind: IndexDefinition.Kind, members: EntitySchema)? {
    guard let derivation = property.derivation, case .sum = derivation.form else { return nil }
    let steps = steps(along: derivation, entity)
    guard steps[0].linkStorage == .inverseReference, let inverse = steps[0].inverse,
      let type = steps[1].attributeType, type.isSummed, !steps[1].isDerived, !steps[1].isTransient
    else { return nil }
    let column = schemas[inverse.entity].properties[inverse.slot]
    // Every row with the column must have the attribute.
    let members = schemas[column.declaringEntity]
    guard members.isKind(of: steps[1].declaringEntity) else { return nil }
    let relation = number(members, column.slot)
    let attribute = number(members, steps[1].slot)
    let isReal = type == .double || type == .float
    return (
      "sums/\(relation),\(attribute)", .sums(relation: relation, attribute: attribute, isReal: isReal),
      members
    )
  }

  /// For each index on a copy (DS2 in DerivedStorage.swift), adds an index on the attribute at the
  /// end of the copy's path. A fetch uses this index and the indexes of the relationships. The
  /// added index contains all objects with the attribute, like an index that the model declares on
  /// the attribute.
  private mutating func addIndexesOfCopies(_ entity: EntitySchema) {
    for index in entity.indexes
    where index.declaringEntity == entity.index && index.slots.count == 1 && index.predicate == nil {
      var end = (entity: entity, property: entity.properties[index.slots[0]])
      guard end.property.isDerived else { continue }
      while let derivation = end.property.derivation, case .value = derivation.form {
        for step in steps(along: derivation, end.entity) {
          end.property = step
          if let next = step.destination { end.entity = schemas[next] }
        }
      }
      if end.property.isDerived { continue }
      let component = component(end.entity, end.property, function: nil, isDescending: false)
      add("attr/\(list([component]))", .attribute([component]), schemas[end.property.declaringEntity])
    }
  }

  /// The column of an element of an index. For a derived attribute that is a function of a text
  /// attribute of the same object, returns this attribute and the function.
  private func source(
    of property: PropertySchema, _ entity: EntitySchema
  ) -> (property: PropertySchema, function: TextFunction?) {
    guard let derivation = property.derivation, case .text(let function, _) = derivation.form else {
      return (property, nil)
    }
    let steps = steps(along: derivation, entity)
    guard steps.count == 1, steps[0].attributeType == .string else { return (property, nil) }
    return (steps[0], TextFunction(rawValue: function.rawValue + ":"))
  }

  /// Whether a parent entity declares the same index, for all of its objects.
  private func isInherited(_ index: EntitySchema.Index, by entity: EntitySchema) -> Bool {
    entity.indexes.contains {
      $0.declaringEntity != index.declaringEntity && $0.slots == index.slots
        && $0.functions == index.functions && $0.isAscending == index.isAscending
        && $0.predicate == index.predicate
    }
  }

  private func isInherited(
    _ constraint: EntitySchema.UniquenessConstraint, by entity: EntitySchema
  ) -> Bool {
    entity.uniquenessConstraints.contains {
      $0.declaringEntity != constraint.declaringEntity && $0.slots == constraint.slots
    }
  }

  /// A suffix for the name of an index. If all its properties are inherited, several entities may
  /// declare such an index, each for its own objects. So the suffix names the entity. Otherwise,
  /// only one entity can declare the index, and the suffix is empty.
  private func scope(_ slots: [Int], _ entity: EntitySchema) -> String {
    if slots.contains(where: { entity.properties[$0].declaringEntity == entity.index }) { return "" }
    return "@\(model.entityNumber(at: entity.index))"
  }

  private mutating func addCountOrder(_ entity: EntitySchema, derived: PropertySchema, counted: Int) {
    guard case .inverse(_, let index, _, _) = form(entity.properties[counted], entity) else { return }
    let number = number(entity, derived.slot)
    let name = "count/\(number)\(scope([derived.slot], entity))"
    add(name, .countOrder(property: number, counted: index), entity)
  }

  private func component(
    _ entity: EntitySchema, _ property: PropertySchema, function: TextFunction?, isDescending: Bool
  ) -> IndexComponent {
    IndexComponent(
      property: number(entity, property.slot),
      kind: property.attributeType.map { FieldKind($0) } ?? .reference, function: function,
      isDescending: isDescending)
  }

  private func list(_ components: [IndexComponent]) -> String {
    components.map { component in
      (component.isDescending ? "-" : "") + (component.function?.mark ?? "") + "\(component.property)"
    }.joined(separator: ",")
  }

  // MARK: Entities

  private func isOwnInverse(_ property: PropertySchema, _ number: UInt32) -> Bool {
    property.inverse.map { self.number($0) } == number
  }

  /// Whether the store uses this end of a relationship. Of two ends of the same kind, it uses the
  /// end with the lower number.
  private func isFirstEnd(_ property: PropertySchema, _ number: UInt32) -> Bool {
    property.inverse.map { number <= self.number($0) } ?? true
  }

  /// Whether rows have a column for a property. In a one-to-one relationship, only the first end is
  /// a column.
  private func isColumn(_ property: PropertySchema, of entity: EntitySchema) -> Bool {
    switch property.kind {
    case .attribute: !property.isDerived
    case .toMany: false
    case .toOne: !isOneToOne(property) || isFirstEnd(property, number(entity, property.slot))
    }
  }

  private func isOneToOne(_ property: PropertySchema) -> Bool {
    guard let inverse = property.inverse else { return false }
    return schemas[inverse.entity].properties[inverse.slot].kind == .toOne
  }

  private func form(_ property: PropertySchema, _ entity: EntitySchema) -> PropertyStorage.Form {
    if property.isTransient { return .attribute(.absent) }
    if let counted = property.countedSlot { return .count(ofSlot: counted) }
    if let derivation = property.derivation {
      return .derived(
        DerivedStorage(
          derivation, kind: FieldKind(property.attributeType ?? .undefined),
          steps: steps(along: derivation, entity), sums: sums(entity, property).flatMap { positions[$0.name] }
        ))
    }
    if let type = property.attributeType { return .attribute(FieldKind(type)) }
    let number = number(entity, property.slot)
    guard let destination = property.destination.map({ model.entityNumber(at: $0) }) else {
      preconditionFailure("The relationship \(entity.name).\(property.name) has no destination.")
    }
    if isColumn(property, of: entity) {
      return .toOne(destination: destination, index: position("rel/\(number)"))
    }
    let (index, owners) = inverseIndexes(property, number)
    return .inverse(
      destination: destination, index: index, owners: owners, isToMany: property.kind == .toMany)
  }

  private func order(_ property: PropertySchema, _ entity: EntitySchema) -> OrderIndexes? {
    guard property.isOrdered else { return nil }
    let number = number(entity, property.slot)
    return OrderIndexes(keys: position("order/\(number)"), ordered: position("ordered/\(number)"))
  }

  /// The properties along a checked derivation. Each property belongs to the destination entity of
  /// the one before it.
  private func steps(along derivation: Derivation, _ entity: EntitySchema) -> [PropertySchema] {
    var here = entity
    var names = derivation.names[...]
    var steps: [PropertySchema] = []
    while let name = names.popFirst() {
      // A name without a slot is a composite. The rest of the path names one of its leaves.
      let leaf = here.slot(named: name) == nil ? ([name] + names).joined(separator: ".") : name
      if leaf != name { names = [] }
      guard let step = here.property(named: leaf) else {
        preconditionFailure("\(here.name) has no property \(leaf) to derive from.")
      }
      steps.append(step)
      if let destination = step.destination { here = schemas[destination] }
    }
    return steps
  }

  private func inverseIndexes(
    _ property: PropertySchema, _ number: UInt32
  ) -> (index: StoreIndex, owners: StoreIndex?) {
    let other = property.inverse.map { self.number($0) }
    guard property.linkStorage == .links else { return (position("rel/\(other ?? 0)"), nil) }
    if isFirstEnd(property, number) {
      return (position("link/\(number)"), positions["linkrev/\(number)"] ?? position("link/\(number)"))
    }
    return (position("linkrev/\(other ?? 0)"), position("link/\(other ?? 0)"))
  }

  private func position(_ name: String) -> StoreIndex {
    guard let position = positions[name] else { preconditionFailure("There is no index \(name).") }
    return position
  }

  private func storage(_ entity: EntitySchema) -> EntityStorage {
    let number = model.entityNumber(at: entity.index)
    let properties = entity.properties.map { property in
      PropertyStorage(
        property, number: self.number(entity, property.slot), form: form(property, entity),
        order: order(property, entity))
    }
    return EntityStorage(
      entity, number: number, concrete: concrete(entity), properties: properties,
      layouts: entity.isAbstract ? nil : layouts(entity, number, properties))
  }

  private func layouts(
    _ entity: EntitySchema, _ number: UInt16, _ properties: [PropertyStorage]
  ) -> RowLayouts {
    let slots = properties.map(\.number)
    var columns: [UInt32: RowColumn] = [:]
    for property in properties {
      switch property.form {
      case .attribute(.absent): break
      case .attribute(let kind):
        columns[property.number] = RowColumn(property: property.number, kind: kind)
      case .toOne:
        columns[property.number] = RowColumn(property: property.number, kind: .reference)
      case .inverse, .count, .derived: break
      }
    }
    let standIns = slots.map { model.standIn(ofProperty: $0)?.value ?? .null }
    let current = model.currentLayout(ofEntityAt: entity.index)
    let all = model.layouts.filter { $0.entityNumber == number }.map { layout in
      RowLayout(
        number: layout.number, columns: layout.propertyNumbers.compactMap { columns[$0] }, slots: slots,
        standIns: standIns)
    }
    guard let newest = all.first(where: { $0.number == current.number }) else {
      preconditionFailure("The current layout is one of the model's.")
    }
    return RowLayouts(current: newest, all: all)
  }
}
