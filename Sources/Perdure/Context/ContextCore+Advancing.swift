// How a context's view moves on.
//
// A view is replaced and the epoch with it; no object is visited. An instance finds out at its next touch
// that its row may be old, compares one version, and becomes a fault only if the row has in fact changed.
// Unsaved changes stay on top of the newest row. They keep the version that they were made to, until a refresh
// says otherwise or nobody else has changed the same: so a save finds out that somebody else was faster.

internal import PerdurePredicates

extension ContextCore {
  func rollback() {
    keepDropped()
    defer { releaseDropped() }
    checkOwner()
    let news = newsOfRefresh()
    let ended = willTurnIntoFaults(changedAwakeObjects().filter(\.isNew).map(\.object))
    // They may have done anything, a rollback included.
    let changed = changedAwakeObjects()
    forgetFailure()
    for overlay in tracker.removeAll().joined() {
      guard let object = overlay.object else { continue }
      object.restoreTransients(overlay)
      if overlay.isNew {
        retire(object)
      } else {
        object.header.pointee.overlay = nil
        object.header.pointee.dropAlteredRow()
      }
    }
    dropLayer()
    vanished = []
    eventStarts = [:]
    watched = [:]
    keptFetches = [:]
    refusedChanges = RefusedChanges()
    view = nextView()
    beginEpoch()
    undoManager?.rollBack()
    for object in ended { didTurnIntoFault(object) }
    for (object, isNew, isDeleted) in changed where !isNew {
      reawaken(object, isDeleted ? [.rollback, .undoDeletion] : .rollback)
    }
    forgetGone()
    tell(news)
  }

  /// The changed objects that follow their rows.
  private func changedAwakeObjects() -> [(object: ManagedObject, isNew: Bool, isDeleted: Bool)] {
    guard tracker.containsEntity(where: \.followsRow) else { return [] }
    return tracker.ordered.joined().compactMap { overlay in
      guard let object = overlay.object, object.isAwake else { return nil }
      return (object, overlay.isNew, overlay.isDeleted)
    }
  }

  func refresh(_ object: ManagedObject, mergeChanges: Bool) {
    refreshQuietly(object, mergeChanges: mergeChanges)
    guard isObserved, object.context === self, object.overlay?.isNew != true else { return }
    var news = ContextNews(kind: .objectsDidChange)
    news.refreshed = [object.reference]
    tell(news)
  }

  /// Without telling anybody.
  private func refreshQuietly(_ object: ManagedObject, mergeChanges: Bool) {
    keepDropped()
    defer { releaseDropped() }
    checkOwner()
    guard object.context === self else { return }
    advance()
    excludingFromUndo { refreshInView(object, mergeChanges: mergeChanges) }
  }

  /// At the state that the context is at, without telling anybody. For who keeps what is dropped (T3).
  func refreshInView(_ object: ManagedObject, mergeChanges: Bool = true) {
    guard object.context === self else { return }
    forgetFetched(of: object.reference)
    let isEnding = !mergeChanges && object.overlay?.isNew != true && willTurnIntoFault(object)
    guard object.context === self else {
      // It was reset meanwhile, or removed.
      if isEnding { didTurnIntoFault(object) }
      return
    }
    if let overlay = object.overlay, !overlay.isNew {
      if mergeChanges { rebase(overlay) } else { discard(overlay) }
    }
    if mergeChanges, let overlay = object.overlay { letGoOfVanishedTargets(overlay) }
    if !mergeChanges, object.overlay?.isNew != true {
      object.dropValues()
      dropTransientLinks(of: object.reference)
    }
    if isEnding { didTurnIntoFault(object) }
    if mergeChanges, object.overlay?.isNew != true { reawaken(object, .refresh) }
  }

