import PerdureLog

/// Compares bytes with the required values and keys.
final class HistoryComparison {
  private var scratch = HistoryScratch()

  /// Calls `body` with the bytes of a value.
  func withBytes<R>(of value: HistoryValue, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try scratch.withBytes(of: value, body)
  }

  func isEqual(_ bytes: RawSpan, _ value: HistoryValue) -> Bool {
    guard bytes.byteCount == Int(value.length) else { return false }
    return withBytes(of: value) { wanted in bytes.withUnsafeBytes { Self.isEqual($0, wanted) } }
  }

  func isEqual(_ bytes: [UInt8], _ value: HistoryValue) -> Bool {
    withBytes(of: value) { wanted in bytes.withUnsafeBytes { Self.isEqual($0, wanted) } }
  }

  static func isEqual(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
    guard a.count == b.count else { return false }
    var offset = 0
    while offset &+ 8 <= a.count {
      let (left, right) = (
        a.loadUnaligned(fromByteOffset: offset, as: UInt64.self),
        b.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      )
      if left != right { return false }
      offset &+= 8
    }
    while offset < a.count {
      if a[offset] != b[offset] { return false }
      offset &+= 1
    }
    return true
  }

  static func isEqual(_ bytes: RawSpan, _ key: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { bytes in key.withUnsafeBytes { isEqual(bytes, $0) } }
  }
}

