// The rows of objects: in their instances, or read from the view.

internal import PerdurePredicates

/// Loads the rows of instances, and reads the rows of objects without an instance.
final class RowLoader {
  private let graph: GraphSchema
  private let registry: ObjectRegistry
  private let viewState: ViewState
  private let pending: PendingChanges
  private let retirement: ObjectRetirement
  /// Whether a fault without a row counts as deleted. Otherwise an access to it is an error.
  var deletesInaccessibleFaults = true
  /// Whether a lookup of an object that may not exist is running.
  var isLooking = false

  init(
    viewState: ViewState, registry: ObjectRegistry, pending: PendingChanges,
    retirement: ObjectRetirement
  ) {
    graph = viewState.graph
    self.registry = registry
    self.viewState = viewState
    self.pending = pending
    self.retirement = retirement
  }

  // MARK: Faults

  /// Loads the row of an object from the view. Returns false if the object is new, has no row, or
  /// could not be read.
  func loadRow(of object: ManagedObject) -> Bool {
    let header = object.header
    if header.pointee.isGone || object.overlay?.isNew == true { return false }
    dropStaleRow(of: object)
    if header.pointee.isGone { return false }
    if header.pointee.row != nil { return true }
    return fireFault(object)
  }

  /// Drops a loaded row that differs from the view's row, also if the object has unsaved changes.
  /// Unchanged properties show the values in the view; otherwise the two ends of a relationship
  /// could differ. The overlay has the version on which its changes are based, so the save detects
  /// a conflict. If the view has no row, an object without unsaved changes vanishes if
  /// `deletesInaccessibleFaults` is true or a lookup is running.
  func dropStaleRow(of object: ManagedObject) {
    let header = object.header
    guard header.pointee.row != nil, !header.pointee.isReady else { return }
    if header.pointee.isCurrent { return markCurrent(object) }
    let newest: RowVersion?
    do { newest = try viewState.view.version(of: object.reference) } catch {
      return viewState.noteReadFailure(error, object.reference)
    }
    if newest == nil, object.overlay == nil, deletesInaccessibleFaults || isLooking {
      retirement.vanish(object)
    } else if newest != header.pointee.version {
      if newest == nil { retirement.keepLastRow(of: object) }
      header.pointee.dropRow()
    } else {
      markCurrent(object)
    }
  }

  /// Marks an object's row as equal to the view's row. Accessors then read it directly, unless the
  /// object has unsaved changes or its hook must run before the row is used.
  private func markCurrent(_ object: ManagedObject) {
    object.header.pointee.epoch = viewState.epoch
    if object.overlay?.changesRow == true || object.header.pointee.wakefulness.contains(.hookIsDue) {
      object.header.pointee.shut()
    }
  }

  private func fireFault(_ object: ManagedObject) -> Bool {
    if fireBlock(of: object) { return true }
    viewState.statistics.rowRequestCount += 1
    do {
      var isFound = false
      try viewState.view.row(object.reference) { stored in
        let row = try viewState.rows.view(stored.bytes, of: object.reference)
        object.header.pointee.setRow(row, version: stored.version)
        isFound = true
      }
      guard isFound else {
        inaccessible(object)
        return false
      }
      viewState.statistics.rowCount += 1
      object.header.pointee.rowArrived(viewState.epoch)
      if object.overlay?.changesRow == true { object.header.pointee.shut() }
      return true
    } catch {
      viewState.noteReadFailure(error, object.reference)
      return false
    }
  }

  /// Handles the access to an object whose row was removed.
  func inaccessible(_ object: ManagedObject) {
    if deletesInaccessibleFaults || isLooking { return retirement.vanish(object) }
    guard object.overlay == nil, viewState.readFailure == nil else { return }
    viewState.readFailure = .about(
      [object.objectID], .objectNotFound,
      "\(object.objectID) was accessed, but another context has removed it. The context cannot fetch or save until it is "
        + "rolled back or reset.")
  }

  // MARK: Siblings

  /// Reads the rows of a fault and of the siblings in its block. Returns false if the object got no
  /// row, for example because it has no group. The caller then reads its row alone.
  func fireBlock(of object: ManagedObject) -> Bool {
    guard object.overlay == nil, let group = registry.readingGroup(of: object) else { return false }
    let position = Int(object.header.pointee.groupPosition)
    if group.kind == .neighbours { takeWaitingRow(object.header) }
    if object.header.pointee.row != nil { return true }
    guard group.readsBlocks else { return false }
    readBlock(position / group.blockCount, of: group)
    if object.header.pointee.row != nil {
      group.readsBlocks = true
      return true
    }
    if group.readsBlocks { group.readsBlocks = isRemoved(object.reference) }
    return false
  }

