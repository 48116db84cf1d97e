// The unsaved changes of a context as a layer over its view. Fetches and child contexts read it.
//
// The layer contains the changes that the next save will write. It lacks links to objects that were
// removed by another context, and values that no row can hold: a save refuses them.
//
// Each use first updates the layer with the objects that were edited since the last use. The layer
// is built from scratch if the view or `vanished` has changed, or if many changes were removed at
// once.

internal import PerdureFileIO
internal import PerdurePredicates

/// The last version of a pending row. Stores count their versions from 1, so these are smaller.
private let lastPendingVersion = Guarded<UInt64>(1 << 63)

/// A layer, and the state from which it was built.
struct ContextLayer {
  let builder: LayerBuilder
  fileprivate let vanished: Set<ObjectReference>
  fileprivate let generation: UInt64
}

/// Keeps the layer of a context up to date.
final class LayerFollower {
  private let graph: GraphSchema
  private let registry: ObjectRegistry
  private let viewState: ViewState
  private let pending: PendingChanges
  private let rows: RowLoader
  private let savedLinks: SavedLinks
  // The exclusivity of accesses is not checked at run time: no access lasts longer than an
  // assignment.
  /// The unsaved changes as a layer over the view, as of its last use. Nil before the first use,
  /// and after `dropLayer`.
  @exclusivity(unchecked) private(set) var contextLayer: ContextLayer?
  /// Computes index entries from rows; nil before the first layer.
  @exclusivity(unchecked) private var indexFeeds: IndexFeeds?
  /// The last revision of `contextLayer`. Grows when the layer changes.
  @exclusivity(unchecked) private(set) var layerRevision: UInt64 = 0

  init(
    rows: RowLoader, savedLinks: SavedLinks, registry: ObjectRegistry, viewState: ViewState,
    pending: PendingChanges
  ) {
    graph = viewState.graph
    self.registry = registry
    self.viewState = viewState
    self.pending = pending
    self.rows = rows
    self.savedLinks = savedLinks
  }

  /// The state that a fetch reads: the view, with the unsaved changes if there are any.
  ///
  /// The caller applies the delete rules first.
  ///
  /// - Throws: The errors of the store.
  /// - Complexity: O(k log n) for k objects that were edited since the last use of the layer. If
  ///   the layer is built from scratch, k is the number of objects with unsaved changes.
  func shownView() throws -> any StateReader {
    if pending.isEmpty { return viewState.view }
    let builder = try currentLayer()
    return LayeredView(
      viewState.view, .success(builder.layer), sequence: viewState.view.sequence, revision: builder.revision)
  }

  /// The state that children see now. Returns `before` if it is the same state.
  ///
  /// The caller applies the delete rules first.
  func layeredView(after before: LayeredView?) -> LayeredView {
    let layer = Result<PendingLayer, any Error> {
      try viewState.throwReadFailure()
      return pending.isEmpty ? PendingLayer(viewState.view.schema) : try currentLayer().layer
    }
    let revision = pending.isEmpty ? nil : layerRevision
    if let before, before.base.sequence == viewState.view.sequence, before.revision == revision,
      case .success = layer, !before.isBroken
    {
      return before
    }
    return LayeredView(viewState.view, layer, sequence: (before?.sequence ?? 0) + 1, revision: revision)
  }

  /// The builder of the up-to-date layer.
  ///
  /// - Throws: The errors of the store.
  /// - Complexity: O(k log n) for k objects that were edited since the last use of the layer. If
  ///   the layer is built from scratch, k is the number of objects with unsaved changes.
  func currentLayer() throws -> LayerBuilder {
    try viewState.throwReadFailure()
    do {
      let builder = try followEdits() ?? buildLayer()
      try viewState.throwReadFailure()
      return builder
    } catch {
      dropLayer()
      throw error
    }
  }

  /// Drops the layer. The next use builds it from scratch.
  func dropLayer() {
    contextLayer = nil
    registry.memory.pointee.edits.stop()
  }

  /// Updates the layer with the edited objects; nil if it must be built from scratch.
  private func followEdits() throws -> LayerBuilder? {
    guard let known = contextLayer, registry.memory.pointee.edits.isComplete,
      known.builder.base === viewState.view,
      known.generation == pending.generation, known.vanished == viewState.vanished
    else { return nil }
    let edited = registry.memory.pointee.edits.references
    if edited.isEmpty { return known.builder }
    for reference in edited { try follow(reference, in: known.builder) }
    return try finish(known.builder)
  }

