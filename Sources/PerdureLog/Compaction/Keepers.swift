import PerdureFormat

/// The states of the store that compaction must keep complete: the newest, and every held state.
///
/// A record is visible from the commit that made it until the commit that makes it dead. It never
/// becomes visible again. So only one root is checked: the first root that has the record's commit.
/// If that root does not contain the record, no later root contains it. Each record needs one
/// lookup in one root, regardless of the number of held snapshots (`KeeperSearch`).
struct Keepers {
  /// The kept roots, in order of their sequence numbers. The newest root is the last.
  private let roots: [UnsafeMutablePointer<Root>]
  private let kinds: [KeyspaceKind]

  /// - Parameter roots: In order of their versions, the newest last.
  init(_ roots: [UnsafeMutablePointer<Root>], _ catalog: Catalog) {
    precondition(!roots.isEmpty, "the newest root must be kept")
    self.roots = roots
    kinds = catalog.keyspaces.map(\.kind)
  }

  /// Records that were dead at this sequence number are not visible in any keeper.
  var cleanedThrough: UInt64 { roots[0].pointee.sequence }

  /// The sequence number of the newest state.
  var sequence: UInt64 { roots[roots.count - 1].pointee.sequence }

  /// The version of the oldest state, if it is not the newest.
  var oldestHolder: UInt64? { roots.count > 1 ? roots[0].pointee.version : nil }

  /// The keepers in which a record is visible.
  enum Sight: Equatable {
    case nobody
    /// The newest state, and perhaps others.
    case newest
    /// Only states before the newest. The value is the version of the oldest of these states.
    case holder(UInt64)
  }

  /// The trees of a keyspace in one of the states; nil if that state lacks the keyspace.
  func trees(of keyspace: Int, in state: Int) -> (root: KeyspaceRoot, kind: KeyspaceKind)? {
    guard keyspace < kinds.count, keyspace < roots[state].pointee.keyspaceCount else { return nil }
    return (roots[state].pointee.keyspaces[keyspace], kinds[keyspace])
  }

  /// Whether a record's key has a length that its keyspace allows.
  func canHoldKey(of record: RecordHeader) -> Bool {
    guard record.keyspace < kinds.count, kinds[Int(record.keyspace)] == .dense else { return true }
    return record.keyLength == 8
  }

  /// The keepers in which a record is visible. `state` is the first of them.
  ///
  /// - Complexity: O(1) if `state` is the newest, otherwise a lookup in the newest.
  func sight(
    ofKey key: UnsafeRawBufferPointer, _ keyspace: Int, at address: RecordAddress, leadingIn state: Int
  ) -> Sight {
    let newest = roots.count - 1
    if state == newest { return .newest }
    if let trees = trees(of: keyspace, in: newest), trees.root.word(for: key, trees.kind) == address.rawValue
    {
      return .newest
    }
    return .holder(roots[state].pointee.version)
  }

  /// The first of the states that has the changes of commit `sequence`; nil if none has them.
  /// Records of this commit are looked up in that state first.
  func firstState(from sequence: UInt64) -> Int? {
    var (low, high) = (0, roots.count)
    while low < high {
      let middle = (low + high) / 2
      if roots[middle].pointee.sequence < sequence { low = middle + 1 } else { high = middle }
    }
    return low < roots.count ? low : nil
  }
}

/// For each segment, the number of a commit: the segment contains no records that were dead at that
/// commit. The minimum over a segment and all earlier ones decides whether a tombstone may be
/// dropped. FORMAT.md, T3.
struct CleanedSegments {
  private var numbers: [UInt64] = []
  private var cleanedThrough: [UInt64] = []
  /// The minimum of `cleanedThrough` from the first segment to each segment.
  private var prefixes: [UInt64] = []

  /// Adds a segment after the others.
  mutating func append(_ number: UInt64, cleanedThrough sequence: UInt64) {
    numbers.append(number)
    cleanedThrough.append(sequence)
    prefixes.append(min(prefixes.last ?? .max, sequence))
  }

  /// Notes that a segment has been cleaned up to a later commit.
  mutating func update(_ number: UInt64, cleanedThrough sequence: UInt64) {
    guard let index = numbers.firstIndex(of: number) else { return }
    cleanedThrough[index] = max(cleanedThrough[index], sequence)
    for later in index..<numbers.count {
      prefixes[later] = min(later == 0 ? .max : prefixes[later - 1], cleanedThrough[later])
    }
  }

  /// Whether no segment up to `number` can contain a record that was dead at `sequence`.
  func areClean(upTo number: UInt64, at sequence: UInt64) -> Bool {
    var (low, high) = (0, numbers.count)
    while low < high {
      let middle = (low + high) / 2
      if numbers[middle] <= number { low = middle + 1 } else { high = middle }
    }
    return low == 0 || prefixes[low - 1] >= sequence
  }
}
