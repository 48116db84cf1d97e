import Foundation

/// Runs several threads at the same time, and waits for their end.
enum Threads {
  /// Runs `body` on `count` threads, each with its number.
  ///
  /// - Throws: The first error, after all threads have ended.
  static func run(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
    let failures = Failures()
    let done = DispatchGroup()
    for number in 0..<count {
      done.enter()
      let thread = Thread {
        defer { done.leave() }
        do { try body(number) } catch { failures.add(error) }
      }
      thread.stackSize = 4 << 20
      thread.start()
    }
    done.wait()
    if let error = failures.first { throw error }
  }
}

/// A value that threads share under a lock.
// Unchecked: the value is accessed only under the lock.
final class Shared<Value>: @unchecked Sendable {
  private let lock = NSLock()
  private var value: Value

  init(_ value: Value) { self.value = value }

  func withLock<R>(_ body: (inout Value) throws -> R) rethrows -> R {
    try lock.withLock { try body(&value) }
  }
}

private final class Failures: Sendable {
  private let errors = Shared<[any Error]>([])

  func add(_ error: any Error) { errors.withLock { $0.append(error) } }

  var first: (any Error)? { errors.withLock(\.first) }
}
