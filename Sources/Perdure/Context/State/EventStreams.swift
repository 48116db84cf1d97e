internal import PerdureFileIO

/// Sequences of events that somebody listens to. Any thread may call anything.
final class EventStreams: Sendable {
  private struct State {
    var continuations: [Int: AsyncStream<ContextEvent>.Continuation] = [:]
    var lastNumber = 0
  }

  private let state = Guarded(State())

  deinit { finish() }

  /// Ends the sequences, after what was told.
  func finish() {
    let ended = state.withLock { state in
      defer { state.continuations = [:] }
      return state.continuations.values.map { $0 }
    }
    // Outside of the lock: who listens may end.
    for continuation in ended { continuation.finish() }
  }

  /// Whether nobody listens.
  var isEmpty: Bool { state.withLock { $0.continuations.isEmpty } }

  func make(_ bufferCount: Int) -> AsyncStream<ContextEvent> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: ContextEvent.self, bufferingPolicy: .bufferingNewest(bufferCount))
    let number = state.withLock { state in
      state.lastNumber += 1
      state.continuations[state.lastNumber] = continuation
      return state.lastNumber
    }
    continuation.onTermination = { [weak self] _ in self?.remove(number) }
    return stream
  }

  private func remove(_ number: Int) {
    let removed = state.withLock { $0.continuations.removeValue(forKey: number) }
    withExtendedLifetime(removed) {}
  }

  func yield(_ event: ContextEvent) {
    // Outside of the lock: who listens may end.
    for continuation in state.withLock({ $0.continuations.sorted { $0.key < $1.key }.map(\.value) }) {
      continuation.yield(event)
    }
  }
}

/// Tells the contexts of a store of each other's saves. Any thread may call anything.
final class SaveBroadcast: Sendable {
  let streams = EventStreams()
  private let inboxes = Guarded<[ObjectIdentifier: MergeInbox]>([:])

  /// Whether nobody listens.
  var isEmpty: Bool { streams.isEmpty && inboxes.withLock(\.isEmpty) }

  func add(_ inbox: MergeInbox) { inboxes.withLock { $0[ObjectIdentifier(inbox)] = inbox } }

  func remove(_ inbox: MergeInbox) {
    let removed = inboxes.withLock { $0.removeValue(forKey: ObjectIdentifier(inbox)) }
    withExtendedLifetime(removed) {}
  }

  /// - Parameter own: The inbox of who has saved.
  func tell(_ event: ContextEvent, besides own: MergeInbox?) {
    streams.yield(event)
    for inbox in inboxes.withLock({ $0.values.map { $0 } }) where inbox !== own { inbox.put(event) }
  }
}

/// What other contexts have saved and a context has yet to merge: the newest of it, for one that never comes by.
final class MergeInbox: Sendable {
  /// What waits.
  struct Content {
    /// The oldest first, without their values.
    fileprivate(set) var events: [ContextEvent] = []
    /// Whether nothing was dropped.
    fileprivate(set) var isComplete = true
    fileprivate var objectCount = 0

    var isEmpty: Bool { events.isEmpty && isComplete }
  }

  /// More saves than that do not wait, nor more than about so many objects.
  static let (eventsMax, objectsMax) = (256, 65_536)

  private let content = Guarded(Content())
  private let wake: (@Sendable () -> Void)?

  /// - Parameter wake: Called when there is something to merge, on any thread.
  init(wake: (@Sendable () -> Void)?) { self.wake = wake }

  /// Whether no save waits.
  var isEmpty: Bool { content.withLock(\.isEmpty) }

  func put(_ event: ContextEvent) {
    var event = event
    // Merging asks for the objects alone.
    event.values = [:]
    let isFirst = content.withLock { content in
      let isFirst = content.isEmpty
      if content.events.count >= Self.eventsMax || content.objectCount >= Self.objectsMax {
        content.dropHalf()
      }
      content.events.append(event)
      content.objectCount += event.objectCount
      return isFirst
    }
    if isFirst { wake?() }
  }

  /// Notes that other contexts have saved changes that are not known.
  func putUnknown() {
    content.withLock { $0.isComplete = false }
    wake?()
  }

  /// Wakes again, for what came while nothing could be merged.
  func wakeForWaiting() {
    if !content.withLock(\.isEmpty) { wake?() }
  }

  /// All of it.
  func take() -> Content {
    content.withLock { content in
      defer { content = Content() }
      return content
    }
  }
}

extension MergeInbox.Content {
  /// The older half, so that a save costs no more in the long run for those that wait.
  fileprivate mutating func dropHalf() {
    events.removeFirst((events.count + 1) / 2)
    objectCount = events.reduce(0) { $0 + $1.objectCount }
    isComplete = false
  }
}

extension ContextEvent {
  fileprivate var objectCount: Int {
    insertedObjectIDs.count + updatedObjectIDs.count + deletedObjectIDs.count
  }
}
