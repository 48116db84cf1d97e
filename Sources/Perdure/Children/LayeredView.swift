// A state of a store with the unsaved changes of a context laid over it: what the children of that context see.

internal import PerdurePredicates

final class LayeredView: StoreView {
  let sequence: UInt64
  let base: any StoreView
  /// Why there is none: the state below could not be read when it was made.
  private let layer: Result<PendingLayer, any Error>

  init(_ base: any StoreView, _ layer: Result<PendingLayer, any Error>, sequence: UInt64) {
    self.base = base
    self.layer = layer
    self.sequence = sequence
  }

  /// What is laid over; nil where that could not be made.
  var content: PendingContent? {
    if case .success(let layer) = layer { layer.content } else { nil }
  }

  func checkIsOpen() throws { try base.checkIsOpen() }

  // MARK: Rows

  func row(_ reference: ObjectReference) throws -> StoredRow? {
    if let row = try layer.get().content.rows[reference] { return row?.stored }
    return try base.row(reference)
  }

  func version(of reference: ObjectReference) throws -> RowVersion? {
    if let row = try layer.get().content.rows[reference] { return row?.version }
    return try base.version(of: reference)
  }

  func rowCount(entity: UInt16) -> Int {
    guard case .success(let layer) = layer else { return base.rowCount(entity: entity) }
    return base.rowCount(entity: entity) + (layer.countDifferences[entity] ?? 0)
  }

  func visitRows(
    entity: UInt16, descending: Bool, _ body: (ObjectReference, StoredRow) throws -> Bool
  ) throws {
    let layer = try layer.get()
    var waiting = Waiting(layer.references[entity] ?? [], descending: descending)
    var goesOn = true
    try base.visitRows(entity: entity, descending: descending) { reference, row in
      while goesOn, let next = waiting.next(before: reference) { goesOn = try layer.hand(next, body) }
      guard goesOn else { return false }
      goesOn =
        waiting.take(reference) ? try layer.hand(reference, body) : try body(reference, row)
      return goesOn
    }
    while goesOn, let next = waiting.next(before: nil) { goesOn = try layer.hand(next, body) }
  }

  func visitReferences(
    entity: UInt16, from first: UInt64, _ body: (ObjectReference) throws -> Bool
  ) throws {
    let layer = try layer.get()
    var waiting = Waiting((layer.references[entity] ?? []).filter { $0.id >= first }, descending: false)
    var goesOn = true
    func hand(_ reference: ObjectReference) throws {
      if let row = layer.content.rows[reference], row != nil { goesOn = try body(reference) }
    }
    try base.visitReferences(entity: entity, from: first) { reference in
      while goesOn, let next = waiting.next(before: reference) { try hand(next) }
      guard goesOn else { return false }
      if waiting.take(reference) { try hand(reference) } else { goesOn = try body(reference) }
      return goesOn
    }
    while goesOn, let next = waiting.next(before: nil) { try hand(next) }
  }

  func rows(_ references: [ObjectReference], _ body: (Int, StoredRow?) throws -> Void) throws {
    let layer = try layer.get()
    let positions = try layer.others(references.indices, of: { references[$0] }) { position, row in
      try body(position, row)
    }
    try base.rows(positions.map { references[$0] }) { place, row in try body(positions[place], row) }
  }

  func readAhead(
    _ references: UnsafeBufferPointer<ObjectReference>, bytesMax: Int,
    _ body: (Int, StoredRow) throws -> Void
  ) throws {
    let layer = try layer.get()
    let positions = try layer.others(references.indices, of: { references[$0] }) { position, row in
      if let row, row.bytes.count <= bytesMax { try body(position, row) }
    }
    try positions.map { references[$0] }.withUnsafeBufferPointer { others in
      try base.readAhead(others, bytesMax: bytesMax) { place, row in try body(positions[place], row) }
    }
  }

  // MARK: Indexes

  func entryCount(_ index: StoreIndex, _ range: KeyRange) throws -> Int {
    try base.entryCount(index, range) + (layer.get().indexes[index]?.difference(range) ?? 0)
  }

  func visitEntries(
    _ index: StoreIndex, _ range: KeyRange, descending: Bool,
    _ body: (UnsafeRawBufferPointer, ObjectReference) throws -> Bool
  ) throws {
    guard let layer = try layer.get().indexes[index] else {
      return try base.visitEntries(index, range, descending: descending, body)
    }
    let added = layer.added[IndexLayer.positions(range, in: layer.added)]
    var waiting = descending ? Array(added.reversed()) : Array(added)
    // The next one at the end.
    waiting.reverse()
    var goesOn = true
    func handNext() throws {
      guard let entry = waiting.popLast() else { return }
      goesOn = try entry.key.withUnsafeBytes { try body($0, entry.reference) }
    }
    try base.visitEntries(index, range, descending: descending) { key, reference in
      while goesOn, let next = waiting.last, next.comes(before: key, reference, descending: descending) {
        try handNext()
      }
      guard goesOn else { return false }
      if !layer.hides(key, reference) { goesOn = try body(key, reference) }
      return goesOn
    }
    while goesOn, !waiting.isEmpty { try handNext() }
  }

