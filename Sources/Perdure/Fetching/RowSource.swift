// Reads properties from rows, for the evaluator that defines the meaning of predicates.

internal import PerdurePredicates

/// The view in which rows and relationships are looked up.
struct RowGraph {
  /// The schema of the view.
  let schema: StoreSchema
  let view: any StateReader

  /// Calls `body` with the checked row. If the row does not exist, the reference is dangling, and
  /// `body` gets a row of nulls.
  ///
  /// - Throws: `FetchError` with code `damagedRow`, or the error of the reader or of `body`.
  @inline(__always)
  func withRowOrNulls<R>(_ reference: ObjectReference, _ body: (RowView) throws -> R) throws -> R {
    try view.withRow(reference) { stored in
      if let stored { return try body(check(stored, reference)) }
      guard let layouts = schema.entity(reference.entityNumber).layouts else {
        preconditionFailure("No row refers to an object of an abstract entity.")
      }
      return try body(layouts.nulls)
    }
  }

  @inline(__always)
  func check(_ stored: StoredRow, _ reference: ObjectReference) throws -> RowView {
    do throws(RowError) {
      return try schema.rows.view(stored.bytes, of: reference)
    } catch {
      throw FetchError.damaged(error, entity: schema.entity(reference.entityNumber).name)
    }
  }

  /// The objects at the other end of a relationship that is not stored in a column.
  func targets(_ index: StoreIndex, of owner: ObjectReference) throws -> [ObjectReference] {
    var targets: [ObjectReference] = []
    try view.visitEntries(index, .owner(owner), descending: false) { _, target in
      targets.append(target)
      return true
    }
    return targets
  }

  /// The objects at the other end of a to-many relationship, in its order if it is ordered.
  ///
  /// - Complexity: O(n) for n objects.
  func members(
    _ index: StoreIndex, _ order: OrderIndexes?, of owner: ObjectReference
  ) throws -> [ObjectReference] {
    guard let order else { return try targets(index, of: owner) }
    return try view.members(index, order, of: owner)
  }

  /// The number of objects at the other end of a relationship.
  func count(_ index: StoreIndex, of owner: ObjectReference) throws -> Int {
    try view.entryCount(index, .owner(owner))
  }
}

/// The property values of an object, read from its row. An object without a row has no values.
final class RowSource: PropertySource {
  private let graph: RowGraph
  private let identity: ObjectReference
  private let entity: EntityStorage
  private var row: Row

  private enum Row {
    case unread
    /// The caller keeps the bytes valid.
    case borrowed(RowView)
    case leased(LeasedRow)
    case missing
  }

  /// - Parameter row: The object's row, which must outlive the source; nil to read it when needed.
  init(_ reference: ObjectReference, _ graph: RowGraph, row: RowView? = nil) {
    identity = reference
    self.graph = graph
    entity = graph.schema.entity(reference.entityNumber)
    self.row = row.map(Row.borrowed) ?? .unread
  }

  var reference: ObjectReference? { identity }

  func value(of property: String) throws(PredicateEvaluationError) -> PropertyResult {
    guard let slot = entity.slot(named: property) else {
      return property == EntityStorage.ownName ? .value(.string(entity.name)) : .unknown
    }
    do {
      return try result(slot)
    } catch let error as PredicateEvaluationError {
      throw error
    } catch {
      throw PredicateEvaluationError(
        .sourceFailed, "A row of \(entity.name) could not be read. Verify the store.", cause: error)
    }
  }

  func reachesMany(through relationship: String, then path: ArraySlice<String>) -> Bool {
    graph.schema.reachesMany(entity, through: relationship, then: path)
  }

  private func result(_ slot: Int) throws -> PropertyResult {
    switch entity.properties[slot].form {
    case .attribute(.absent): return .unknown
    case .attribute: return .value(try value(slot))
    case .count(let counted): return try count(counted)
    case .derived(let derived): return .value(try value(of: derived))
    case .toOne:
      guard case .reference(let target) = try value(slot) else { return .toOne(nil) }
      return .toOne(RowSource(target, graph))
    case .inverse(_, let index, _, let isToMany):
      let order = entity.properties[slot].order
      let targets = try graph.members(index, order, of: identity).map { RowSource($0, graph) }
      return isToMany ? .toMany(targets) : .toOne(targets.first)
    }
  }

  /// The value of a derived attribute. Uses the index of sums if there is one.
  func value(of derived: DerivedStorage) throws -> Value {
    if let sums = derived.sums, let sum = try graph.view.sum(sums, of: identity) {
      return derived.exact(sum.value)
    }
    if let sum = try graph.memberSum(derived, of: identity) { return sum }
    return try derived.value(of: self)
  }

  private func value(_ slot: Int) throws -> Value {
    if case .unread = row { row = try graph.view.leasedRow(identity).map(Row.leased) ?? .missing }
    return switch row {
    case .borrowed(let row): row.value(slot)
    case .leased(let lease):
      try lease.withRow { try graph.check($0, identity).value(slot) }
    case .unread, .missing: .null
    }
  }

  private func count(_ counted: Int) throws -> PropertyResult {
    guard case .inverse(_, let index, _, _) = entity.properties[counted].form else { return .value(.null) }
    return .value(.integer(Int64(try graph.count(index, of: identity))))
  }
}

extension StoreSchema {
  /// Whether a path contains a to-many relationship after its first relationship.
  package func reachesMany(
    _ entity: EntityStorage, through relationship: String, then path: ArraySlice<String>
  ) -> Bool {
    var entity = entity
    for (position, name) in ([relationship] + path).enumerated() {
      guard let slot = entity.slot(named: name), let next = entity.properties[slot].destination else {
        return false
      }
      if position > 0, entity.properties[slot].isToMany { return true }
      entity = self.entity(next)
    }
    return false
  }
}