  /// Takes the row of a waiting header for an instance that was created with another header.
  private func takeWaitingRow(_ header: SiblingGroup.Header) {
    guard let waiting = registry.neighbourHeader(of: header.pointee.reference) else { return }
    if let row = waiting.pointee.loadedRow {
      header.pointee.setRow(row, version: waiting.pointee.version)
      header.pointee.rowArrived(viewState.epoch)
    }
    waiting.free()
  }

  /// Whether the view has no row of an object. False if the view cannot be read: the read of the
  /// fault's row then reports the error.
  private func isRemoved(_ reference: ObjectReference) -> Bool {
    do {
      return try viewState.view.version(of: reference) == nil
    } catch {
      return false
    }
  }

  /// Reads the rows of the faults of a block in one request.
  ///
  /// - Parameter known: Rows that another request has already returned. They are not read again.
  func readBlock(_ block: Int, of group: SiblingGroup, known: [ObjectReference: LeasedRow] = [:]) {
    let capacity = group.positions(ofBlock: block).count
    let rows = viewState.rows
    withUnsafeTemporaryAllocation(of: ObjectReference.self, capacity: capacity) { references in
      withUnsafeTemporaryAllocation(of: SiblingGroup.Header.self, capacity: capacity) { headers in
        var count = collect(block, of: group, references, headers)
        func take(_ stored: StoredRow, at position: Int) throws {
          let row = try rows.view(stored.bytes, of: references[position])
          headers[position].pointee.setRow(row, version: stored.version)
          headers[position].pointee.rowArrived(viewState.epoch)
          viewState.statistics.rowCount += 1
        }
        do {
          if !known.isEmpty {
            let all = 0..<count
            count = 0
            for position in all {
              if let row = known[references[position]] {
                try row.withRow { try take($0, at: position) }
              } else {
                (references[count], headers[count]) = (references[position], headers[position])
                count += 1
              }
            }
          }
          if count == 0 { return }
          viewState.statistics.rowRequestCount += 1
          let wanted = UnsafeBufferPointer(rebasing: UnsafeBufferPointer(references)[..<count])
          try viewState.view.readAhead(wanted, bytesMax: SiblingGroup.rowByteCountMax) {
            try take($1, at: $0)
          }
        } catch {
          // The error is reported when a row is read alone.
          group.readsBlocks = false
        }
      }
    }
  }

  /// Collects the faults of a block. A fault without an instance gets a header that the next
  /// instance uses.
  private func collect(
    _ block: Int, of group: SiblingGroup, _ references: UnsafeMutableBufferPointer<ObjectReference>,
    _ headers: UnsafeMutableBufferPointer<SiblingGroup.Header>
  ) -> Int {
    let isFirstTime = group.begin(block: block)
    var count = 0
    for position in group.positions(ofBlock: block) {
      let reference = group.references[position]
      guard let header = faultHeader(reference, at: position, of: group, makesHeaders: isFirstTime) else {
        continue
      }
      references[count] = reference
      headers[count] = header
      count &+= 1
    }
    return count
  }

  /// The header of a sibling that has no row yet and no unsaved changes.
  @inline(__always)
  private func faultHeader(
    _ reference: ObjectReference, at position: Int, of group: SiblingGroup, makesHeaders: Bool
  ) -> SiblingGroup.Header? {
    if let object = registry.identityMap.object(reference) {
      return object.header.pointee.row == nil && object.overlay == nil ? object.header : nil
    }
    guard makesHeaders, group.header(at: position) == nil else { return nil }
    if group.kind != .neighbours, let ready = registry.neighbourHeader(of: reference) {
      group.keep(ready, at: position)
      return ready.pointee.row == nil ? ready : nil
    }
    let header = graph.uncountedShape(of: reference)._withUnsafeGuaranteedRef {
      SiblingGroup.Header.make(reference, $0, in: registry.memory)
    }
    group.keep(header, at: position)
    return header
  }

  // MARK: Rows that are already read

  /// Sets the row of a fault from a row that a fetch has read. An object with unsaved changes has
  /// an overlay, so it gets no row of the layer.
  func adopt(_ stored: StoredRow, _ object: ManagedObject) {
    guard object.header.pointee.row == nil, object.overlay == nil,
      let row = try? viewState.rows.view(stored.bytes, of: object.reference)
    else { return }
    object.header.pointee.setRow(row, version: stored.version)
    object.header.pointee.rowArrived(viewState.epoch)
  }

