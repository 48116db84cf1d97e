internal import PerdureFileIO

/// A thread that stops the program with a message if reading the descriptions of classes takes too
/// long (2 in ClassDescriptions.swift).
final class DescriptionWatch: Sendable {
  /// The number of checks before the thread stops the program. It counts pauses and not time, so a
  /// suspended process does not exceed the limit.
  @TaskLocal static var checkCount = 100
  private static let pauseNanoseconds: UInt64 = 100_000_000
  /// The classes whose descriptions were read before. They need no watching thread.
  private static let known = Guarded<Set<ObjectIdentifier>>([])

  private let lock = Lock()
  private let ending = Condition()
  private let hasEnded = Guarded(false)

  private init() {}

  /// Runs a body that reads the descriptions of classes, with a limit on its duration.
  ///
  /// - Parameter classes: The classes, for the message.
  /// - Parameter body: Reads the descriptions.
  static func during<Result, Failure: Error>(
    _ classes: [ManagedObject.Type], _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let identifiers = classes.map { ObjectIdentifier($0) }
    if known.withLock({ $0.isSuperset(of: identifiers) }) { return try body() }
    let watch = DescriptionWatch()
    let (checkCount, names) = (checkCount, classes.map { "\($0)" }.joined(separator: ", "))
    // If the thread cannot start, the descriptions are read without a watch.
    PlatformThread.start(name: "descriptions") { watch.run(checkCount, names) }
    defer { watch.end() }
    let result = try body()
    known.withLock { $0.formUnion(identifiers) }
    return result
  }

  private func run(_ checkCount: Int, _ names: String) {
    for _ in 0..<checkCount {
      if hasEndedAfterPause() { return }
    }
    stop(
      "The descriptions of \(names) do not return. Static variables of two classes that read each other's description "
        + "wait forever. Name the other entity as text, as in .toOne(\"company\", \"Company\").")
  }

  private func hasEndedAfterPause() -> Bool {
    lock.withLock {
      let deadline = Clock.nowNanoseconds() + Self.pauseNanoseconds
      while !hasEnded.withLock({ $0 }), ending.wait(lock, untilNanoseconds: deadline) {}
      return hasEnded.withLock { $0 }
    }
  }

  private func end() {
    lock.withLock {
      hasEnded.withLock { $0 = true }
      ending.broadcast()
    }
  }
}
