public import PerdureFileIO

/// A failure that a `SimulatedFileSystem` produces on purpose.
///
///     fileSystem.inject(InjectedFailure(of: .sync, nth: 3, code: .mediaError, effect: .forgetsWrites))
///
/// To test every error path, make the nth call of any kind fail, for n from 1 until no call of a
/// run fails.
public struct InjectedFailure: Sendable {
  /// The state that the failed call leaves.
  public enum Effect: Sendable, Hashable {
    /// The call does nothing.
    case nothing
    /// A write stores its first `byteCount` bytes, or all bytes if it has fewer. Then it fails.
    case partialWrite(byteCount: Int)
    /// A read reports no error, but returns at most `byteCount` bytes, and always fewer than a full
    /// read. So the file seems to end. A read at the end of the file is not changed. Other calls
    /// fail.
    case partialRead(byteCount: Int)
    /// A failed sync drops its pending writes: they can be read, but no later sync makes them
    /// durable. Some systems do this after a medium error.
    case forgetsWrites
  }

  /// The kind of call that fails; nil for any.
  public let operation: FileOperation?

  /// The text that the path of a call must contain; nil for calls with any path.
  public let pathContains: String?

  /// The number of the failing call, counted from the injection. 1 is the next one. Only calls of
  /// this kind and to these paths count. With `partialRead`, reads at the end of a file do not
  /// count. With `dropsNames`, directory syncs count as syncs.
  public let nth: Int

  /// Whether later calls fail too.
  public let repeats: Bool

  /// The code of the error. If the caller gave `errno`, the code is derived from it.
  public let code: FileIOError.Code

  /// The system's number of the error; 0 if there is none.
  public let errno: Int32

  /// The state that the failed call leaves.
  public let effect: Effect

  /// Whether a failure of `.sync` also applies to directory syncs. With the effect `forgetsWrites`,
  /// such a failure drops the pending changes of names in the directory.
  package var dropsNames = false

  /// Describes a failure.
  ///
  /// - Parameters:
  ///   - operation: The kind of call that fails; nil for any.
  ///   - nth: The call that fails, counted from the injection: 1 or more.
  ///   - repeats: Whether later calls fail too.
  ///   - code: The code of the error.
  ///   - effect: The state that the failed call leaves.
  ///   - pathContains: The text that the path of a call must contain; nil for calls with any path.
  public init(
    of operation: FileOperation?, nth: Int = 1, repeats: Bool = false,
    code: FileIOError.Code = .mediaError, effect: Effect = .nothing, pathContains: String? = nil
  ) {
    self.init(operation, nth, repeats, code, errno: 0, effect, pathContains)
  }

  /// Describes a failure by its error number in the system, such as `EINTR`. The code is derived
  /// from it.
  ///
  /// - Parameters:
  ///   - operation: The kind of call that fails; nil for any.
  ///   - nth: The call that fails, counted from the injection: 1 or more.
  ///   - repeats: Whether later calls fail too.
  ///   - errno: The system's number of the error.
  ///   - effect: The state that the failed call leaves.
  ///   - pathContains: The text that the path of a call must contain; nil for calls with any path.
  public init(
    of operation: FileOperation?, nth: Int = 1, repeats: Bool = false, errno: Int32,
    effect: Effect = .nothing, pathContains: String? = nil
  ) {
    self.init(operation, nth, repeats, FileIOError.Code(errno: errno), errno: errno, effect, pathContains)
  }

  private init(
    _ operation: FileOperation?, _ nth: Int, _ repeats: Bool, _ code: FileIOError.Code, errno: Int32,
    _ effect: Effect, _ pathContains: String?
  ) {
    precondition(nth >= 1, "The number of the failing call must be at least 1.")
    precondition((effect.byteCount ?? 0) >= 0, "The number of written or read bytes must not be negative.")
    (self.operation, self.pathContains) = (operation, pathContains)
    (self.nth, self.repeats) = (nth, repeats)
    (self.code, self.errno, self.effect) = (code, errno, effect)
  }
}

extension InjectedFailure.Effect {
  /// The number of bytes that are transferred despite the failure.
  fileprivate var byteCount: Int? {
    switch self {
    case .partialWrite(let count), .partialRead(let count): count
    case .nothing, .forgetsWrites: nil
    }
  }
}

extension InjectedFailure: CustomStringConvertible {
  /// The calls that fail, and the kind of failure.
  public var description: String {
    let call = operation.map { "call of \($0.rawValue)" } ?? "call"
    let number = errno == 0 ? "" : " (errno \(errno))"
    let place = pathContains.map { " to \($0)" } ?? ""
    return "\(call) \(nth)\(place)\(repeats ? " and all later ones" : ""): \(code)\(number), \(effect)"
  }

  /// The detail of injected errors.
  static let detail = "injected"

  func error(_ operation: FileIOError.Operation, path: String, offset: UInt64? = nil) -> FileIOError {
    guard errno == 0 else {
      return FileIOError(
        errno: errno, operation: operation, path: path, offset: offset, detail: Self.detail)
    }
    return FileIOError(code, operation: operation, path: path, offset: offset, detail: Self.detail)
  }
}

/// The pending failures of one file system, and the number of calls that have failed.
struct FailurePlan: Sendable {
  private var failures: [Pending] = []
  private(set) var struckCount = 0
  private(set) var lastStruck: InjectedFailure?
  private(set) var callCounts: [FileOperation: Int] = [:]
  /// The number of failed calls after which no more calls fail.
  private var strikesMax = Int.max

  /// A failure, and the number of calls until the failing one. The number can become negative.
  private struct Pending {
    let failure: InjectedFailure
    var callsLeft: Int

    var isDue: Bool { callsLeft == 0 || callsLeft < 0 && failure.repeats }
  }

  mutating func add(_ failure: InjectedFailure, strikesMax: Int) {
    failures.append(Pending(failure: failure, callsLeft: failure.nth))
    self.strikesMax = min(self.strikesMax, strikesMax)
  }

  mutating func removeAll() {
    failures = []
  }

  /// Counts a call for all failures that apply to it. Returns the failure of this call, if any.
  ///
  /// - Parameter isEmpty: Whether the call is a read at the end of the file, which cannot be
  ///   shortened.
  mutating func strike(_ operation: FileOperation, path: String, isEmpty: Bool = false) -> InjectedFailure? {
    callCounts[operation, default: 0] += 1
    guard !failures.isEmpty else { return nil }
    var struck: InjectedFailure?
    for index in failures.indices where failures[index].failure.concerns(operation, path: path) {
      if isEmpty, case .partialRead = failures[index].failure.effect { continue }
      failures[index].callsLeft -= 1
      if struck == nil && failures[index].isDue { struck = failures[index].failure }
    }
    failures.removeAll { $0.callsLeft <= 0 && !$0.failure.repeats }
    if let struck {
      struckCount += 1
      lastStruck = struck
      if struckCount >= strikesMax { failures = [] }
    }
    return struck
  }
}

extension InjectedFailure {
  fileprivate func concerns(_ operation: FileOperation, path: String) -> Bool {
    guard pathContains.map({ path.contains($0) }) ?? true else { return false }
    return (self.operation ?? operation) == operation
      || dropsNames && self.operation == .sync && operation == .syncDirectory
  }
}