  func takeRows(_ instances: [SavedInstance], _ rows: WrittenRows) throws {
    let references = instances.map(\.object.reference)
    var versions = [RowVersion?](repeating: nil, count: references.count)
    viewState.statistics.rowRequestCount += 1
    try viewState.view.versions(of: references) { versions[$0] = $1 }
    let positions = Dictionary(uniqueKeysWithValues: zip(references, references.indices))
    try rows.forEach { reference, bytes in
      guard let position = positions[reference], let version = versions[position] else { return }
      try show(StoredRow(bytes: bytes, version: version), in: instances[position].object, rows.schema.rows)
    }
  }

  func readRows(_ instances: [SavedInstance]) throws {
    viewState.statistics.rowRequestCount += 1
    try viewState.view.rows(instances.map(\.object.reference)) { position, row in
      guard let row else { return }
      try show(row, in: instances[position].object, viewState.rows)
      viewState.statistics.rowCount += 1
    }
  }

  private func show(_ stored: StoredRow, in object: ManagedObject, _ rows: RowChecks) throws {
    guard object.header.pointee.row == nil, !object.header.pointee.isGone else { return }
    let row = try rows.view(stored.bytes, of: object.reference)
    object.header.pointee.setRow(row, version: stored.version)
    object.header.pointee.rowArrived(viewState.epoch)
  }

  // MARK: Reading by reference

  /// Passes the row of an object to `body`, without creating an instance. Returns nil if there is
  /// no row or the store cannot be read.
  func withRow<R>(_ reference: ObjectReference, _ body: (RowView, RowVersion) -> R) -> R? {
    if let object = registry.identityMap.object(reference) {
      guard loadRow(of: object), let row = object.header.pointee.loadedRow else { return nil }
      return body(row, object.header.pointee.version)
    }
    viewState.statistics.uninstantiatedRowCount += 1
    do {
      return try viewState.view.withRow(reference) { stored in
        guard let stored else { return nil }
        return body(try viewState.rows.view(stored.bytes, of: reference), stored.version)
      }
    } catch {
      viewState.noteReadFailure(error, reference)
      return nil
    }
  }

  /// The value of a column, with unsaved changes.
  func columnValue(_ reference: ObjectReference, _ slot: Int) -> Value {
    if let value = pending[reference]?.value(slot) { return value }
    return withRow(reference) { row, _ in row.value(slot) } ?? .null
  }

  /// The reference in a column, with unsaved changes.
  func column(_ reference: ObjectReference, _ slot: Int) -> ObjectReference? {
    if let value = pending[reference]?.value(slot) {
      if case .reference(let target) = value { return target }
      return nil
    }
    return withRow(reference) { row, _ in
      let field = row.fields[slot]
      return row.isPresent(field) ? row.reference(field) : nil
    } ?? nil
  }

  /// The version of a row in the view; nil if there is none. If the store cannot be read, records
  /// the error and returns nil.
  func viewVersion(of reference: ObjectReference) -> RowVersion? {
    if let header = registry.identityMap.object(reference)?.header, header.pointee.row != nil,
      header.pointee.isCurrent
    {
      return header.pointee.version
    }
    do { return try viewState.view.version(of: reference) } catch {
      viewState.noteReadFailure(error, reference)
      return nil
    }
  }

  /// Whether an object is new or has a row in the view, also if it is marked as deleted. False if
  /// the store cannot be read, which records the error.
  func hasRow(_ reference: ObjectReference) -> Bool {
    pending.isNew(reference) || viewVersion(of: reference) != nil
  }

  /// Whether an instance is new or has a row, so it can be deleted or connected. Reads no row. If
  /// the store cannot be read, records the error and returns nil; the object may exist.
  func hasRow(_ object: ManagedObject) -> Bool? {
    if object.overlay?.isNew == true { return true }
    dropStaleRow(of: object)
    if object.header.pointee.isGone { return false }
    if object.header.pointee.row != nil { return true }
    do { return try viewState.view.version(of: object.reference) != nil } catch {
      viewState.noteReadFailure(error, object.reference)
      return nil
    }
  }

  /// Whether an object counts as deleted: it has a pending deletion, was deleted before its first
  /// save, or was removed by another context. Reads the view, unless the object's row is known to
  /// be current.
  func countsAsDeleted(_ object: ManagedObject) -> Bool {
    let header = object.header
    if header.pointee.isGone { return header.pointee.hasVanished }
    if let overlay = object.overlay {
      return overlay.isDeleted || !overlay.isNew && viewState.hasVanished(object.reference)
    }
    if header.pointee.isReady { return false }
    guard deletesInaccessibleFaults, hasRow(object) == false else { return false }
    retirement.vanish(object)
    return true
  }
}
