// Describes conflicts in messages and logs: the failed precondition, the keyspace or index, and the
// key.

extension Conflict: CustomStringConvertible {
  /// The failed precondition or the duplicate key, with the keyspace or index. Long keys are
  /// truncated.
  public var description: String {
    switch self {
    case .precondition(_, let precondition): precondition.failure
    case .duplicateKey(let index, let key, let existing, let rejected):
      "records \(existing) and \(rejected) would share the key \(Key.bytes(key)) of the unique index "
        + "\(index.name)"
    }
  }
}

extension Precondition {
  /// The state that was found instead of the required one.
  fileprivate var failure: String {
    switch self {
    case .unchanged(let keyspace, let key, nil): "key \(key) of keyspace \(keyspace.name) already exists"
    case .unchanged(let keyspace, let key, _):
      "key \(key) of keyspace \(keyspace.name) was changed or removed"
    case .exists(let keyspace, let key): "key \(key) of keyspace \(keyspace.name) does not exist"
    case .indexRangeUnchanged(let index, let range, _):
      "entries of index \(index.name) \(range) were added or removed"
    case .rangeUnchanged(let keyspace, let range, _):
      "keys of keyspace \(keyspace.name) \(range) were added, changed or removed"
    case .idRangeUnchanged(let keyspace, let ids, _):
      "ids \(ids) of keyspace \(keyspace.name) were added, changed or removed"
    }
  }
}

extension KeyRange: CustomStringConvertible {
  /// The bounds. Long bounds are truncated.
  public var description: String {
    guard let upper else { return lower.isEmpty ? "anywhere" : "from \(Key.bytes(lower))" }
    return "from \(Key.bytes(lower)) to before \(Key.bytes(upper))"
  }
}

extension [Conflict] {
  /// Descriptions of the first three conflicts, and the number of the others.
  var summary: String {
    let listed = prefix(3).map(\.description).joined(separator: "; ")
    return count > 3 ? "\(listed); and \(count - 3) more" : listed
  }
}
