internal import Dispatch

/// Where a context may be used. The compiler keeps contexts in their isolation; this finds, in debug
/// builds, what it cannot see: clients in older language modes, and objects that travelled as `Any`.
enum ContextOwnership: Sendable {
  /// Wherever its owner is: nothing can be said.
  case local
  /// On the main queue.
  case main
  /// On the queue of a background context.
  case queue(QueueMark)

  var isCurrent: Bool {
    switch self {
    case .local: true
    case .main: QueueMark.main.isCurrent
    case .queue(let mark): mark.isCurrent
    }
  }

  var complaint: String {
    switch self {
    case .local: ""
    case .main: "The view context and its objects are the main actor's: they were used somewhere else."
    case .queue:
      "A background context and its objects may be used inside perform and performAndWait only: "
        + "they were used somewhere else."
    }
  }
}

/// A queue that knows itself again.
final class QueueMark: Sendable {
  private static let key = DispatchSpecificKey<ObjectIdentifier>()
  static let main = QueueMark(.main)

  let queue: DispatchQueue

  init(_ queue: DispatchQueue) {
    self.queue = queue
    queue.setSpecific(key: Self.key, value: ObjectIdentifier(self))
  }

  /// Whether the caller runs on the queue.
  var isCurrent: Bool {
    DispatchQueue.getSpecific(key: Self.key) == ObjectIdentifier(self)
  }
}
