internal import Dispatch

/// The isolation in which a context may be used. The compiler keeps contexts in their isolation.
/// Debug builds also check uses that the compiler cannot see: clients in older language modes, and
/// objects passed as `Any`.
enum ContextOwnership: Sendable {
  /// In any isolation: the program chooses it, so no check is possible.
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

  /// In debug builds, stops a program that uses the context outside of its isolation.
  @inline(__always)
  func check() { assert(isCurrent, complaint) }

  var complaint: String {
    switch self {
    case .local: ""
    case .main:
      "The view context or its object was used outside of the main actor. Use them on the main actor."
    case .queue:
      "A background context or its object was used outside of perform and performAndWait. "
        + "Use them inside of these calls."
    }
  }
}

/// Identifies a queue.
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
