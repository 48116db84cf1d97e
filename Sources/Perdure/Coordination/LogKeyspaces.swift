// The keyspaces and indexes of the engine that contain the parts of a graph.

internal import PerdureLog

/// Finds or creates the keyspaces and indexes of a store.
protocol GraphCatalog {
  mutating func keyspace(_ name: String, _ kind: KeyspaceKind) throws -> Keyspace
  mutating func defineIndex(_ definition: PerdureLog.IndexDefinition) throws -> DerivedIndex
}

extension CatalogChange: GraphCatalog {}

/// The catalog of a read-only store. A missing keyspace or index is an error.
struct FoundCatalog: GraphCatalog {
  private let store: Store

  init(_ store: Store) { self.store = store }

  func keyspace(_ name: String, _ kind: KeyspaceKind) throws -> Keyspace { try store.keyspace(name, kind) }

  func defineIndex(_ definition: PerdureLog.IndexDefinition) throws -> DerivedIndex {
    try store.defineIndex(definition)
  }
}

/// Maps the entities and indexes of a schema to keyspaces and indexes of the engine.
struct LogKeyspaces: Sendable {
  static let metaName = "meta"

  private static let rowsPrefix = "rows/"

  static func rowsName(_ entity: UInt16) -> String { rowsPrefix + "\(entity)" }

  /// Whether `name` is `rowsName` of some entity.
  static func isRowsName(_ name: String) -> Bool {
    name.hasPrefix(rowsPrefix) && UInt16(name.dropFirst(rowsPrefix.count)).map(rowsName) == name
  }

  /// The location of the entries of a `StoreIndex`.
  enum Place: Sendable {
    case derived(DerivedIndex)
    case links(Keyspace)
  }

  let meta: Keyspace
  /// The keyspaces of rows, by entity number; nil for abstract entities.
  private(set) var rows: [Keyspace?]
  /// The location of each `StoreIndex`, by its position.
  private(set) var places: [Place] = []

  init(_ schema: StoreSchema, _ meta: Keyspace, in catalog: inout some GraphCatalog) throws {
    self.meta = meta
    rows = []
    for entity in schema.entities {
      let hasRows = entity.map { $0.layouts != nil } ?? false
      let number = entity?.number ?? 0
      rows.append(hasRows ? try catalog.keyspace(Self.rowsName(number), .dense) : nil)
    }
    for definition in schema.indexes { places.append(try place(of: definition, in: &catalog)) }
  }

  private func place(of definition: IndexDefinition, in catalog: inout some GraphCatalog) throws -> Place {
    switch definition.kind {
    case .links, .orders:
      return .links(try catalog.keyspace(definition.name, .bytes))
    case .relation, .attribute, .unique:
      return .derived(try catalog.defineIndex(overRows(definition)))
    case .sums:
      return .derived(try catalog.defineIndex(sumsOverRows(definition)))
    case .linksReversed(_, let links):
      let slices = SliceExtractor.parameters([.key(offset: 8, length: 8)], reference: .keyPrefix)
      return .derived(try defineOverLinks(definition.name, links, slices, in: &catalog))
    case .ordered(_, let orders):
      let slices = SliceExtractor.parameters(
        [.key(offset: 0, length: 8), .valueRest(offset: 0)], reference: .keySuffix)
      return .derived(try defineOverLinks(definition.name, orders, slices, in: &catalog))
    case .countOrder(_, let counted):
      let counted = try countable(counted, in: &catalog)
      return .derived(
        try catalog.defineIndex(.init(name: definition.name, source: .groupCounts(of: counted))))
    }
  }

  private func overRows(_ definition: IndexDefinition) -> PerdureLog.IndexDefinition {
    let sources = definition.entities.compactMap { rows[Int($0)] }
    return .init(
      name: definition.name,
      source: .records(
        keyspaces: sources, extractor: RowIndexExtractor.name, parameters: definition.parameters),
      isUnique: definition.isUnique)
  }

  private func sumsOverRows(_ definition: IndexDefinition) -> PerdureLog.IndexDefinition {
    .init(
      name: definition.name,
      source: .groupSums(
        of: StoredSum.kind(isReal: definition.sumsReals),
        keyspaces: definition.entities.compactMap { rows[Int($0)] },
        extractor: RowIndexExtractor.name, parameters: definition.parameters))
  }

  private func defineOverLinks(
    _ name: String, _ links: StoreIndex, _ slices: [UInt8], in catalog: inout some GraphCatalog
  ) throws -> DerivedIndex {
    guard case .links(let keyspace) = places[links.rawValue] else {
      preconditionFailure("A reversed index follows the links that it reverses.")
    }
    return try catalog.defineIndex(
      .init(
        name: name,
        source: .records(keyspaces: [keyspace], extractor: SliceExtractor.name, parameters: slices)))
  }

  /// Only derived indexes can be counted. So links get a derived forward index if a count index
  /// needs it.
  private func countable(_ counted: StoreIndex, in catalog: inout some GraphCatalog) throws -> DerivedIndex {
    switch places[counted.rawValue] {
    case .derived(let index): return index
    case .links(let keyspace):
      let slices = SliceExtractor.parameters([.key(offset: 0, length: 8)], reference: .keySuffix)
      return try defineOverLinks("forward \(keyspace.name)", counted, slices, in: &catalog)
    }
  }

  func rows(of entity: UInt16) -> Keyspace {
    guard let keyspace = rows[Int(entity)] else {
      preconditionFailure("The entity with the number \(entity) is abstract and has no rows.")
    }
    return keyspace
  }
}