  func refreshAllObjects() {
    keepDropped()
    defer { releaseDropped() }
    checkOwner()
    // What could not be read is not forgiven here: changes stay that were made on top of it, and others were
    // left out for it.
    advance()
    keptFetches = [:]
    let ended = willTurnIntoFaults(identityMap.objects.filter { $0.overlay == nil })
    excludingFromUndo {
      for overlay in tracker.ordered.joined() where !overlay.isNew { rebase(overlay) }
      for overlay in tracker.ordered.joined() { letGoOfVanishedTargets(overlay) }
    }
    for object in identityMap.objects where object.overlay == nil { object.dropValues() }
    dropSettledTransientLinks()
    for object in ended {
      if object.header.pointee.row == nil || object.header.pointee.isGone {
        didTurnIntoFault(object)
      } else {
        // It was changed meanwhile, and stays.
        object.header.pointee.wakefulness.remove(.turning)
      }
    }
    for (object, isNew, _) in changedAwakeObjects() where !isNew { reawaken(object, .refresh) }
    guard isObserved else { return }
    var news = ContextNews(kind: .objectsDidChange)
    news.refreshed = identityMap.objects.filter { $0.overlay?.isNew != true }.map(\.reference)
    tell(news)
  }

  func reset() {
    keepDropped()
    defer { releaseDropped() }
    checkOwner()
    let ended = willTurnIntoFaults(identityMap.objects)
    forgetFailure()
    for overlay in tracker.removeAll().joined() {
      overlay.object?.header.pointee.overlay = nil
      dropTransientsBefore(overlay)
    }
    for object in identityMap.objects { retire(object) }
    transientLinks.removeAll()
    siblingGroups.removeAll()
    dropLayer()
    vanished = []
    eventStarts = [:]
    watched = [:]
    keptFetches = [:]
    refusedChanges = RefusedChanges()
    refreshStore()
    view = store.view()
    beginEpoch()
    undoManager?.removeAllActions()
    for object in ended { didTurnIntoFault(object) }
    forgetGone()
    guard isObserved else { return }
    var news = ContextNews(kind: .objectsDidChange)
    news.invalidatesAll = true
    tell(news)
  }

  /// No new object is left, and no change that was made on top of what could not be read.
  private func forgetFailure() {
    readFailure = nil
    allocator.forgetProvisional()
  }

  /// Moves on to the newest state of the store, unless the context is pinned; unsaved changes stay as they are.
  func advance() { move(to: nextView()) }

  /// Moves on to a state of the store.
  func move(to newest: any StoreView) {
    guard newest.sequence != view.sequence else { return }
    moveOn(to: newest)
  }

  /// Shows a newer state of the store; unsaved changes stay as they are.
  func moveOn(to newest: any StoreView) {
    settleUndoGroups()
    excludingFromUndo { showMerged(newest) }
  }

  private func showMerged(_ newest: any StoreView) {
    for overlay in tracker.ordered.joined() where !overlay.isNew {
      if overlay.changesRow {
        forgetSetBack(overlay)
        keepBase(overlay, before: newest)
      }
      keepDeletion(overlay, before: newest)
    }
    view = newest
    beginEpoch()
    findVanished()
    rebaseDeltas()
    // Delete rules have to be applied to what others have linked since.
    for overlay in tracker.ordered.joined() where overlay.isDeleted { tracker.propagateLater(overlay) }
  }

  /// Shows a newer state of the store, in which nothing is different that unsaved changes are about or
  /// lead to.
  func showUnder(_ newest: any StoreView) {
    settleUndoGroups()
    if let contextLayer, contextLayer.builder.base === view { contextLayer.builder.move(to: newest) }
    view = newest
    beginEpoch()
  }

  /// Forgets changed columns that have been set back to what the row has: there is nothing to hold against what
  /// others have saved since. The row is read from the view that is about to go.
  func forgetSetBack(_ overlay: ObjectOverlay) {
    do {
      guard let version = overlay.baseVersion, let base = try baseRow(of: overlay, version) else { return }
      try base.withRow { stored in
        let row = try graph.store.rows.view(stored.bytes, of: overlay.reference)
        forgetSetBack(overlay, to: row, version)
      }
    } catch {
      noteReadFailure(error, overlay.reference)
    }
  }

