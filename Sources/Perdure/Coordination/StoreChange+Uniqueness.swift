// Checks uniqueness before a commit, for saves to several stores and to parent contexts.

internal import PerdurePredicates

extension StoreChange {
  /// The keys of unique indexes that two rows have if the change is applied to a view.
  func duplicates(in view: any StoreView) throws -> [StoreConflict.DuplicateKey] {
    var search = DuplicateSearch(view, puts.schema, replacedRows: Set(removals).union(puts.references))
    var found: [StoreConflict.DuplicateKey] = []
    var failure: (any Error)?
    puts.forEach { reference, row in
      if failure != nil { return }
      do { found += try search.duplicates(of: reference, row) } catch { failure = error }
    }
    if let failure { throw failure }
    return found
  }
}

private struct DuplicateSearch {
  private struct Place: Hashable {
    let index: StoreIndex
    let key: [UInt8]
  }

  private let view: any StoreView
  private let schema: StoreSchema
  /// Rows that the change replaces or removes.
  private let replacedRows: Set<ObjectReference>
  private let unique: [StoreIndex]
  private var keysByEntity: [UInt16: [(index: StoreIndex, keys: IndexKeys)]] = [:]
  private var taken: [Place: ObjectReference] = [:]

  init(_ view: any StoreView, _ schema: StoreSchema, replacedRows: Set<ObjectReference>) {
    self.view = view
    self.schema = schema
    self.replacedRows = replacedRows
    unique = schema.indexes.indices.filter { schema.indexes[$0].isUnique }.map(StoreIndex.init(rawValue:))
  }

  mutating func duplicates(
    of reference: ObjectReference, _ bytes: UnsafeRawBufferPointer
  ) throws -> [StoreConflict.DuplicateKey] {
    let all = keys(ofEntity: reference.entityNumber)
    if all.isEmpty { return [] }
    let row = try schema.rows.view(bytes, of: reference)
    var found: [StoreConflict.DuplicateKey] = []
    for (index, keys) in all {
      guard let whole = keys.key(of: row) else { continue }
      let key = Array(whole.prefix(IndexDefinition.keyLengthMax))
      let place = Place(index: index, key: key)
      guard let existing = try taken[place] ?? stored(key, index) else {
        taken[place] = reference
        continue
      }
      found.append(.init(index: index, key: key, existing: existing, rejected: reference))
    }
    return found
  }

  /// The row that has a key in the store, and that the change neither replaces nor removes.
  private func stored(_ key: [UInt8], _ index: StoreIndex) throws -> ObjectReference? {
    var found: ObjectReference?
    try view.visitEntries(index, .equal(key), descending: false) { _, reference in
      if !replacedRows.contains(reference) { found = reference }
      return found == nil
    }
    return found
  }

  private mutating func keys(ofEntity number: UInt16) -> [(index: StoreIndex, keys: IndexKeys)] {
    if let known = keysByEntity[number] { return known }
    let entity = schema.entity(number)
    let keys = unique.compactMap { index in
      IndexKeys(schema.definition(index), entity: entity, in: schema).map { (index, $0) }
    }
    keysByEntity[number] = keys
    return keys
  }
}
