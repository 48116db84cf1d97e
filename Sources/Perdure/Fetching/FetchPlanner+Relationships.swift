// Access paths by relationships: objects that refer to given objects, and objects in the order of a
// derived count. Joins through indexes of other entities are in FetchPlanner+Paths.swift.

internal import PerdurePredicates

extension FetchPlanner {
  // MARK: Related to given objects

  /// `company == x`, `company IN {…}`, `ANY tags == x`, `tags CONTAINS x`.
  func relationCandidates() -> [Candidate] {
    conjuncts.indices.compactMap { position in
      guard case .comparison(let comparison) = conjuncts[position],
        case .keyPath(let path) = comparison.left, path.names.count == 1, path.aggregate == nil,
        case .constant(let value) = comparison.right,
        let slot = fetch.entity.slot(named: path.names[0]),
        let index = ownersIndex(slot, comparison)
      else { return nil }
      let op = comparison.op == .contains ? .equal : comparison.op
      guard let references = Self.references(op, value) else { return nil }
      // A null in the list also requests objects without a related object, which have no entry.
      if case .list(let list) = value, list.contains(where: \.isNull), comparison.modifier == .direct {
        return nil
      }
      return relationCandidate(index, fetch.entity.properties[slot], references, position)
    }
  }

  /// The index whose keys are the named objects and whose references are the requested objects.
  private func ownersIndex(_ slot: Int, _ comparison: FetchComparison) -> StoreIndex? {
    switch (fetch.entity.properties[slot].form, comparison.modifier, comparison.op) {
    case (.toOne(_, let index), .direct, .equal), (.toOne(_, let index), .direct, .in): index
    case (.inverse(_, _, let owners, true), .any, .equal): owners
    case (.inverse(_, _, let owners, true), .direct, .contains): owners
    default: nil
    }
  }

  private func relationCandidate(
    _ index: StoreIndex, _ property: PropertyStorage, _ references: [ObjectReference], _ position: Int
  ) -> Candidate? {
    let ranges = references.map { KeyRange.owner($0) }
    let definition = fetch.schema.definition(index)
    return Candidate(
      access: .index(index, ranges), isOrdered: fetch.order.isEmpty,
      filtersEntities: definition.kind.namesEntities ? overshoots(definition) : true,
      count: ranges.reduce(0) { $0 + statistics.entryCount(index, $1) }, costPerCandidate: 3,
      covered: [position],
      words: {
        "objects whose \(property.name) is "
          + (references.count == 1 ? "one object" : "one of \(references.count)")
      })
  }

  // MARK: Counts

  /// The candidates for an order by an indexed derived count, or for bounds of the count that
  /// exclude zero.
  func countCandidates() -> [Candidate] {
    fetch.schema.indexes.indices.flatMap { position -> [Candidate] in
      let definition = fetch.schema.indexes[position]
      guard case .countOrder(let property, let counted) = definition.kind, covers(definition),
        let slot = fetch.entity.slot(ofProperty: property)
      else { return [] }
      let index = StoreIndex(rawValue: position)
      let isOrder = fetch.order.count == 1 && fetch.order[0].ownSlot == slot
      let name = fetch.entity.properties[slot].name
      if let ranged = countRange(index, definition, slot, isOrder: isOrder, name) { return [ranged] }
      guard isOrder else { return [] }
      return [
        Candidate(
          access: .countOrder(index, counted: counted), isReversed: !fetch.order[0].order.isAscending,
          isOrdered: true, filtersEntities: overshoots(definition), mayLackRows: true, count: rowTotal,
          costPerCandidate: 3,
          words: { "count index on \(name)" })
      ]
    }
  }

  private func countRange(
    _ index: StoreIndex, _ definition: IndexDefinition, _ slot: Int, isOrder: Bool, _ name: String
  ) -> Candidate? {
    guard let slotBounds = bounds[IndexColumn(slot: slot)],
      let ranges = Self.countRanges(slotBounds.bounds)
    else { return nil }
    return Candidate(
      access: .index(index, ranges), isReversed: isOrder && !fetch.order[0].order.isAscending,
      isOrdered: isOrder || fetch.order.isEmpty, filtersEntities: overshoots(definition),
      mayLackRows: true, count: ranges.reduce(0) { $0 + statistics.entryCount(index, $1) },
      costPerCandidate: 3,
      covered: slotBounds.bounds.areExact ? slotBounds.conjuncts : [],
      words: { "count index on \(name): \(counted(ranges.count, "range"))" })
  }

  /// Bounds of a whole number as ranges of keys in a count index; nil if a range begins below 1. A
  /// count of zero has no entry.
  private static func countRanges(_ bounds: SearchBounds) -> [KeyRange]? {
    var one = OrderedKey()
    one.append(.integer(1), as: .int64)
    guard bounds.ranges.allSatisfy({ !$0.lower.lexicographicallyPrecedes(one.bytes) }) else { return nil }
    return bounds.ranges.map {
      KeyRange(lower: bare($0.lower), upper: $0.upper.flatMap { $0.count < 9 ? nil : bare($0) })
    }
  }

  /// The key of a whole number as a count index has it: without the mark for null, and with the
  /// sign bit flipped back.
  private static func bare(_ key: [UInt8]) -> [UInt8] {
    var bytes = Array(key.dropFirst())
    if let first = bytes.first { bytes[0] = first ^ 0x80 }
    return bytes
  }
}

extension IndexDefinition.Kind {
  /// Whether the definition's entities are the entities of the references in the index.
  fileprivate var namesEntities: Bool {
    switch self {
    case .relation, .attribute, .unique, .countOrder, .linksReversed, .sums: true
    case .links, .orders, .ordered: false
    }
  }
}
