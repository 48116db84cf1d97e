// What a context tells of itself, and of what.
//
// Nothing is put together unless somebody listens: an observer in the context, a sequence of its events, or, of
// saves, another context of the store that merges them.
//
//   processPendingChanges, perform,
//   undo, redo, end of undoGroup     objectsDidChange
//   save                             objectsDidChange, willSave, (hooks, validation, commit, didSave of objects), didSave
//   refresh, rollback, reset         objectsDidChange, with what was given other values
//   merge                            objectsDidChange (instances with other values), didMerge

internal import PerdurePredicates

/// What is told: as references, which become objects for observers and ids for everybody else.
struct ContextNews {
  var kind: ContextEventKind
  var inserted: [ObjectReference] = []
  var updated: [ObjectReference] = []
  var deleted: [ObjectReference] = []
  var refreshed: [ObjectReference] = []
  var invalidatesAll = false
  /// Whether somebody wants to hear of values too.
  var hasValues = false
  /// As `ContextEvent.commitSequence`.
  var commitSequence: UInt64?
  /// Instances that may not be there any more when it is told.
  var objects: [ObjectReference: ManagedObject] = [:]
  var values: [ObjectReference: [String: Value]] = [:]

  var isEmpty: Bool {
    inserted.isEmpty && updated.isEmpty && deleted.isEmpty && refreshed.isEmpty && !invalidatesAll
  }

  /// Only what fulfils a condition.
  func filtered(_ holds: (ObjectReference) -> Bool) -> ContextNews {
    var news = self
    news.inserted.removeAll { !holds($0) }
    news.updated.removeAll { !holds($0) }
    news.deleted.removeAll { !holds($0) }
    return news
  }
}

/// The observers and sequences of a context's events, and the news for them.
final class EventHub {
  let graph: GraphSchema
  private let registry: ObjectRegistry
  private let pending: PendingChanges
  /// The observers in the context's isolation.
  private(set) var observers = ObserverList<ContextNotification>()
  /// The new objects that observers know of and that were taken back in the current event.
  private var goneInserts: [(reference: ObjectReference, object: ManagedObject?)] = []
  /// The sequences of the context's events.
  private(set) var streams = EventStreams()
  /// Whether another context has taken over the event sequences.
  private var hasSuccessor = false
  /// The saves of all contexts of the store.
  let saves: SaveBroadcast
  /// What others have saved and is to be merged; nil where nothing is merged by itself.
  var inbox: MergeInbox?
  /// Who wants to know what fetches and saves take.
  let logSwitch: LogSwitch
  /// The handle, while a user holds it.
  weak var handle: ManagedObjectContext?

  init(_ source: ContextSource, _ registry: ObjectRegistry, _ pending: PendingChanges) {
    graph = source.graph
    self.registry = registry
    self.pending = pending
    saves = source.saves
    logSwitch = source.log
  }

  /// Takes over the observers and event sequences of another context, which keeps them too.
  func takeOver(_ old: EventHub) {
    observers = old.observers
    streams = old.streams
    old.hasSuccessor = true
  }

  /// Ends the observers and sequences that no other context has taken over.
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

  /// Whether somebody wants to hear of anything.
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

  // MARK: What there is to tell

  /// What is pending, if anybody wants to hear of it.
  ///
  /// - Parameter isSaved: Whether others than this context's may want to.
  func pendingNews(_ kind: ContextEventKind, isSaved: Bool = false) -> ContextNews? {
    guard isObserved || isSaved && !saves.isEmpty else { return nil }
    var news = ContextNews(kind: kind)
    // Contexts that merge want the objects alone.
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

  /// What has changed in the event that is about to end.
  ///
  /// - Parameter edited: The overlays that were edited in it.
  func newsOfEvent(_ edited: [ObjectOverlay]) -> ContextNews? {
    guard isObserved else { return nil }
    var news = ContextNews(kind: .objectsDidChange)
    news.hasValues = !streams.isEmpty
    for overlay in edited {
      let (before, now) = (overlay.toldState, overlay.state)
      if before == now, overlay.isBeforeEvent { continue }
      switch (before, now) {
      case (.inserted, .inserted): add(overlay, .updated, to: &news)
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

  /// What was inserted and is deleted leaves no changes.
  private func addGone(to news: inout ContextNews) {
    for (reference, object) in goneInserts.sorted(by: { $0.reference.rawValue < $1.reference.rawValue }) {
      news.deleted.append(reference)
      news.objects[reference] = object
    }
  }

  /// Keeps a new object whose overlay is about to go until observers, who know of it, have heard that it is gone.
  func noteGone(_ overlay: ObjectOverlay) {
    guard overlay.isNew, overlay.toldState == .inserted, isObserved else { return }
    goneInserts.append(
      (overlay.reference, observers.isEmpty ? nil : registry.instance(of: overlay.reference)))
  }

  /// The new objects that observers know of and that were taken back in the current event.
  var goneReferences: Set<ObjectReference> { Set(goneInserts.map(\.reference)) }

  /// Forgets those that fulfil a condition.
  func forgetGone(where isBack: (ObjectReference) -> Bool) {
    goneInserts.removeAll { isBack($0.reference) }
  }

  func forgetGone() {
    if goneInserts.isEmpty { return }
    let gone = goneInserts
    goneInserts = []
    withExtendedLifetime(gone) {}
  }

  /// The changed objects, about to be given other values; nil when nobody wants to hear of it.
  func newsOfRefresh() -> ContextNews? {
    guard isObserved else { return nil }
    var news = ContextNews(kind: .objectsDidChange)
    for overlay in pending.ordered.joined() {
      // Of a new object that nobody has heard of there is nothing to tell.
      guard overlay.isNew ? overlay.toldState == .inserted : overlay.state.isPending else { continue }
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

  // MARK: Telling

  func tell(_ news: ContextNews?) {
    guard let news, !news.isEmpty else { return }
    if !streams.isEmpty || news.kind == .didSave && !saves.isEmpty {
      let event = event(news)
      streams.yield(event)
      if news.kind == .didSave { saves.tell(event, besides: inbox) }
    }
    guard !observers.isEmpty, let handle = handle else { return }
    observers.call(notification(news, handle))
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
