import Perdure

/// The complete content of a graph's store, for comparisons.
struct GraphContent: Sendable, Equatable {
  private(set) var rows: [UInt64: [UInt8]] = [:]
  private(set) var links: Set<[UInt64]> = []
  /// The entries of ordered relationships: owner and order key, with the members.
  private(set) var places: Set<[UInt8]> = []

  /// The content of a store without saves.
  init() {}

  init(_ store: LogPersistentStore) throws {
    let view = store.view()
    for case let entity? in store.schema.entities where entity.layouts != nil {
      try view.visitRows(entity: entity.number, descending: false) { reference, row in
        rows[reference.rawValue] = Array(row.bytes)
        return true
      }
    }
    for (position, definition) in store.schema.indexes.enumerated() {
      switch definition.kind {
      case .links(let property):
        try view.visitEntries(StoreIndex(rawValue: position), .all, descending: false) { key, target in
          let source = UInt64(bigEndian: key.loadUnaligned(as: UInt64.self))
          links.insert([UInt64(property), source, target.rawValue])
          return true
        }
      case .ordered:
        try view.visitEntries(StoreIndex(rawValue: position), .all, descending: false) { key, member in
          places.insert(Array(definition.name.utf8) + [0] + Array(key) + Array("\(member.rawValue)".utf8))
          return true
        }
      default: break
      }
    }
  }
}
