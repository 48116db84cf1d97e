// Reports the changes of a context to its observers and to the sequences of its events. Reports
// saves also to the other contexts of the store that merge them.
//
// An event is composed only if it has a receiver.
//
//   processPendingChanges, perform,
//   undo, redo, end of undoGroup,
//   save of a child                  objectsDidChange
//   save                             objectsDidChange, willSave, (hooks, validation, commit,
//                                    didSave of objects), didSave
//   refresh, rollback, reset         objectsDidChange, with the objects that got other values
//   merge                            objectsDidChange (instances with other values), didMerge

internal import PerdurePredicates

/// The content of an event, as references. Observers get objects instead, all other receivers ids.
struct ContextNews {
  var kind: ContextEventKind
  var inserted: [ObjectReference] = []
  var updated: [ObjectReference] = []
  var deleted: [ObjectReference] = []
  var refreshed: [ObjectReference] = []
  var invalidatesAll = false
  /// Whether a receiver uses the values.
  var hasValues = false
  /// As `ContextEvent.commitSequence`.
  var commitSequence: UInt64?
  /// Instances that may no longer be registered when the event is reported.
  var objects: [ObjectReference: ManagedObject] = [:]
  var values: [ObjectReference: [String: Value]] = [:]

  var isEmpty: Bool {
    inserted.isEmpty && updated.isEmpty && deleted.isEmpty && refreshed.isEmpty && !invalidatesAll
  }

  /// The same event, without the inserted, updated and deleted objects for which `holds` is false.
  func filtered(_ holds: (ObjectReference) -> Bool) -> ContextNews {
    var news = self
    news.inserted.removeAll { !holds($0) }
    news.updated.removeAll { !holds($0) }
    news.deleted.removeAll { !holds($0) }
    return news
  }
}

/// The observers of a context and the sequences of its events.
final class EventHub {
  let graph: GraphSchema
  private let registry: ObjectRegistry
  private let pending: PendingChanges
  private let activity: ContextActivity
  /// The observers, which are called in the context's isolation.
  private(set) var observers = ObserverList<ContextNotification>()
  /// New objects that an earlier event has reported, and that were deleted in the current event.
  private var goneInserts: [(reference: ObjectReference, object: ManagedObject?)] = []
  /// The sequences of the context's events.
  private(set) var streams = EventStreams()
  /// Whether another context shares the event sequences.
  private var hasSuccessor = false
  /// Reports the saves of all contexts of the store.
  let saves: SaveBroadcast
  /// The saves of other contexts that are not merged yet; nil if the context does not merge
  /// automatically.
  var inbox: MergeInbox?
  /// The log of fetches and saves.
  let logSwitch: LogSwitch
  /// The handle, while the program retains it.
  weak var handle: ManagedObjectContext?

  init(
    source: ContextSource, registry: ObjectRegistry, pending: PendingChanges,
    activity: ContextActivity
  ) {
    graph = source.graph
    self.registry = registry
    self.pending = pending
    self.activity = activity
    saves = source.saves
    logSwitch = source.log
  }

  /// Shares the observers and event sequences of another context.
  func takeOver(_ old: EventHub) {
    observers = old.observers
    streams = old.streams
    old.hasSuccessor = true
  }

  /// Releases the observers, and ends the sequences that no other context shares.
  func abandon() {
    stopMerging()
    if !hasSuccessor { streams.finish() }
    forgetObservers()
    forgetGone()
  }

  func stopMerging() {
    if let inbox = inbox { saves.remove(inbox) }
    inbox = nil
  }

  /// Whether the context has observers or event sequences.
  var isObserved: Bool { !observers.isEmpty || !streams.isEmpty }

  func observe(_ observer: @escaping (ContextNotification) -> Void) -> ContextObservation {
    return observers.add(observer)
  }

  /// Releases the observers. Another context may share and keep them.
  func forgetObservers() {
    let released = observers
    observers = ObserverList()
    withExtendedLifetime(released) {}
  }

  // MARK: Content of events

  /// The unsaved changes; nil if there are none, or no receiver.
  ///
  /// - Parameter isSaved: Whether the receivers of the store's saves count too.
  func pendingNews(_ kind: ContextEventKind, isSaved: Bool = false) -> ContextNews? {
    guard isObserved || isSaved && !saves.isEmpty else { return nil }
    var news = ContextNews(kind: kind)
    // Contexts that merge need only the objects.
    news.hasValues = !streams.isEmpty || isSaved && !saves.streams.isEmpty
    for overlay in pending.ordered.joined() { add(overlay, overlay.state, to: &news) }
    return news.isEmpty ? nil : news
  }

  private func add(_ overlay: ObjectOverlay, _ state: ObjectState, to news: inout ContextNews) {
    let reference = overlay.reference
    switch state {
    case .inserted: news.inserted.append(reference)
    case .updated: news.updated.append(reference)
    case .deleted: news.deleted.append(reference)
    case .stored, .gone: return
    }
    if !observers.isEmpty { news.objects[reference] = registry.instance(of: reference) }
    guard state != .deleted, news.hasValues else { return }
    news.values[reference] = changedColumns(overlay)
  }

