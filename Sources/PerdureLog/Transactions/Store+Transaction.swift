import PerdureFormat

extension Store {
  /// Runs `body` as an optimistic read-write transaction. The transaction reads one snapshot and
  /// its own writes. It commits only if no other commit has meanwhile changed the data that the
  /// transaction has read: values, absent keys and ranges. Transactions are serializable. Their
  /// results, and the content of the store, are the same as if they ran one by one, in the order of
  /// their commits.
  ///
  ///     try store.transaction(attemptsMax: 16) { transaction in
  ///       let balance = try transaction.value(id: 1, in: accounts)
  ///       try transaction.put(changed(balance), id: 1, in: accounts)
  ///     }
  ///
  /// No lock is held while `body` runs. `body` may run several times, so each of its effects must
  /// be repeatable. A transaction that writes nothing never conflicts.
  ///
  /// - Parameter durability: The failure that the commit survives when this returns; nil: the
  ///   store's default.
  /// - Parameter attemptsMax: The maximum number of runs of `body`. Each run reads the newest
  ///   snapshot. Every conflict means that another commit succeeded. Unit: runs. Range: 1 to 1,000;
  ///   other values are refused with code `.invalidArgument` before `body` runs. Default: 1. Why:
  ///   only the caller knows whether `body` can be repeated.
  /// - Parameter body: Reads and writes through the transaction. If it throws, nothing is written.
  /// - Returns: The result of `body` in the run that was committed, and the commit's sequence
  ///   number. If there was nothing to write, it is the sequence number of the snapshot.
  /// - Throws: The errors of `body`. `StoreError` with code `.conflict` and `isRetryable` if the
  ///   last run had a conflict. In both cases nothing is written. Also the errors of `write`.
  /// - Complexity: As `write`, and O(log n) for each key or range that was read.
  @discardableResult
  public func transaction<R>(
    durability: Durability? = nil, attemptsMax: Int = 1, _ body: (inout StoreTransaction) throws -> R
  ) throws -> (result: R, sequence: UInt64) {
    let (result, receipt) = try run(attemptsMax, body)
    if let receipt { try engine.sync(receipt, durability ?? engine.options.durability) }
    return (result.value, receipt?.sequence ?? result.sequence)
  }

  /// Like the synchronous `transaction`, but waits for the sync without blocking a thread of the
  /// pool.
  ///
  /// - Parameter durability: The failure that the commit survives when this returns; nil: the
  ///   store's default.
  /// - Parameter attemptsMax: The maximum number of runs of `body`, 1 to 1,000.
  /// - Parameter isolation: The caller's actor. `body` runs there, before the first suspension. It
  ///   may use and return values that are not `Sendable`.
  /// - Parameter body: Reads and writes through the transaction. If it throws, nothing is written.
  @discardableResult
  public func transaction<R>(
    durability: Durability? = nil, attemptsMax: Int = 1, isolation: isolated (any Actor)? = #isolation,
    _ body: (inout StoreTransaction) throws -> R
  ) async throws -> (result: R, sequence: UInt64) {
    let (result, receipt) = try run(attemptsMax, body)
    guard let receipt else { return (result.value, result.sequence) }
    let durability = durability ?? engine.options.durability
    if durability == .powerLoss {
      try await engine.gate.synced(receipt.end)
    } else {
      try engine.sync(receipt, durability)
    }
    return (result.value, receipt.sequence)
  }

  private func run<R>(
    _ attemptsMax: Int, _ body: (inout StoreTransaction) throws -> R
  ) throws -> (result: (value: R, sequence: UInt64), receipt: CommitReceipt?) {
    guard (1...1000).contains(attemptsMax) else {
      throw StoreError(.invalidArgument, "attemptsMax is \(attemptsMax); give 1 to 1000")
    }
    var attempt = 1
    while true {
      var transaction = StoreTransaction(snapshot())
      let value = try body(&transaction)
      let result = (value, transaction.sequence)
      if transaction.order.isEmpty { return (result, nil) }  // TX3
      do {
        let (_, receipt) = try append { try transaction.fill(&$0) }
        return (result, receipt)
      } catch let error as StoreError where error.isRetryable && attempt < attemptsMax {
        attempt += 1
      }
    }
  }
}
