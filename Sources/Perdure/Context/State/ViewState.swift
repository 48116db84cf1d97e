// The state of the store that a context shows, below its unsaved changes, and the errors of its
// reads.
//
// Accessors cannot throw. The first error of a failed read is recorded here. Fetches and saves
// throw it until a rollback or a reset.
//
// LinkEditor.swift has the invariants CX5 and CX6 of `vanished`.

internal import PerdurePredicates

/// The state of the store that a context shows.
final class ViewState {
  let store: any PersistentStore
  let graph: GraphSchema
  private let memory: UnsafeMutablePointer<ObjectMemory>
  // The exclusivity of accesses is not checked at run time: no function here calls the context.
  @exclusivity(unchecked) var view: any StoreView {
    didSet { layouts.move(to: view.schema.rows) }
  }
  @exclusivity(unchecked) private var layouts: ShownLayouts
  /// Whether the view stays unchanged until the program advances it.
  @exclusivity(unchecked) var isPinned = false
  /// Objects that another context has removed, and that unsaved changes concern or link to (CX5).
  @exclusivity(unchecked) var vanished: Set<ObjectReference> = [] {
    didSet { linksChanged() }
  }
  /// The relationships that were read ahead for deletions; nil if there are none since
  /// `beginEpoch`.
  @exclusivity(unchecked) var storedLinks: StoredLinks?
  /// The versions of objects that the next save checks but does not write.
  @exclusivity(unchecked) var watched: [ObjectReference: RowVersion] = [:]
  /// The first error of a read that could not throw. Fetches and saves throw it until a rollback or
  /// a reset.
  @exclusivity(unchecked) var readFailure: PerdureError?
  /// The errors of the last refresh, by the ordinal of the store. The next fetch from the store
  /// throws its error, once.
  @exclusivity(unchecked) private var refreshFailures: [(place: Int, failure: PerdureError)] = []
  @exclusivity(unchecked) var statistics = ContextStatistics()

  init(_ store: any PersistentStore, _ graph: GraphSchema, _ memory: UnsafeMutablePointer<ObjectMemory>) {
    self.store = store
    self.graph = graph
    self.memory = memory
    let view = store.view()
    (self.view, layouts) = (view, ShownLayouts(view.schema.rows))
    if followsOthers {
      refreshStore()
      self.view = store.view()
      // In an initializer, `didSet` is not called.
      layouts.move(to: self.view.schema.rows)
    }
  }

  /// The layouts with which the rows of the view are decoded.
  var rows: RowChecks { layouts.current }

  /// Whether the store is a parent context.
  var isChild: Bool { store is ParentStore }

  /// Whether all stores are read-only.
  var isReadOnly: Bool { graph.stores.allSatisfy(\.isReadOnly) }

  /// Whether another process may write to a store that this process only reads.
  var followsOthers: Bool { graph.stores.contains(where: \.isReadOnly) }

  /// The current epoch of the context (H1 in ObjectHeader.swift).
  var epoch: UInt64 { memory.pointee.epoch }

  /// Begins an epoch: loaded rows must be compared with the view before their next use.
  func beginEpoch() {
    memory.pointee.epoch += 1
    storedLinks = nil
    linksChanged()
  }

  /// Invalidates the cached relationships (KR1).
  @inline(__always)
  func linksChanged() { memory.pointee.linkStamp &+= 1 }

  // MARK: Advancing

  /// The view to which the context advances unless the caller passes one.
  func nextView() -> any StoreView {
    if isPinned { return view }
    refreshStore()
    return store.view()
  }

  /// Advances read-only stores to the state that other processes have saved.
  ///
  /// If a store cannot be read, its view stays unchanged, and the next fetch from it throws the
  /// error, once. Later fetches read the old state. The next refresh retries. Other stores are not
  /// affected.
  func refreshStore() {
    guard followsOthers else { return }
    refreshFailures = []
    do { try store.refresh() } catch {
      let causes = (error as? JoinedRefreshFailure)?.causes
      refreshFailures = (causes ?? [(0, error)]).map { place, cause in
        var failure = PerdureError(
          .readFailed,
          "The newest state of the store \(graph.stores[place].identifier) could not be read. Fetches still read the "
            + "state before it. Refresh the context to try again.")
        failure.cause = cause
        return (place, failure)
      }
    }
  }

  /// Throws the error of a store's last refresh, once.
  func throwRefreshFailure(ofPlace place: Int) throws(PerdureError) {
    guard let position = refreshFailures.firstIndex(where: { $0.place == place }) else { return }
    throw refreshFailures.remove(at: position).failure
  }