  private func buildLayer() throws -> LayerBuilder {
    let before = contextLayer?.builder
    let feeds = feeds()
    let builder = LayerBuilder(over: viewState.view, feeds, revision: layerRevision + 1)
    for overlay in pending.ordered.joined() { try enter(overlay, builder, before) }
    contextLayer = ContextLayer(
      builder: builder, vanished: viewState.vanished, generation: pending.generation)
    return try finish(builder)
  }

  private func feeds() -> IndexFeeds {
    let schema = viewState.view.schema
    if let indexFeeds, indexFeeds.schema.rows === schema.rows { return indexFeeds }
    let feeds = IndexFeeds(schema)
    indexFeeds = feeds
    return feeds
  }

  private func finish(_ builder: LayerBuilder) throws -> LayerBuilder {
    try builder.finish()
    layerRevision = builder.revision
    registry.memory.pointee.edits.begin(count: builder.count)
    return builder
  }

  private func follow(_ reference: ObjectReference, in builder: LayerBuilder) throws {
    guard let overlay = pending[reference] else { return try builder.replace(reference, with: nil) }
    // The object was noted twice.
    if overlay.layerGap.isEmpty { return }
    if overlay.layerGap == .all || !builder.contains(reference) {
      return try enter(overlay, builder, builder)
    }
    let (gap, members) = (overlay.layerGap, overlay.editedMembers)
    overlay.didEnterLayer()
    // The contribution of a deleted object only removes its stored row and links, so its edits do
    // not change the contribution.
    if overlay.isDeleted { return }
    try builder.update(reference, edit(of: overlay, gap, members, builder))
  }

  /// - Parameter known: The builder with the rows of the previous layer. A row that has not changed
  ///   keeps its version.
  private func enter(
    _ overlay: ObjectOverlay, _ builder: LayerBuilder, _ known: LayerBuilder?
  ) throws {
    overlay.didEnterLayer()
    let before = known?.pendingRow(of: overlay.reference)
    try builder.replace(overlay.reference, with: contribution(of: overlay, before))
  }

  /// The parts of an object's contribution that the layer lacks.
  private func edit(
    of overlay: ObjectOverlay, _ gap: LayerGap, _ members: [EditedMember], _ builder: LayerBuilder
  ) throws -> ContributionEdit {
    var edit = ContributionEdit()
    if gap.contains(.row), overlay.changesRow, let bytes = try pendingRow(overlay) {
      edit.row = .put(kept(builder.pendingRow(of: overlay.reference), bytes))
    }
    for edited in members {
      let (member, relationship) = (edited.member, overlay.shape.relationship(edited.slot))
      if case .links(let links, true) = relationship.form {
        let link = StoreLink(index: links, source: overlay.reference, target: member)
        edit.links.append((link, linkChange(member, overlay.delta(edited.slot))))
      }
      if let order = relationship.order {
        let link = StoreLink(index: order.keys, source: overlay.reference, target: member)
        edit.places.append((link, placeChange(member, overlay.order(edited.slot))))
      }
    }
    return edit
  }

  /// The contribution of an object; nil if another context has removed it.
  func contribution(
    of overlay: ObjectOverlay, _ before: PendingRow?
  ) throws -> ObjectContribution? {
    if viewState.hasVanished(overlay.reference) { return nil }
    var contribution = ObjectContribution()
    contribution.isNew = overlay.isUnknownToStore
    contribution.isDeleted = overlay.isDeleted
    if overlay.isDeleted {
      if !overlay.isNew { try addRemoval(overlay, to: &contribution) }
      return contribution
    }
    if overlay.changesRow, let bytes = try pendingRow(overlay) {
      contribution.row = .put(kept(before, bytes))
    }
    addLinks(overlay, to: &contribution)
    addPlaces(overlay, to: &contribution)
    return contribution
  }

  private func kept(_ known: PendingRow?, _ bytes: [UInt8]) -> PendingRow {
    if let known, known.has(bytes) { return known }
    let version = lastPendingVersion.withLock { last in
      last += 1
      return last
    }
    return PendingRow(bytes, RowVersion(rawValue: version))
  }

  private func pendingRow(_ overlay: ObjectOverlay) throws -> [UInt8]? {
    if overlay.isNew { return row(of: overlay, base: nil) }
    // Hooks and primitive setters may have set values of the instance. These values are saved with
    // the object's other changes.
    if let object = registry.identityMap.object(overlay.reference),
      object.header.pointee.wakefulness.contains(.rewritten), rows.loadRow(of: object),
      let row = object.header.pointee.loadedRow
    {
      return self.row(of: overlay, base: row)
    }
    return try viewState.view.withRow(overlay.reference) { stored in
      guard let stored else { return nil }
      return row(of: overlay, base: try viewState.rows.view(stored.bytes, of: overlay.reference))
    }
  }