  /// Where anything is laid over, the members are added up.
  func sum(_ index: StoreIndex, of owner: ObjectReference) throws -> StoredSum? {
    try layer.get().isEmpty ? base.sum(index, of: owner) : nil
  }

  func appendReferences(
    under owner: ObjectReference, in index: StoreIndex, to found: inout [ObjectReference]
  ) throws {
    let range = KeyRange.owner(owner)
    guard let layer = try layer.get().indexes[index] else {
      return try base.appendReferences(under: owner, in: index, to: &found)
    }
    let added = layer.added[IndexLayer.positions(range, in: layer.added)].map(\.reference)
    let hidden = Set(layer.hidden[IndexLayer.positions(range, in: layer.hidden)].map(\.reference))
    if added.isEmpty, hidden.isEmpty {
      return try base.appendReferences(under: owner, in: index, to: &found)
    }
    var below: [ObjectReference] = []
    try base.appendReferences(under: owner, in: index, to: &below)
    found += (below.filter { !hidden.contains($0) } + added).sorted { $0.rawValue < $1.rawValue }
  }

  func orderKey(
    of member: ObjectReference, under owner: ObjectReference, in order: OrderIndexes
  ) throws -> OrderKey? {
    let link = StoreLink(index: order.keys, source: owner, target: member)
    let content = try layer.get().content
    if let key = content.places[link] { return key }
    return content.linksRemoved.contains(link)
      ? nil : try base.orderKey(of: member, under: owner, in: order)
  }

  /// O(log n) where nothing is laid over the range; otherwise the entries in front are counted.
  func withEntry(
    at position: Int, of range: KeyRange, in index: StoreIndex,
    _ body: (UnsafeRawBufferPointer, ObjectReference) throws -> Void
  ) throws {
    if try !layer.get().changes(range, of: index) {
      return try base.withEntry(at: position, of: range, in: index, body)
    }
    var left = position
    try visitEntries(index, range, descending: false) { key, reference in
      if left == 0 { try body(key, reference) }
      left -= 1
      return left >= 0
    }
  }

  func hasEntry(
    under owner: ObjectReference, _ reference: ObjectReference, in index: StoreIndex
  ) throws -> Bool {
    if let layer = try layer.get().indexes[index] {
      let range = KeyRange.owner(owner)
      let isReference = { (entry: LayerEntry) in entry.reference == reference }
      if layer.added[IndexLayer.positions(range, in: layer.added)].contains(where: isReference) {
        return true
      }
      if layer.hidden[IndexLayer.positions(range, in: layer.hidden)].contains(where: isReference) {
        return false
      }
    }
    return try base.hasEntry(under: owner, reference, in: index)
  }
}

/// References of a layer that have yet to be handed out.
private struct Waiting {
  /// The next one at the end.
  private var references: [ObjectReference]
  private let isDescending: Bool

  init(_ ascending: [ObjectReference], descending: Bool) {
    references = descending ? ascending : ascending.reversed()
    isDescending = descending
  }

  /// The next one, if it comes before another.
  mutating func next(before other: ObjectReference?) -> ObjectReference? {
    guard let next = references.last else { return nil }
    if let other {
      let comesFirst = isDescending ? next.rawValue > other.rawValue : next.rawValue < other.rawValue
      guard comesFirst else { return nil }
    }
    return references.popLast()
  }

  /// Whether the next one is this.
  mutating func take(_ reference: ObjectReference) -> Bool {
    guard references.last == reference else { return false }
    references.removeLast()
    return true
  }
}

extension LayerEntry {
  fileprivate func comes(
    before key: UnsafeRawBufferPointer, _ reference: ObjectReference, descending: Bool
  ) -> Bool {
    if self.key.elementsEqual(key) {
      return descending
        ? self.reference.rawValue > reference.rawValue : self.reference.rawValue < reference.rawValue
    }
    return self.key.lexicographicallyPrecedes(key) != descending
  }
}

extension PendingLayer {
  /// Whether anything is different in a range of an index.
  fileprivate func changes(_ range: KeyRange, of index: StoreIndex) -> Bool {
    guard let layer = indexes[index] else { return false }
    return !IndexLayer.positions(range, in: layer.added).isEmpty
      || !IndexLayer.positions(range, in: layer.hidden).isEmpty
  }

  /// Hands out a row of the layer, unless it goes; whether to go on.
  fileprivate func hand(
    _ reference: ObjectReference, _ body: (ObjectReference, StoredRow) throws -> Bool
  ) throws -> Bool {
    guard let row = content.rows[reference] ?? nil else { return true }
    return try body(reference, row.stored)
  }

  /// Hands out what the layer has, and gives the positions of the others.
  fileprivate func others(
    _ positions: Range<Int>, of reference: (Int) -> ObjectReference, _ body: (Int, StoredRow?) throws -> Void
  ) throws -> [Int] {
    var others: [Int] = []
    for position in positions {
      if let row = content.rows[reference(position)] {
        try body(position, row?.stored)
      } else {
        others.append(position)
      }
    }
    return others
  }
}