  /// Throws if the container was closed, so that the reads of a save need not report it.
  func checkIsOpen() throws(PerdureError) {
    do { try view.checkIsOpen() } catch { throw error as? PerdureError ?? .saveFailed(error) }
  }

  // MARK: Failed reads

  /// Records the error of a read in an accessor, which cannot throw.
  ///
  /// - Parameter reference: The object that was read; nil if several were read together.
  func noteReadFailure(_ error: any Error, _ reference: ObjectReference?) {
    guard readFailure == nil else { return }
    if let error = error as? PerdureError, error.isOfClosedStore {
      readFailure = error
      return
    }
    let reason =
      error is StoreViewExpired ? ", because the store no longer has the state that the context shows" : ""
    var failure = PerdureError(
      .readFailed,
      "\(reference.map { "\(graph.id(of: $0))" } ?? "The changed objects") could not be read\(reason)."
        + PerdureError.demandOfRollback)
    failure.cause = error
    readFailure = failure
  }

  /// Returns the result of `body`. If the store cannot be read, records the error and returns
  /// `other`.
  func reading<T>(_ owner: ObjectReference, or other: T, _ body: () throws -> T) -> T {
    do { return try body() } catch {
      noteReadFailure(error, owner)
      return other
    }
  }

  /// Throws the first error of a read that could not throw.
  func throwReadFailure() throws(PerdureError) {
    if let readFailure { throw readFailure }
  }

  // MARK: Removed objects

  /// Whether an object that is changed or linked to here has been removed by another context.
  @inline(__always)
  func hasVanished(_ reference: ObjectReference) -> Bool {
    !vanished.isEmpty && vanished.contains(reference)
  }

  /// The reference that a column shows: nil if its target or its owner was removed by another
  /// context.
  @inline(__always)
  func shown(_ target: ObjectReference?, of owner: ObjectReference) -> ObjectReference? {
    guard !vanished.isEmpty, let target else { return target }
    return vanished.contains(target) || vanished.contains(owner) ? nil : target
  }

  // MARK: Reading

  /// Passes the row of an object in the view to `body`, even if the instance has another row.
  /// Returns nil if there is no row, or if the store cannot be read.
  func withStoredRow<R>(_ reference: ObjectReference, _ body: (RowView) -> R) -> R? {
    do { return try readStoredRow(reference, body) } catch {
      noteReadFailure(error, reference)
      return nil
    }
  }

  /// As `withStoredRow`, but throws if the store cannot be read.
  func readStoredRow<R>(_ reference: ObjectReference, _ body: (RowView) -> R) throws -> R? {
    try view.withRow(reference) { stored in
      guard let stored else { return nil }
      return body(try rows.view(stored.bytes, of: reference))
    }
  }

  /// The row of an object in the view; valid as long as the view is the same.
  func keptRow(_ reference: ObjectReference) -> KeptRow? {
    do {
      return try view.withRow(reference) { stored in
        guard let stored else { return nil }
        let row = try rows.view(stored.bytes, of: reference)
        return KeptRow(row, version: stored.version, isKept: view.keepsRows)
      }
    } catch {
      noteReadFailure(error, reference)
      return nil
    }
  }

  /// The reference in a column of the stored row.
  func storedColumn(_ reference: ObjectReference, _ slot: Int) -> ObjectReference? {
    withStoredRow(reference) { row in
      let field = row.fields[slot]
      return row.isPresent(field) ? row.reference(field) : nil
    } ?? nil
  }

  /// The stored references of an owner, if they were read ahead.
  @inline(__always)
  func linksReadAhead(under owner: ObjectReference, in index: StoreIndex) -> [ObjectReference]? {
    storedLinks?.references(under: owner, in: index)
  }

  func isInView(_ reference: ObjectReference) -> Bool {
    do { return try view.version(of: reference) != nil } catch {
      noteReadFailure(error, reference)
      return false
    }
  }

  /// The value if a row can hold it; null for ids, lists, and references to objects that were
  /// removed by another context.
  func fitting(_ value: Value, _ shape: EntityShape, _ slot: Int) -> Value {
    switch value {
    case .objectID, .list: .null
    case .reference(let target) where shape.isRelationship(slot) && hasVanished(target): .null
    default: value
    }
  }
}

/// The layouts of the rows that a context has loaded or kept. Such rows point to the layouts, so
/// the layouts live as long as the context.
private struct ShownLayouts {
  /// The layouts of the view.
  private(set) var current: RowChecks
  /// The layouts of earlier views with other schemas.
  private var earlier: [RowChecks] = []

  init(_ current: RowChecks) {
    self.current = current
  }

  mutating func move(to newest: RowChecks) {
    if newest === current { return }
    if !earlier.contains(where: { $0 === current }) { earlier.append(current) }
    current = newest
  }
}