  /// The columns of a new object, for its instance after the object was removed.
  func lastRow(of overlay: ObjectOverlay) -> KeptRow? {
    guard let layouts = viewState.rows.layouts(ofEntity: overlay.shape.number),
      let bytes = row(of: overlay, base: nil)
    else { return nil }
    return layouts.withRow(bytes) { KeptRow($0, version: .unknown) }
  }

  /// The columns of an object as a row of the view's schema, with `base` below its changes; nil for
  /// an entity without rows.
  private func row(of overlay: ObjectOverlay, base: RowView?) -> [UInt8]? {
    guard let layouts = viewState.rows.layouts(ofEntity: overlay.shape.number) else { return nil }
    var bytes: [UInt8] = []
    overlay.withColumns { values, marks in
      let held = values.indices.map { viewState.fitting(values[$0], overlay.shape, $0) }
      held.withUnsafeBufferPointer {
        RowWriter(layouts).append(to: &bytes, base: base, $0, isGiven: marks)
      }
    }
    return bytes
  }

  private func addRemoval(_ overlay: ObjectOverlay, to contribution: inout ObjectContribution) throws {
    // Without a stored row there is nothing to remove.
    guard try viewState.view.version(of: overlay.reference) != nil else { return }
    contribution.row = .removed
    for relationship in overlay.shape.relationships {
      removePlaces(overlay.reference, relationship, from: &contribution)
      guard case .links(let links, let isForward) = relationship.form, let index = relationship.index else {
        continue
      }
      var targets: [ObjectReference] = []
      try viewState.view.appendReferences(under: overlay.reference, in: index, to: &targets)
      for target in targets {
        let (source, end) = isForward ? (overlay.reference, target) : (target, overlay.reference)
        contribution.links[StoreLink(index: links, source: source, target: end)] = .removed
        // A relationship that is its own inverse has a link in each direction.
        if graph.inverse(of: relationship, at: target)?.index == index {
          contribution.links[StoreLink(index: links, source: end, target: source)] = .removed
        }
      }
    }
  }

  private func addLinks(_ overlay: ObjectOverlay, to contribution: inout ObjectContribution) {
    for (slot, delta) in overlay.deltas {
      guard case .links(let links, true) = overlay.shape.relationship(slot).form else { continue }
      for target in delta.added.ordered + delta.removed.ordered {
        let link = StoreLink(index: links, source: overlay.reference, target: target)
        contribution.links[link] = linkChange(target, delta)
      }
    }
  }

  private func linkChange(
    _ target: ObjectReference, _ delta: LinkDelta?
  ) -> ObjectContribution.LinkChange? {
    switch delta?.contains(target) {
    case true: viewState.hasVanished(target) ? nil : .added
    case false: .removed
    case nil: nil
    }
  }

  // MARK: Orders

  private func addPlaces(_ overlay: ObjectOverlay, to contribution: inout ObjectContribution) {
    for (slot, delta) in overlay.orders {
      guard let order = overlay.shape.relationship(slot).order else { continue }
      for member in Array(delta.placed.keys) + delta.hidden.keys {
        let link = StoreLink(index: order.keys, source: overlay.reference, target: member)
        contribution.places[link] = placeChange(member, delta)
      }
    }
  }

  private func placeChange(
    _ member: ObjectReference, _ delta: OrderDelta?
  ) -> ObjectContribution.OrderKeyChange? {
    if let placement = delta?.placed[member] {
      return viewState.hasVanished(member) ? nil : .key(placement.key)
    }
    return delta?.hidden[member] == nil ? nil : .removed
  }

  /// Removes the order keys of a deleted object's members, and its own order keys in the
  /// relationships of other objects.
  private func removePlaces(
    _ owner: ObjectReference, _ relationship: RelationshipShape, from contribution: inout ObjectContribution
  ) {
    if let order = relationship.order {
      for member in savedLinks.storedMembers(of: owner, order) {
        contribution.places[StoreLink(index: order.keys, source: owner, target: member)] = .removed
      }
    }
    guard relationship.inverseIsOrdered else { return }
    let targets =
      relationship.form == .column
      ? viewState.storedColumn(owner, relationship.slot).map { [$0] } ?? []
      : savedLinks.savedTargets(of: owner, relationship)
    for target in targets {
      guard let order = graph.inverse(of: relationship, at: target)?.order else { continue }
      contribution.places[StoreLink(index: order.keys, source: target, target: owner)] = .removed
    }
  }
}
