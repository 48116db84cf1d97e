import PerdureFormat

extension Engine {
  /// Step 1 of a commit (Engine+Commit): checks every precondition against the newest root. All
  /// failed preconditions are reported together.
  ///
  /// - Throws: `StoreError`: `.conflict` if preconditions fail; `.indexUnavailable` if a
  ///   precondition cannot be checked because its index is not maintained; the errors of reading a
  ///   precondition's snapshot.
  func check(_ preconditions: [Precondition], _ root: UnsafeMutablePointer<Root>) throws(StoreError) {
    var failed: [Conflict] = []
    for (index, precondition) in preconditions.enumerated() {
      if try !holds(precondition, root) { failed.append(.precondition(index: index, precondition)) }
    }
    guard failed.isEmpty else {
      throw StoreError(
        .conflict,
        "\(failed.count) of \(preconditions.count) preconditions were false; nothing was written",
        conflicts: failed)
    }
  }

  private func holds(_ precondition: Precondition, _ root: UnsafeMutablePointer<Root>) throws(StoreError)
    -> Bool
  {
    switch precondition {
    case .unchanged(let keyspace, let key, let version):
      return word(key, keyspace, root) == version?.rawValue
    case .exists(let keyspace, let key):
      return word(key, keyspace, root) != nil
    case .indexRangeUnchanged(let index, let range, let snapshot):
      try checkAvailable(index)
      let old = try snapshot.tree(of: index)
      let isUnchanged = OrderedTree.isUnchanged(index: range, from: old, to: root.tree(of: index))
      // The snapshot may belong to another opening, with its own index file. FN3
      try snapshot.check(old.file)
      return isUnchanged
    case .rangeUnchanged(let keyspace, let range, let snapshot):
      let old = try snapshot.tree(of: keyspace)
      let isUnchanged = range.withRaw {
        OrderedTree.isUnchanged(
          in: $0, from: old, to: root.trees(of: keyspace).ordered)
      }
      try snapshot.check(old.file)
      return isUnchanged
    case .idRangeUnchanged(let keyspace, let ids, let snapshot):
      let old = try snapshot.trees(of: keyspace).dense
      let isUnchanged = DenseTable.isUnchanged(
        in: ids, from: old, to: root.trees(of: keyspace).dense)
      try snapshot.check(old.file)
      return isUnchanged
    }
  }

  private func word(_ key: Key, _ keyspace: Keyspace, _ root: UnsafeMutablePointer<Root>) -> UInt64? {
    switch key {
    case .id(let id): root.trees(of: keyspace).dense.get(id)
    case .bytes(let bytes):
      bytes.withUnsafeBytes { root.trees(of: keyspace).ordered.get($0) }
    }
  }
}