  private func forgetSetBack(_ overlay: ObjectOverlay, to row: RowView, _ version: RowVersion) {
    // Not where `awakeFromFetch` has put another value into the instance's row, which would show again.
    let header = identityMap.object(overlay.reference)?.header
    let shown = header?.pointee.row(ofVersion: version)
    overlay.unmark { slot, value in
      row.value(slot) == value && (shown.map { $0.value(slot) == value } ?? true)
    }
    if overlay.changesRow { return }
    if !overlay.isDeleted { overlay.baseVersion = nil }
    guard let header, header.pointee.wakefulness.contains(.altered) else { return }
    header.pointee.dropAlteredRow()
    // The instance of a deleted object shows its row also after the row has gone.
    if overlay.isDeleted { header.pointee.setRow(row, version: version) }
  }

  // MARK: One object

  /// Puts the unsaved changes of an object on top of its newest row. A deletion of what is gone already is
  /// done.
  func rebase(_ overlay: ObjectOverlay) {
    guard
      overlay.baseVersion != nil || overlay.hasDeltas || overlay.hasOrders || overlay.changesTransients
    else { return }
    let newest: RowVersion?
    do { newest = try view.version(of: overlay.reference) } catch {
      return noteReadFailure(error, overlay.reference)
    }
    if newest == nil, overlay.isDeleted {
      if let object = identityMap.object(overlay.reference) {
        object.header.pointee.hasVanished = true
        retireDeleted(object, overlay)
      }
      tracker.remove(overlay.reference)
      dropTransientsBefore(overlay)
      vanished.insert(overlay.reference)
      return
    }
    guard let newest else { return letGoOfVanished(overlay) }
    guard overlay.baseVersion != nil, newest != overlay.baseVersion else { return }
    overlay.baseVersion = newest
    guard let object = identityMap.object(overlay.reference) else { return }
    let isReadToTheEnd = overlay.isDeleted && object.header.pointee.row != nil
    object.header.pointee.dropRow()
    if isReadToTheEnd { _ = loadRow(of: object) }
  }

  /// The row is gone, and with it what others were linked to: unsaved links from here go too, on both ends.
  /// Attributes that were changed stay for the save to complain about, until the object is deleted here too
  /// or its changes are discarded.
  private func letGoOfVanished(_ overlay: ObjectOverlay) {
    for relationship in overlay.shape.columns where overlay.value(relationship.slot) != nil {
      let partner = pairedPartner(overlay.reference, relationship)
      setColumn(overlay.reference, relationship, nil)
      if let partner { restorePair(partner.owner, partner.relationship) }
    }
    for relationship in overlay.shape.relationships {
      guard !relationship.isInColumn, let delta = overlay.delta(relationship.slot) else { continue }
      for target in delta.added.ordered { disconnect(overlay.reference, relationship, target) }
    }
    for slot in overlay.orders.map(\.slot) { overlay.setOrder(nil, slot) }
    overlay.unmark { slot, value in value.isNull && overlay.shape.isRelationship(slot) }
    if overlay.changesRow { return }
    overlay.baseVersion = nil
    let lastRow = overlay.keptBase
    refuseTransients(of: overlay)
    dropTransientsBefore(overlay)
    dropIfUnchanged(overlay)
    guard tracker[overlay.reference] == nil, let object = identityMap.object(overlay.reference) else {
      return
    }
    vanish(object, lastRow)
  }

  /// So do links with it that nothing at its end knows of.
  private func letGoOfVanishedTargets(_ overlay: ObjectOverlay) {
    for relationship in overlay.shape.relationships {
      letGoOfVanishedTargets(overlay.reference, relationship)
    }
  }

