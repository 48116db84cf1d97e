import PerdureFormat

/// Finds the keepers of several records together. In an index that is larger than the caches, each
/// level of a descent waits for memory. Parallel descents share this wait.
///
/// The result is the same as if each record were looked up alone (`Keepers`).
struct KeeperSearch {
  /// A record to look up.
  struct Candidate {
    /// The bytes of the record's key. They must be valid until `find` returns.
    fileprivate var key: UnsafeRawBufferPointer
    fileprivate var keyspace: Int
    fileprivate var sequence: UInt64
    var address: RecordAddress
    /// The length of the record, with padding.
    var length: Int
    /// The keepers in which the record is visible; set by `find`.
    fileprivate(set) var sight = Keepers.Sight.nobody
  }

  /// The number of records to gather before a search. Records of one keyspace and state are looked
  /// up together.
  static let countMax = 64

  private(set) var candidates: [Candidate] = []
  private let keepers: Keepers
  private var keys: [UnsafeRawBufferPointer] = []
  private var words: [UInt64?] = []
  private var ids: [UInt64] = []
  private var idWords: [UInt64] = []

  init(_ keepers: Keepers) { self.keepers = keepers }

  var isFull: Bool { candidates.count >= Self.countMax }

  /// - Parameter record: Not a tombstone. Its key must be valid until `find` returns.
  mutating func add(_ record: Record, at address: RecordAddress, length: Int, of sequence: UInt64) {
    candidates.append(
      Candidate(
        key: record.key, keyspace: Int(record.header.keyspace), sequence: sequence, address: address,
        length: length))
  }

  mutating func removeAll() { candidates.removeAll(keepingCapacity: true) }

  /// Finds the keepers in which each record is visible.
  mutating func find() {
    var start = 0
    while start < candidates.count {
      let (keyspace, sequence) = (candidates[start].keyspace, candidates[start].sequence)
      let state = keepers.firstState(from: sequence)
      // Adjacent records usually belong to one keyspace, and their search usually starts in one
      // state.
      var end = start + 1
      while end < candidates.count, candidates[end].keyspace == keyspace,
        candidates[end].sequence == sequence || keepers.firstState(from: candidates[end].sequence) == state
      { end += 1 }
      find(start..<end, keyspace, state)
      start = end
    }
  }

  private mutating func find(_ range: Range<Int>, _ keyspace: Int, _ state: Int?) {
    // All records of the catalog are kept, because its entries build on each other.
    if keyspace == 0 { return range.forEach { candidates[$0].sight = .newest } }
    guard let state, let trees = keepers.trees(of: keyspace, in: state) else { return }
    switch trees.kind {
    case .bytes: lookUp(range, trees.root.ordered)
    case .dense: lookUp(range, trees.root.dense)
    }
    for (place, index) in range.enumerated() where words[place] == candidates[index].address.rawValue {
      let candidate = candidates[index]
      candidates[index].sight = keepers.sight(
        ofKey: candidate.key, keyspace, at: candidate.address, leadingIn: state)
    }
  }

  private mutating func lookUp(_ range: Range<Int>, _ tree: OrderedTree) {
    keys.removeAll(keepingCapacity: true)
    for index in range { keys.append(candidates[index].key) }
    words = Array(repeating: nil, count: range.count)
    keys.withUnsafeBufferPointer { keys in
      words.withUnsafeMutableBufferPointer { tree.getMany(keys, into: $0) }
    }
  }

  private mutating func lookUp(_ range: Range<Int>, _ table: DenseTable) {
    ids.removeAll(keepingCapacity: true)
    for index in range { ids.append(candidates[index].key.integer(at: 0)) }
    idWords = Array(repeating: 0, count: range.count)
    ids.withUnsafeBufferPointer { ids in
      idWords.withUnsafeMutableBufferPointer { table.getMany(ids, into: $0) }
    }
    // No record has the address 0, so 0 means that the id is absent.
    words = idWords
  }
}