extension HistoryRun {
  /// A hash of a value's length and of its first and last eight bytes. If the value is shorter than
  /// eight bytes, a hash of its length and all its bytes.
  private static func digest(_ bytes: RawSpan) -> UInt64 {
    bytes.withUnsafeBytes { bytes in
      guard bytes.count >= 8 else { return bytes.reduce(UInt64(bytes.count)) { $0 &* 257 &+ UInt64($1) } }
      let first = bytes.loadUnaligned(as: UInt64.self)
      let last = bytes.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self)
      return first &+ last &* 31 &+ UInt64(bytes.count)
    }
  }

  func space(_ space: HistorySpace) -> Keyspace { spaces[Int(space.rawValue)] }
  func index(_ index: HistoryIndex) -> DerivedIndex { indexes[Int(index.rawValue)] }

  func check(_ read: HistoryRead, _ snapshot: Snapshot, _ content: HistoryContent) throws {
    switch read {
    case .get(let place): try checkValue(place, snapshot, content)
    case .contains(let place):
      let key = model.keys.key(place.space, place.position)
      let isThere = try snapshot.contains(key, in: space(place.space))
      try expect(isThere == content[place].isThere, "\(place) exists: \(isThere)")
      answered(isThere ? 1 : 0)
    case .getMany(let space, let positions): try checkMany(space, positions, snapshot, content)
    case .part(let place, let part, let count): try checkPart(place, part, count, snapshot, content)
    case .scan(let space, let range, let walk): try checkScan(space, range, walk, snapshot, content)
    case .keys(let space, let range, let walk):
      if space == .rows { return try checkScan(space, range, walk, snapshot, content) }
      let expected = content.walk(space, range.positions, walk)
      try checkKeys(space, model.keys.keyRange(range, in: space), walk, expected, snapshot)
    case .prefix(let position, let length, let walk):
      let prefix = Array(model.keys.names[position].prefix(length))
      let expected = content.walk(.names, positions(of: prefix), walk)
      try checkKeys(.names, .prefix(prefix), walk, expected, snapshot)
    case .count(let space, let range): try checkCount(space, range, snapshot, content)
    case .countAll(let space):
      let count = snapshot.count(in: self.space(space))
      try expect(count == content.counts[Int(space.rawValue)], "\(space) has \(count) keys")
      answered(UInt64(count))
    case .index(let index, let range, let walk): try checkIndex(index, range, walk, snapshot, content)
    case .indexCount(let index, let range):
      let count = try snapshot.count(in: self.index(index), range: indexRange(index, range))
      let expected = entries(of: index, range, content).count
      try expect(count == expected, "\(index) has \(count) entries in \(range), not \(expected)")
      answered(UInt64(count))
    }
  }

  /// The positions of the names with this prefix, which are adjacent.
  private func positions(of prefix: [UInt8]) -> Range<Int> {
    let names = model.keys.names
    var (low, high) = (0, names.count)
    while low < high {
      let middle = (low + high) / 2
      if names[middle].lexicographicallyPrecedes(prefix) { low = middle + 1 } else { high = middle }
    }
    while high < names.count, names[high].starts(with: prefix) { high += 1 }
    return low..<high
  }

  func entries(of index: HistoryIndex, _ range: HistoryRange, _ content: HistoryContent)
    -> [HistoryIndexEntry]
  {
    content.entries(of: index, range.positions, model.keys.ids, history.universe)
  }

  func indexRange(_ index: HistoryIndex, _ range: HistoryRange) -> KeyRange {
    func bound(_ number: Int) -> [UInt8] {
      range.isBetween && number > 0
        ? HistoryKeys.bytes(UInt64(number - 1)) + [0] : HistoryKeys.bytes(UInt64(number))
    }
    let isLast = range.upper == index.limit(history.universe)
    return KeyRange(
      lower: range.lower == 0 ? [] : bound(range.lower), upper: isLast ? nil : bound(range.upper))
  }

  /// Checks the sums of the serial numbers of each group, and the order of the groups by their
  /// sums.
  func checkSums(_ snapshot: Snapshot, _ content: HistoryContent) throws {
    let (sums, order) = (indexes[HistoryIndex.allCases.count], indexes[HistoryIndex.allCases.count + 1])
    let expected = content.serialSums
    for group in 0..<256 as Range<UInt64> {
      let found = try snapshot.sum(of: group, in: sums)
      try expect(
        found?.int64 == expected[group].map { Int64($0.sum) }
          && found?.termCount ?? 0 == expected[group]?.count ?? 0,
        "the sum of group \(group) is \(found?.int64 as Any), not \(expected[group] as Any)")
    }
    let groups = expected.sorted { ($0.value.sum, $0.key) < ($1.value.sum, $1.key) }
    var next = 0
    try snapshot.forEachEntry(in: order) { key, group in
      guard next < groups.count, groups[next].key == group,
        HistoryComparison.isEqual(key, CrashState.number(Int128(groups[next].value.sum)))
      else { throw Violation("entry \(next) of the order of sums is not the right one of \(groups.count)") }
      next += 1
      return true
    }
    try expect(next == groups.count, "the order of sums gave \(next) entries of \(groups.count)")
    answered(UInt64(next))
  }

  // MARK: - One key

  private func checkValue(_ place: HistoryPlace, _ snapshot: Snapshot, _ content: HistoryContent) throws {
    let entry = content[place]
    let look = { [scratch] (bytes: RawSpan) in (scratch.isEqual(bytes, entry.value), Self.digest(bytes)) }
    let found: (isEqual: Bool, digest: UInt64)?
    switch model.keys.key(place.space, place.position) {
    case .id(let id): found = try snapshot.withValue(id: id, in: space(place.space), look)
    case .bytes(let key): found = try snapshot.withValue(key: key, in: space(place.space), look)
    }
    try expect((found != nil) == entry.isThere, "\(place) exists: \(found != nil)")
    try expect(found?.isEqual ?? true, "\(place) does not have the value \(entry.value)")
    answered(found?.digest ?? 0)
  }

  private func checkMany(
    _ space: HistorySpace, _ positions: [Int], _ snapshot: Snapshot, _ content: HistoryContent
  ) throws {
    var seen = [Bool](repeating: false, count: positions.count)
    var sum: UInt64 = 0
    let look = { [scratch] (position: Int, bytes: RawSpan?) throws in
      let place = HistoryPlace(space, positions[position])
      let entry = content[place]
      guard !seen[position] else { throw Violation("\(place) occurs twice") }
      seen[position] = true
      guard let bytes else {
        if entry.isThere { throw Violation("\(place) is missing") }
        return
      }
      guard entry.isThere, scratch.isEqual(bytes, entry.value) else {
        throw Violation("\(place) does not have the value \(entry)")
      }
      sum &+= Self.digest(bytes)
    }
    if space == .rows {
      try snapshot.withValues(ids: positions.map { model.keys.ids[$0] }, in: self.space(space), look)
    } else {
      let keys = model.keys.byteKeys(space)
      try snapshot.withValues(keys: positions.map { keys[$0] }, in: self.space(space), look)
    }
    try expect(seen.allSatisfy { $0 }, "a read of many keys has no answer for one of them")
    answered(sum)
  }

  private func checkPart(
    _ place: HistoryPlace, _ part: Int, _ count: Int, _ snapshot: Snapshot, _ content: HistoryContent
  ) throws {
    let entry = content[place]
    let reader =
      switch model.keys.key(place.space, place.position) {
      case .id(let id): try snapshot.reader(id: id, in: space(place.space))
      case .bytes(let key): try snapshot.reader(key: key, in: space(place.space))
      }
    try expect((reader != nil) == entry.isThere, "\(place) exists: \(reader != nil)")
    guard let reader else { return answered(0) }
    try expect(reader.count == UInt64(entry.value.length), "\(place) has \(reader.count) bytes")
    let start = Int(entry.value.length) * part / 256
    let end = min(Int(entry.value.length), start + count)
    let bytes = try reader.bytes(in: UInt64(start)..<UInt64(end))
    let isEqual = scratch.withBytes(of: entry.value) { wanted in
      bytes.withUnsafeBytes {
        HistoryComparison.isEqual($0, UnsafeRawBufferPointer(rebasing: wanted[start..<end]))
      }
    }
    try expect(isEqual, "bytes \(start)..<\(end) of \(place) differ from those of \(entry.value)")
    answered(UInt64(bytes.count))
  }

  // MARK: - Ranges

  private func checkScan(
    _ space: HistorySpace, _ range: HistoryRange, _ walk: HistoryWalk, _ snapshot: Snapshot,
    _ content: HistoryContent
  ) throws {
    let expected = content.walk(space, range.positions, walk)
    let keys = model.keys
    var (next, sum) = (0, UInt64(0))
    func take(_ value: RawSpan, _ isKey: (Int) -> Bool) throws -> Bool {
      guard next < expected.count, isKey(expected[next]) else {
        throw Violation("entry \(next) of \(space) in \(range) is not the right one of \(expected.count)")
      }
      let wanted = content[HistoryPlace(space, expected[next])].value
      guard scratch.isEqual(value, wanted) else {
        throw Violation("\(space) \(expected[next]) has another value in a walk than \(wanted)")
      }
      sum = sum &* 31 &+ Self.digest(value)
      next += 1
      return next < walk.limit
    }
    if space == .rows {
      guard let ids = keys.idRange(range) else { return }
      try snapshot.forEach(in: self.space(space), ids: ids, descending: walk.isDescending) { id, value in
        try take(value) { keys.ids[$0] == id }
      }
    } else {
      let all = keys.byteKeys(space)
      try snapshot.forEach(
        in: self.space(space), range: keys.keyRange(range, in: space), descending: walk.isDescending
      ) { key, value in try take(value) { HistoryComparison.isEqual(key, all[$0]) } }
    }
    try expect(next == expected.count, "a walk over \(space) in \(range) gave \(next) of \(expected.count)")
    answered(sum)
  }

  private func checkKeys(
    _ space: HistorySpace, _ range: KeyRange, _ walk: HistoryWalk, _ expected: [Int], _ snapshot: Snapshot
  ) throws {
    let keys = model.keys.byteKeys(space)
    var next = 0
    try snapshot.forEachKey(in: self.space(space), range: range, descending: walk.isDescending) { key in
      guard next < expected.count, HistoryComparison.isEqual(key, keys[expected[next]]) else {
        throw Violation("key \(next) of \(space) in \(range) is not the right one of \(expected.count)")
      }
      next += 1
      return next < walk.limit
    }
    try expect(next == expected.count, "a walk over keys gave \(next) of \(expected.count)")
    answered(UInt64(next))
  }

  private func checkCount(
    _ space: HistorySpace, _ range: HistoryRange, _ snapshot: Snapshot, _ content: HistoryContent
  ) throws {
    let count: Int
    if space == .rows {
      guard let ids = model.keys.idRange(range) else { return }
      count = try snapshot.count(in: self.space(space), ids: ids)
    } else {
      count = try snapshot.count(in: self.space(space), range: model.keys.keyRange(range, in: space))
    }
    let expected = content.count(space, range.positions)
    try expect(count == expected, "\(space) has \(count) keys in \(range), not \(expected)")
    answered(UInt64(count))
  }

  private func checkIndex(
    _ index: HistoryIndex, _ range: HistoryRange, _ walk: HistoryWalk, _ snapshot: Snapshot,
    _ content: HistoryContent
  ) throws {
    var expected = entries(of: index, range, content)
    if walk.isDescending { expected.reverse() }
    let wanted = min(expected.count, walk.limit)
    var (next, sum) = (0, UInt64(0))
    try snapshot.forEachEntry(
      in: self.index(index), range: indexRange(index, range), descending: walk.isDescending
    ) { key, reference in
      guard next < wanted, expected[next].reference == reference,
        HistoryComparison.isEqual(key, HistoryKeys.bytes(expected[next].key))
      else { throw Violation("entry \(next) of \(index) in \(range) is not the right one of \(wanted)") }
      sum = sum &* 31 &+ reference
      next += 1
      return next < walk.limit
    }
    try expect(next == wanted, "\(index) in \(range) gave \(next) entries of \(wanted)")
    answered(sum)
  }
}