  /// The other end of a one-to-one relationship with a column at both ends, if it leads back.
  private func pairedPartner(
    _ reference: ObjectReference, _ relationship: RelationshipShape
  ) -> (owner: ObjectReference, relationship: RelationshipShape)? {
    guard let target = column(reference, relationship.slot), target != reference,
      let inverse = inverse(of: relationship, at: target), inverse.form == .column,
      column(target, inverse.slot) == reference
    else { return nil }
    return (target, inverse)
  }

  /// What was taken from one-to-one partners in the store for a link with what has vanished is theirs again: it
  /// was not asked for by itself, and others may have made the pair since. Not if that leads elsewhere here.
  private func restorePair(_ owner: ObjectReference, _ relationship: RelationshipShape) {
    guard let overlay = tracker[owner], !overlay.isNew, !overlay.isDeleted else { return }
    if let stored = storedColumn(owner, relationship.slot) {
      guard !hasVanished(stored), !tracker.isDeleted(stored),
        let inverse = inverse(of: relationship, at: stored), inverse.form == .column
      else { return }
      let current = column(stored, inverse.slot)
      guard current == nil || current == owner else { return }
      setColumn(owner, relationship, stored)
      unmarkStored(stored, inverse.slot)
    }
    unmarkStored(owner, relationship.slot)
  }

  /// Forgets that a reference was changed, if it is as the store has it.
  func unmarkStored(_ reference: ObjectReference, _ slot: Int) {
    guard let overlay = tracker[reference], overlay.changesRow, !overlay.isNew else { return }
    let stored = storedColumn(reference, slot).map(Value.reference) ?? .null
    overlay.unmark { $0 == slot && $1 == stored }
    if overlay.changesRow || overlay.isDeleted { return }
    overlay.baseVersion = nil
    dropIfUnchanged(overlay)
    if tracker[reference] == nil { identityMap.object(reference)?.header.pointee.dropRow() }
  }

  /// Forgets the unsaved changes of one object, at the other ends too.
  func discard(_ overlay: ObjectOverlay) {
    let wasDeleted = overlay.isDeleted
    overlay.isDeleted = false
    let restoredOrder = restoresOrder
    restoresOrder = true
    defer { restoresOrder = restoredOrder }
    for relationship in overlay.shape.relationships {
      switch relationship.form {
      case .column:
        guard overlay.value(relationship.slot) != nil else { continue }
        let stored = storedColumn(overlay.reference, relationship.slot)
        let partner = hasVanished(overlay.reference) ? pairedPartner(overlay.reference, relationship) : nil
        setColumn(overlay.reference, relationship, stored)
        if let partner { restorePair(partner.owner, partner.relationship) }
        // It may be deleted: then its delete rules have let go of this object, and must again.
        if let stored { propagateAgain(stored) }
      case .links, .transient:
        guard let delta = overlay.delta(relationship.slot) else { continue }
        for target in delta.added.ordered { disconnect(overlay.reference, relationship, target) }
        for target in delta.removed.ordered { connect(overlay.reference, relationship, target) }
      case .inverseToOne, .inverseToMany:
        guard let delta = overlay.delta(relationship.slot) else { continue }
        for target in delta.added.ordered { disconnect(overlay.reference, relationship, target) }
        for target in delta.removed.ordered where !tracker.isDeleted(target) {
          connect(overlay.reference, relationship, target)
        }
      }
    }
    for slot in overlay.orders.map(\.slot) { overlay.setOrder(nil, slot) }
    reconcileOrders(overlay)
    if overlay.changesRow { overlay.discardValues() }
    dropTransientsBefore(overlay)
    overlay.baseVersion = nil
    dropIfUnchanged(overlay)
    // C5 leaves out what is deleted here.
    if wasDeleted { addIfVanished(overlay.reference) }
  }

  /// The reference in a column as the store has it.
  func storedColumn(_ reference: ObjectReference, _ slot: Int) -> ObjectReference? {
    withStoredRow(reference) { row in
      let field = row.fields[slot]
      return row.isPresent(field) ? row.reference(field) : nil
    } ?? nil
  }
}