  private func changedColumns(_ overlay: ObjectOverlay) -> [String: Value] {
    var values: [String: Value] = [:]
    overlay.withColumns { columns, marks in
      for slot in marks.indices where marks[slot] && overlay.shape.isColumn(slot) {
        values[overlay.shape.propertyName(slot)] = graph.shown(columns[slot])
      }
    }
    return values
  }

  /// The changes of the event that is about to end; nil if there are none, or no receiver.
  ///
  /// - Parameter edited: The overlays that were edited in the event.
  func newsOfEvent(_ edited: [ObjectOverlay]) -> ContextNews? {
    guard isObserved else { return nil }
    var news = ContextNews(kind: .objectsDidChange)
    news.hasValues = !streams.isEmpty
    for overlay in edited {
      let (before, now) = (overlay.reportedState, overlay.state)
      if before == now, overlay.isBeforeEvent { continue }
      switch (before, now) {
      case (.inserted, .inserted): add(overlay, .updated, to: &news)
      case (.gone, .inserted): add(overlay, .inserted, to: &news)
      case (.deleted, .deleted), (nil, .gone), (.gone, _): continue
      case (_, .gone): add(overlay, .deleted, to: &news)
      default: add(overlay, now, to: &news)
      }
    }
    let restored = pending.eventStarts.keys.filter { pending[$0] == nil }
    news.refreshed = restored.sorted { $0.rawValue < $1.rawValue }
    addGone(to: &news)
    return news.isEmpty ? nil : news
  }

  /// Adds the new objects that were deleted: they have no unsaved changes any more.
  private func addGone(to news: inout ContextNews) {
    for (reference, object) in goneInserts.sorted(by: { $0.reference.rawValue < $1.reference.rawValue }) {
      news.deleted.append(reference)
      news.objects[reference] = object
    }
  }

  /// Remembers a reported new object whose overlay is about to be dropped, until the deletion is
  /// reported.
  func noteGone(_ overlay: ObjectOverlay) {
    guard overlay.isNew, overlay.reportedState == .inserted, isObserved else { return }
    goneInserts.append(
      (overlay.reference, observers.isEmpty ? nil : registry.instance(of: overlay.reference)))
  }

  /// The references of new objects that an earlier event has reported, and that were deleted in the
  /// current event.
  var goneReferences: Set<ObjectReference> { Set(goneInserts.map(\.reference)) }

  /// Forgets the deleted objects for which `isBack` is true: they exist again.
  func forgetGone(where isBack: (ObjectReference) -> Bool) {
    goneInserts.removeAll { isBack($0.reference) }
  }

  func forgetGone() {
    if goneInserts.isEmpty { return }
    let gone = goneInserts
    goneInserts = []
    withExtendedLifetime(gone) {}
  }

  /// The changed objects, before they get other values; nil if there is no receiver.
  func newsOfRefresh() -> ContextNews? {
    guard isObserved else { return nil }
    var news = ContextNews(kind: .objectsDidChange)
    for overlay in pending.ordered.joined() {
      // A new object that was never reported needs no report of its removal.
      guard overlay.isNew ? overlay.reportedState == .inserted : overlay.state.isPending else { continue }
      if !observers.isEmpty { news.objects[overlay.reference] = registry.instance(of: overlay.reference) }
      if overlay.isNew {
        news.deleted.append(overlay.reference)
      } else {
        news.refreshed.append(overlay.reference)
      }
    }
    addGone(to: &news)
    return news
  }

  // MARK: Reports

  func tell(_ news: ContextNews?) {
    guard let news, !news.isEmpty else { return }
    if !streams.isEmpty || news.kind == .didSave && !saves.isEmpty {
      let event = event(news)
      streams.yield(event)
      if news.kind == .didSave { saves.tell(event, besides: inbox) }
    }
    guard !observers.isEmpty, let handle = handle else { return }
    let notification = notification(news, handle)
    activity.callProgram { observers.call(notification) }
  }

  private func event(_ news: ContextNews) -> ContextEvent {
    var event = ContextEvent(news.kind)
    event.insertedObjectIDs = Set(news.inserted.map(pending.objectID))
    event.updatedObjectIDs = Set(news.updated.map(pending.objectID))
    event.deletedObjectIDs = Set(news.deleted.map(pending.objectID))
    event.refreshedObjectIDs = Set(news.refreshed.map(pending.objectID))
    event.invalidatesAllObjects = news.invalidatesAll
    event.commitSequence = news.commitSequence
    for (reference, values) in news.values { event.values[pending.objectID(of: reference)] = values }
    return event
  }

  private func notification(_ news: ContextNews, _ handle: ManagedObjectContext) -> ContextNotification {
    func objects(_ references: [ObjectReference]) -> Set<ManagedObject> {
      Set(references.map { news.objects[$0] ?? registry.instance(of: $0) })
    }
    var notification = ContextNotification(news.kind, handle)
    notification.insertedObjects = objects(news.inserted)
    notification.updatedObjects = objects(news.updated)
    notification.deletedObjects = Set(news.deleted.compactMap { news.objects[$0] })
    notification.refreshedObjects = objects(news.refreshed)
    notification.invalidatesAllObjects = news.invalidatesAll
    return notification
  }
}
