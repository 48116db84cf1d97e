// Locks and conditions on top of pthreads. The thread sanitizer understands these locks, but not
// the standard library's `Mutex`. The standard library has no condition variable.

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// A lock between threads. Not recursive.
// Unchecked: the mutex has one address from init to deinit, and threads may share a mutex.
package final class Lock: @unchecked Sendable {
  fileprivate let mutex: UnsafeMutablePointer<pthread_mutex_t>

  package init() {
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    let result = pthread_mutex_init(mutex, nil)
    precondition(result == 0, "The system could not make a mutex")
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Waits until the lock is free and acquires it.
  package func lock() {
    let result = pthread_mutex_lock(mutex)
    precondition(result == 0, "The lock could not be acquired")
  }

  /// Releases the lock, which this thread must hold.
  package func unlock() {
    let result = pthread_mutex_unlock(mutex)
    precondition(result == 0, "This thread must hold the lock")
  }

  /// Acquires the lock if no thread holds it, and returns whether it did. Never waits.
  package func tryLock() -> Bool { pthread_mutex_trylock(mutex) == 0 }

  /// Runs `body` while the lock is held.
  @inlinable
  package func withLock<Value: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> Value
  ) throws(Failure) -> Value {
    lock()
    defer { unlock() }
    return try body()
  }
}

/// A condition variable. Its lock protects the data that the waiting threads check.
// Unchecked: the condition has one address from init to deinit, and threads may share a condition.
package final class Condition: @unchecked Sendable {
  private let condition: UnsafeMutablePointer<pthread_cond_t>
  private let mark = ProcessMark.currentIfAny()

  package init() {
    condition = .allocate(capacity: 1)
    condition.initialize(to: pthread_cond_t())
    #if canImport(Darwin)
      let result = pthread_cond_init(condition, nil)
    #else
      var attributes = pthread_condattr_t()
      pthread_condattr_init(&attributes)
      pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
      let result = pthread_cond_init(condition, &attributes)
      pthread_condattr_destroy(&attributes)
    #endif
    precondition(result == 0, "The system could not make a condition variable")
  }

  deinit {
    // A forked child does not have its parent's waiting threads, so destroying the condition can
    // wait for them forever.
    guard mark?.isOwn ?? true else { return }
    pthread_cond_destroy(condition)
    condition.deallocate()
  }

  /// Releases `lock`, waits for a signal, and acquires the lock again. The call may return without
  /// a signal, so check the condition in a loop.
  package func wait(_ lock: Lock) {
    let result = pthread_cond_wait(condition, lock.mutex)
    precondition(result == 0, "This thread must hold the lock")
  }

  /// Like `wait(_:)`, but returns at the latest when `Clock.nowNanoseconds()` reaches
  /// `deadlineNanoseconds`.
  ///
  /// - Returns: False if the deadline has passed.
  package func wait(_ lock: Lock, untilNanoseconds deadlineNanoseconds: UInt64) -> Bool {
    #if canImport(Darwin)
      let now = Clock.nowNanoseconds()
      guard deadlineNanoseconds > now else { return false }
      var rest = timespec(nanoseconds: deadlineNanoseconds - now)
      let result = pthread_cond_timedwait_relative_np(condition, lock.mutex, &rest)
    #else
      var deadline = timespec(nanoseconds: deadlineNanoseconds)
      let result = pthread_cond_timedwait(condition, lock.mutex, &deadline)
    #endif
    precondition(result == 0 || result == ETIMEDOUT, "This thread must hold the lock")
    return result == 0
  }

  /// Wakes one waiting thread, if any.
  package func signal() {
    pthread_cond_signal(condition)
  }

  /// Wakes all waiting threads.
  package func broadcast() {
    pthread_cond_broadcast(condition)
  }
}

extension timespec {
  fileprivate init(nanoseconds: UInt64) {
    self.init()
    tv_sec = time_t(clamping: nanoseconds / 1_000_000_000)
    tv_nsec = Int(nanoseconds % 1_000_000_000)
  }
}
