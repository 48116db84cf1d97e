// Entries of indexes in a layer, and the counts that follow from them.

internal import PerdurePredicates

extension LayerBuilder {
  func add(_ entry: LayerEntry, to index: StoreIndex) {
    layer.indexes[index.rawValue].added.update(entry)
    didChange(entry, of: index)
  }

  func remove(_ entry: LayerEntry, from index: StoreIndex) {
    layer.indexes[index.rawValue].added.remove(entry)
    didChange(entry, of: index)
  }

  func hide(_ entry: LayerEntry, in index: StoreIndex) {
    layer.indexes[index.rawValue].hidden.update(entry)
    didChange(entry, of: index)
  }

  func show(_ entry: LayerEntry, in index: StoreIndex) {
    layer.indexes[index.rawValue].hidden.remove(entry)
    didChange(entry, of: index)
  }

  private func didChange(_ entry: LayerEntry, of index: StoreIndex) {
    revision += 1
    for counting in feeds.counting[index.rawValue] {
      let owner = ObjectReference(rawValue: entry.key.reduce(0) { $0 << 8 | UInt64($1) })
      guard schema.definition(counting).entities.contains(owner.entityNumber) else { continue }
      staleCounts.insert(OwnerCount(index: counting, owner: owner))
    }
  }

  func recount(_ stale: OwnerCount) throws {
    guard case .countOrder(_, let counted) = schema.definition(stale.index).kind else { return }
    let range = KeyRange.owner(stale.owner)
    let before = try base.entryCount(counted, range)
    let after = before + layer.indexes[counted.rawValue].difference(range)
    if let old = counts[stale] {
      if old == (before, after) { return }
      if old.before > 0 { show(.count(old.before, stale.owner), in: stale.index) }
      if old.after > 0 { remove(.count(old.after, stale.owner), from: stale.index) }
      counts[stale] = nil
    }
    if before == after { return }
    if before > 0 { hide(.count(before, stale.owner), in: stale.index) }
    if after > 0 { add(.count(after, stale.owner), to: stale.index) }
    counts[stale] = (before, after)
  }
}

extension LayerBuilder {
  /// The layer as text, for comparing it with one that was built from scratch (BL1 in
  /// LayerBuilder.swift). O(n).
  func describe() -> [String] {
    var lines: [String] = []
    for row in layer.rows.flatMap(\.elements) {
      lines.append("row \(row.reference.rawValue) \(row.row.map { Array($0.stored.bytes) } ?? [])")
    }
    lines.append("counts \(layer.rowCountDifferences)")
    for (index, entries) in zip(schema.indexes, layer.indexes) {
      for entry in entries.added.elements {
        lines.append("\(index.name) added \(entry.key) \(entry.reference.rawValue)")
      }
      for entry in entries.hidden.elements {
        lines.append("\(index.name) hidden \(entry.key) \(entry.reference.rawValue)")
      }
    }
    for place in layer.places.elements {
      lines.append("place \(place.link) \(String(describing: place.key))")
    }
    for sum in layer.sums.elements {
      lines.append("sum \(sum.index.rawValue) \(sum.owner.rawValue) \(sum.difference.value)")
    }
    return lines
  }
}
