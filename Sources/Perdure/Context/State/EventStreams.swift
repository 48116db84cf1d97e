internal import PerdureFileIO

/// The sequences of events that have a subscriber. All members may be used on any thread.
final class EventStreams: Sendable {
  private struct State {
    var continuations: [Int: AsyncStream<ContextEvent>.Continuation] = [:]
    var lastNumber = 0
  }

  private let state = Guarded(State())

  deinit { finish() }

  /// Ends the sequences after the events that were yielded.
  func finish() {
    let ended = state.withLock { state in
      defer { state.continuations = [:] }
      return state.continuations.values.map { $0 }
    }
    // Runs outside of the lock, because the termination handler acquires it.
    for continuation in ended { continuation.finish() }
  }

  /// Whether there is no subscriber.
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
    // Runs outside of the lock, because the termination handler may run and acquire it.
    for continuation in state.withLock({ $0.continuations.sorted { $0.key < $1.key }.map(\.value) }) {
      continuation.yield(event)
    }
  }
}

/// Reports each save to the subscribers of the store's saves, and to the other contexts that merge
/// automatically. All members may be used on any thread.
final class SaveBroadcast: Sendable {
  let streams = EventStreams()
  private let inboxes = Guarded<[ObjectIdentifier: MergeInbox]>([:])

  /// Whether there is no receiver.
  var isEmpty: Bool { streams.isEmpty && inboxes.withLock(\.isEmpty) }

  func add(_ inbox: MergeInbox) { inboxes.withLock { $0[ObjectIdentifier(inbox)] = inbox } }

  func remove(_ inbox: MergeInbox) {
    let removed = inboxes.withLock { $0.removeValue(forKey: ObjectIdentifier(inbox)) }
    withExtendedLifetime(removed) {}
  }

  /// - Parameter own: The inbox of the context that has saved; it gets no report.
  func tell(_ event: ContextEvent, besides own: MergeInbox?) {
    streams.yield(event)
    for inbox in inboxes.withLock({ $0.values.map { $0 } }) where inbox !== own { inbox.put(event) }
  }
}

/// The saves of other contexts that a context has not merged yet. Old saves are dropped: otherwise
/// a context that never merges accumulates them.
final class MergeInbox: Sendable {
  /// The saves that are not merged yet.
  struct Content {
    /// The oldest first, without their values.
    fileprivate(set) var events: [ContextEvent] = []
    /// Whether the inbox has all saves: none was dropped, and none is unknown.
    fileprivate(set) var isComplete = true
    fileprivate var objectCount = 0

    var isEmpty: Bool { events.isEmpty && isComplete }
  }

  /// The maximum numbers of saves and of their objects. If one of them is reached, old saves are
  /// dropped.
  static let (eventsMax, objectsMax) = (256, 65_536)

  private let content = Guarded(Content())
  private let wake: (@Sendable () -> Void)?

  /// - Parameter wake: Called on any thread when a save arrives in the empty inbox, when unknown
  ///   saves are recorded, and by `wakeForWaiting`.
  init(wake: (@Sendable () -> Void)?) { self.wake = wake }

  /// Whether there is no save to merge.
  var isEmpty: Bool { content.withLock(\.isEmpty) }

  func put(_ event: ContextEvent) {
    var event = event
    // A merge needs only the objects.
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

  /// Records that other contexts have saved unknown changes.
  func putUnknown() {
    content.withLock { $0.isComplete = false }
    wake?()
  }

  /// Calls `wake` if saves wait, because they arrived while merging was impossible.
  func wakeForWaiting() {
    if !content.withLock(\.isEmpty) { wake?() }
  }

  /// Removes and returns the saves.
  func take() -> Content {
    content.withLock { content in
      defer { content = Content() }
      return content
    }
  }
}

extension MergeInbox.Content {
  /// Drops the older half of the saves. Dropping many at once takes O(1) for each save, amortized.
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
