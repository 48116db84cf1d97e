// Counts the requests that a naive store receives, and makes chosen requests fail.

import Perdure
import Synchronization

/// The requests of one store and its views. The object is safe to use from any thread.
final class NaiveRequests: Sendable {
  enum Kind: Hashable, CaseIterable, Sendable {
    case rows, rowCount, scan, entryCount, entries, relationship, fetch, ids, commit
  }

  /// The error of a request that a test has chosen to fail.
  struct Failure: Error {}

  private struct State {
    var counts: [Kind: Int] = [:]
    var total = 0
    /// Whether the request with the given number fails. Numbers begin at 0. By default, no request
    /// fails.
    var fails: @Sendable (Int) -> Bool = { _ in false }
    var newest: UInt64 = 0
    /// The number of commits after which a view expires. If nil, views never expire.
    var lifetime: UInt64?
    /// Greater than 0 while the store makes nested requests to answer a counted request.
    var depth = 0
  }

  private let state = Mutex(State())

  var total: Int { state.withLock { $0.total } }
  var counts: [Kind: Int] { state.withLock { $0.counts } }

  /// Chooses the requests that fail.
  ///
  /// - Parameter fails: Whether a request fails. The number of the next request is 0.
  func fail(_ fails: @escaping @Sendable (Int) -> Bool) {
    state.withLock { state in
      let first = state.total
      state.fails = { fails($0 - first) }
    }
  }

  func succeed() { fail { _ in false } }

  /// - Parameter lifetime: The number of commits after which views expire; nil for never.
  func expireViews(after lifetime: UInt64?) { state.withLock { $0.lifetime = lifetime } }

  func noteNewest(_ sequence: UInt64) { state.withLock { $0.newest = sequence } }

  /// Counts a request.
  ///
  /// - Parameter sequence: The sequence number of the view; nil for a request to the store.
  /// - Throws: `Failure` if a test has chosen this request to fail, or `StoreViewExpired` if the
  ///   view has expired.
  func begin(_ kind: Kind, at sequence: UInt64?) throws {
    try state.withLock { state in
      if state.depth > 0 { return }
      let number = state.total
      state.total += 1
      state.counts[kind, default: 0] += 1
      if state.fails(number) { throw Failure() }
      guard let sequence, let lifetime = state.lifetime, sequence + lifetime < state.newest else { return }
      throw StoreViewExpired()
    }
  }

  /// Runs `body` without counting its requests, because they are part of a counted request.
  func withoutCounting<R>(_ body: () throws -> R) rethrows -> R {
    state.withLock { $0.depth += 1 }
    defer { state.withLock { $0.depth -= 1 } }
    return try body()
  }

  /// The number of requests of `body`.
  func count(_ body: () throws -> Void) rethrows -> Int {
    let before = total
    try body()
    return total - before
  }
}
