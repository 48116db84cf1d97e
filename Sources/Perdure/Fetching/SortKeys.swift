// Makes the key by which an object is sorted, from its row.

internal import PerdurePredicates

struct SortKeys {
  let fetch: PreparedFetch
  let graph: RowGraph
  /// The slot of the first criterion, if it is an attribute of the object itself.
  private let fixedSlot: Int?
  private let descends: Bool
  /// The criteria as values without references, so that a copy retains nothing.
  private let parts: [Part]

  private struct Part {
    /// The slot, if the criterion is an attribute of the object itself.
    var ownSlot: Int?
    var descends: Bool
  }

  init(fetch: PreparedFetch, graph: RowGraph) {
    (self.fetch, self.graph) = (fetch, graph)
    descends = fetch.order.first.map { !$0.order.isAscending } ?? false
    parts = fetch.order.map { criterion in
      var part = Part(descends: !criterion.order.isAscending)
      if let slot = criterion.ownSlot, case .attribute = criterion.steps[0].property.form {
        part.ownSlot = slot
      }
      return part
    }
    fixedSlot = parts.first?.ownSlot
  }

  /// Appends the values of all criteria for an object, then its reference in the direction of the
  /// first criterion.
  ///
  /// - Returns: The length of the key up to the end of the first criterion.
  @discardableResult
  func append(_ row: RowView, _ reference: ObjectReference, _ key: inout OrderedKey) throws -> Int {
    var firstLength: Int?
    for (position, part) in parts.enumerated() {
      if let slot = part.ownSlot, row.fields[slot].kind != .absent {
        key.append(row, slot, default: .null, descending: part.descends)
      } else {
        try append(fetch.order[position], 0, row, reference, &key)
      }
      firstLength = firstLength ?? key.bytes.count
    }
    append(reference, &key)
    return firstLength ?? 0
  }

  /// The first eight bytes of the key as a number. The first criterion must be an attribute of the
  /// object itself, with values of a fixed length, and the row must have a value for it. If not,
  /// nil.
  func front(_ row: RowView) -> UInt64? {
    guard let slot = fixedSlot else { return nil }
    let field = row.fields[slot]
    guard field.kind != .absent, row.isPresent(field), let word = OrderedKey.word(row, field) else {
      return nil
    }
    let front = 1 << 56 | word >> 8
    return descends ? ~front : front
  }

  private func append(_ reference: ObjectReference, _ key: inout OrderedKey) {
    key.append(.reference(reference), as: .reference, descending: descends)
  }

  /// Appends the value at the end of a criterion's path, beginning at a step.
  private func append(
    _ criterion: SortCriterion, _ step: Int, _ row: RowView, _ reference: ObjectReference,
    _ key: inout OrderedKey
  ) throws {
    let at = criterion.steps[step]
    let isDescending = !criterion.order.isAscending
    switch at.property.form {
    case .attribute:
      key.append(row, at.slot, default: at.standIn, descending: isDescending)
    case .count(let counted):
      let entity = graph.schema.entity(reference.entityNumber)
      guard case .inverse(_, let index, _, _) = entity.properties[counted].form else { return }
      append(count: try graph.count(index, of: reference), isDescending, &key)
    case .derived(let derived):
      let value = try RowSource(reference, graph, row: row).value(of: derived)
      key.append(derived.shown(value), as: derived.kind, descending: isDescending)
    case .inverse(_, let index, _, true):
      append(count: try graph.count(index, of: reference), isDescending, &key)
    case .inverse(_, let index, _, false):
      try follow(try graph.targets(index, of: reference).first, criterion, step, &key)
    case .toOne:
      let field = row.fields[at.slot]
      try follow(row.isPresent(field) ? row.reference(field) : nil, criterion, step, &key)
    }
  }

  private func follow(
    _ target: ObjectReference?, _ criterion: SortCriterion, _ step: Int, _ key: inout OrderedKey
  ) throws {
    let isDescending = !criterion.order.isAscending
    if step == criterion.steps.count - 1 {
      key.append(target.map { .reference($0) } ?? .null, as: .reference, descending: isDescending)
    } else if let target {
      try graph.withRowOrNulls(target) { try append(criterion, step + 1, $0, target, &key) }
    } else if criterion.order.path.aggregate == .count {
      append(count: 0, isDescending, &key)
    } else {
      key.append(.null, as: criterion.kind, descending: isDescending)
    }
  }

  private func append(count: Int, _ isDescending: Bool, _ key: inout OrderedKey) {
    key.append(.integer(Int64(count)), as: .int64, descending: isDescending)
  }
}
