// Joins the schemas of several stores. The numbers of the entities, properties and indexes of each
// store begin after those of the previous store.

internal import PerdureFileIO
internal import PerdurePredicates

/// The offsets of the numbers of one store in a joined store.
struct StoreOffset: Hashable, Sendable {
  var entity: UInt16 = 0
  var property: UInt32 = 0
  var index = 0

  /// The offset of the store after one with this schema; nil if a number overflows.
  func after(_ schema: StoreSchema) -> StoreOffset? {
    guard let count = UInt16(exactly: schema.entities.count) else { return nil }
    let entities = entity.addingReportingOverflow(count)
    let last = schema.entities.compactMap { $0?.properties.map(\.number).max() }.max() ?? 0
    let properties = property.addingReportingOverflow(last + 1)
    if entities.overflow || properties.overflow { return nil }
    return StoreOffset(
      entity: entities.partialValue, property: properties.partialValue, index: index + schema.indexes.count)
  }
}

extension StoreSchema {
  /// Joins the schemas of several stores.
  ///
  /// - Parameter order: The positions of the stores in `parts`. If several entities have the same
  ///   name, the name refers to the first of them in this order.
  static func joined(_ parts: [StoreSchema], _ offsets: [StoreOffset], order: [Int]) -> StoreSchema {
    StoreSchema(
      entities: order.flatMap { place in
        parts[place].entities.compactMap { $0?.raised(by: offsets[place]) }
      },
      indexes: parts.indices.flatMap { place in
        parts[place].indexes.map { $0.raised(by: offsets[place], mark: place) }
      })
  }
}

/// Makes the joined schema of several stores, for their newest states and for earlier ones.
final class JoinedSchemas: Sendable {
  /// The joined schema of the stores.
  let newest: StoreSchema
  private let parts: [StoreSchema]
  private let offsets: [StoreOffset]
  private let order: [Int]
  /// The last joined schema of views whose schemas differ from those of the stores.
  private let last = Guarded<(parts: [StoreSchema], joined: StoreSchema)?>(nil)

  init(_ parts: [StoreSchema], _ offsets: [StoreOffset], order: [Int]) {
    (self.parts, self.offsets, self.order) = (parts, offsets, order)
    newest = .joined(parts, offsets, order: order)
  }

  /// The joined schema of a state, from the schemas of its views.
  ///
  /// - Complexity: O(stores) if the schemas are those of the stores, or those of the last call with
  ///   other schemas.
  func joined(_ views: [StoreSchema]) -> StoreSchema {
    if zip(views, parts).allSatisfy({ $0.rows === $1.rows }) { return newest }
    return last.withLock { last in
      if let last, zip(views, last.parts).allSatisfy({ $0.rows === $1.rows }) { return last.joined }
      let joined = StoreSchema.joined(views, offsets, order: order)
      last = (views, joined)
      return joined
    }
  }
}

extension StoreIndex {
  func raised(by offset: StoreOffset) -> StoreIndex { StoreIndex(rawValue: rawValue + offset.index) }

  func lowered(by offset: StoreOffset) -> StoreIndex { StoreIndex(rawValue: rawValue - offset.index) }
}

extension EntityStorage {
  fileprivate func raised(by offset: StoreOffset) -> EntityStorage {
    let properties = properties.map { $0.raised(by: offset) }
    return changed(
      number: number + offset.entity, concrete: concrete.map { $0 + offset.entity },
      properties: properties, layouts: layouts?.raised(by: offset, slots: properties.map(\.number)))
  }
}

extension PropertyStorage {
  fileprivate func raised(by offset: StoreOffset) -> PropertyStorage {
    renumbered(
      number + offset.property, form(by: offset),
      order.map { OrderIndexes(keys: $0.keys.raised(by: offset), ordered: $0.ordered.raised(by: offset)) })
  }

  private func form(by offset: StoreOffset) -> Form {
    switch form {
    case .attribute, .count: return form
    case .toOne(let destination, let index):
      return .toOne(destination: destination + offset.entity, index: index.raised(by: offset))
    case .inverse(let destination, let index, let owners, let isToMany):
      return .inverse(
        destination: destination + offset.entity, index: index.raised(by: offset),
        owners: owners?.raised(by: offset), isToMany: isToMany)
    case .derived(var derived):
      derived.sums = derived.sums?.raised(by: offset)
      return .derived(derived)
    }
  }
}

extension RowLayouts {
  /// Layouts of the same rows, with an offset for their references.
  fileprivate func raised(by offset: StoreOffset, slots: [UInt32]) -> RowLayouts {
    let all = all.map { layout in
      RowLayout(
        number: layout.number,
        columns: layout.columns.map {
          RowColumn(property: $0.property + offset.property, kind: $0.kind)
        }, slots: slots, standIns: Array(layout.standIns), entityOffset: offset.entity)
    }
    guard let current = all.first(where: { $0.number == current.number }) else {
      preconditionFailure("The layouts include the current one.")
    }
    return RowLayouts(current: current, all: all)
  }
}

extension IndexDefinition {
  /// The index in the joined schema.
  ///
  /// A key with a reference as a component contains the entity number in the store. If this number
  /// differs from the joined one, no fetch uses the index. The store still maintains it.
  fileprivate func raised(by offset: StoreOffset, mark place: Int) -> IndexDefinition {
    let isHidden = offset.entity != 0 && (components ?? []).contains { $0.kind == .reference }
    return IndexDefinition(
      name: place == 0 ? name : "\(place):\(name)", kind: kind.raised(by: offset),
      entities: entities.map { $0 + offset.entity }, condition: condition, isHidden: isHidden)
  }

  /// Whether the keys begin with a reference without a mark for null, and contain no other
  /// reference.
  var hasBareReferences: Bool {
    switch kind {
    case .relation, .links, .linksReversed, .orders, .ordered: true
    case .attribute, .unique, .countOrder, .sums: false
    }
  }
}

extension IndexDefinition.Kind {
  fileprivate func raised(by offset: StoreOffset) -> Self {
    func raised(_ components: [IndexComponent]) -> [IndexComponent] {
      components.map {
        IndexComponent(
          property: $0.property + offset.property, kind: $0.kind, function: $0.function,
          isDescending: $0.isDescending)
      }
    }
    switch self {
    case .relation(let property): return .relation(property: property + offset.property)
    case .links(let property): return .links(property: property + offset.property)
    case .linksReversed(let property, let links):
      return .linksReversed(property: property + offset.property, links: links.raised(by: offset))
    case .orders(let property): return .orders(property: property + offset.property)
    case .ordered(let property, let orders):
      return .ordered(property: property + offset.property, orders: orders.raised(by: offset))
    case .attribute(let components): return .attribute(raised(components))
    case .unique(let components): return .unique(raised(components))
    case .countOrder(let property, let counted):
      return .countOrder(property: property + offset.property, counted: counted.raised(by: offset))
    case .sums(let relation, let attribute, let isReal):
      return .sums(
        relation: relation + offset.property, attribute: attribute + offset.property, isReal: isReal)
    }
  }
}
