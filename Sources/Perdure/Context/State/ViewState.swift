// The state of the store that a context shows, below its unsaved changes, and what went wrong when it was read.
//
// Accessors cannot throw. A read that fails is noted here, and the next fetch or save throws the error.
//
// Invariants:
//   C5 and C6 are about `vanished`: LinkEditor.swift.

internal import PerdurePredicates

/// The store's state that a context shows.
final class ViewState {
  let store: any PersistentStore
  let graph: GraphSchema
  private let memory: UnsafeMutablePointer<ObjectMemory>
  // Not checked for exclusivity at run time: no function here calls anything that could come back to the context.
  @exclusivity(unchecked) var view: any StoreView
  /// Whether the context stays at its view.
  @exclusivity(unchecked) var isPinned = false
  /// What others have removed, of what unsaved changes are about or lead to (C5).
  @exclusivity(unchecked) var vanished: Set<ObjectReference> = [] {
    didSet { linksChanged() }
  }
  /// The relationships that were read ahead for deletions; nil if none were in this epoch.
  @exclusivity(unchecked) var storedLinks: StoredLinks?
  /// The versions of objects that the next save checks, though it does not write them.
  @exclusivity(unchecked) var watched: [ObjectReference: RowVersion] = [:]
  /// The first error of a read that could not throw. The next fetch or save throws it.
  @exclusivity(unchecked) var readFailure: PerdureError?
  /// Why the context could not advance the last time, by the store's place. The next fetch from the store throws the
  /// error, once.
  @exclusivity(unchecked) private var refreshFailures: [(place: Int, failure: PerdureError)] = []
  @exclusivity(unchecked) var statistics = ContextStatistics()

  init(_ store: any PersistentStore, _ graph: GraphSchema, _ memory: UnsafeMutablePointer<ObjectMemory>) {
    self.store = store
    self.graph = graph
    self.memory = memory
    view = store.view()
    if followsOthers {
      refreshStore()
      view = store.view()
    }
  }

  /// Whether the store is a parent context.
  var isChild: Bool { store is ParentStore }

  /// Whether nothing can be saved at all.
  var isReadOnly: Bool { graph.stores.allSatisfy(\.isReadOnly) }

  /// Whether another process may write what this one only reads.
  var followsOthers: Bool { graph.stores.contains(where: \.isReadOnly) }

  /// What H1 in ObjectHeader.swift compares with.
  var epoch: UInt64 { memory.pointee.epoch }

  /// From now on loaded rows have to be compared with the view again.
  func beginEpoch() {
    memory.pointee.epoch += 1
    storedLinks = nil
    linksChanged()
  }

  /// From now on nothing holds of what is kept (L1).
  @inline(__always)
  func linksChanged() { memory.pointee.linkStamp &+= 1 }

  // MARK: Advancing

  /// What the context moves on to when it is not told where to.
  func nextView() -> any StoreView {
    if isPinned { return view }
    refreshStore()
    return store.view()
  }

  /// Where a store is only read: goes on to what another process has saved. When that cannot be had, the view of that
  /// store stays as it was, and the next fetch that asks it says so; those after it read what could be read before.
  /// Whatever moves the context on tries again. Other stores are not concerned.
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

  /// Says once that the context could not move on in a store.
  func throwRefreshFailure(ofPlace place: Int) throws(PerdureError) {
    guard let position = refreshFailures.firstIndex(where: { $0.place == place }) else { return }
    throw refreshFailures.remove(at: position).failure
  }

  /// Checks that the container has not been closed, which every read of the save would report.
  func checkIsOpen() throws(PerdureError) {
    do { try view.checkIsOpen() } catch { throw error as? PerdureError ?? .saveFailed(error) }
  }

  // MARK: Failed reads

  /// Keeps an error that an accessor cannot throw.
  func noteReadFailure(_ error: any Error, _ reference: ObjectReference) {
    guard readFailure == nil else { return }
    if let error = error as? PerdureError, error.isOfClosedStore {
      readFailure = error
      return
    }
    let reason =
      error is StoreViewExpired ? ", because the store no longer has the state that the context shows" : ""
    var failure = PerdureError(
      .readFailed,
      "\(graph.id(of: reference)) could not be read\(reason). "
        + "The context cannot save until it is rolled back or reset.")
    failure.cause = error
    readFailure = failure
  }

  /// Returns the result of `body`. If the store cannot be read, returns `other`, and the next save
  /// throws the error.
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

  /// What a column shows: a reference to what has vanished, or from it, leads to nothing.
  @inline(__always)
  func shown(_ target: ObjectReference?, of owner: ObjectReference) -> ObjectReference? {
    guard !vanished.isEmpty, let target else { return target }
    return vanished.contains(target) || vanished.contains(owner) ? nil : target
  }

  // MARK: Reading

  /// The row of an object in the state that the context sees, whatever row its instance has.
  func withStoredRow<R>(_ reference: ObjectReference, _ body: (RowView) -> R) -> R? {
    do {
      return try view.withRow(reference) { stored in
        guard let stored else { return nil }
        return body(try graph.store.rows.view(stored.bytes, of: reference))
      }
    } catch {
      noteReadFailure(error, reference)
      return nil
    }
  }

  /// The reference in a column as the store has it.
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

  /// The value in a form that a row can hold: null for ids, lists, and objects that are gone.
  func fitting(_ value: Value, _ shape: EntityShape, _ slot: Int) -> Value {
    switch value {
    case .objectID, .list: .null
    case .reference(let target) where shape.isRelationship(slot) && hasVanished(target): .null
    default: value
    }
  }
}
