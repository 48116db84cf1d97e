import PerdureFileIO
import PerdureFormat
import PerdureLog
import PerdureTestSupport

// Intact records at wrong offsets, in stores with a log after the checkpoint.
//
// The log after the checkpoint replaces some records before it. An opening reads these records by
// their addresses, to remove their entries from the indexes. If another intact record was copied to
// such an address, it has other entries. So this campaign copies and exchanges sectors and records
// of a store with an old checkpoint. It compares every answer with that of the undamaged store:
// values, scans, and all entries of all indexes. Then it replaces every row, and compares the
// indexes again.
//
// If a record was replaced by an older version of the same key, only a bound record reveals it. So
// in a store without bound records an older version may be read, if a verification detects it.

/// Copies and exchanges records of stores whose newest values are in the log after the checkpoint.
struct RotTails: Sendable {
  private struct Case {
    var file: String
    var damage: Damage
    var kind: String
  }

  private let stores: [RotTailStore]
  private let canary: RotCanary?
  private let seed: UInt64
  var prefix = ""
  var only: Int?

  init(_ canary: RotCanary? = nil, seed: UInt64) throws {
    self.canary = canary
    self.seed = seed
    // With the canary, the second store does not bind its records either.
    stores = try [false, canary != .unboundRecords].enumerated().map { number, binds in
      try RotTailStore(seed: SeededGenerator(seed: seed).derived(UInt64(number)).seed, bindsRecords: binds)
    }
  }

  /// - Parameter count: The number of cases of damage to try on each store.
  func run(_ count: Int, _ progress: ProofProgress) throws -> RotResult {
    var result = RotResult()
    var tally = TailTally()
    for index in 0..<(2 * count) where only == nil || only == index {
      progress.advance(of: 2 * count, "records at wrong offsets")
      var random = SeededGenerator(seed: seed).derived(UInt64(index))
      let (store, isBound) = (stores[index % 2], index % 2 == 1)
      guard let damaged = Self.pick(of: store, &random) else { continue }
      do {
        guard let outcome = try look(at: damaged, store, isBound: isBound, &random) else { continue }
        tally.add(outcome, of: damaged.kind)
        result.count += 1
      } catch let error as Violation {
        let what = "\(damaged.kind) of \(damaged.file), \(isBound ? "bound" : "not bound"): \(error)"
        result.findings.append(RotFinding(what: what, part: "\(prefix)|\(index)"))
        if result.findings.count >= RotCampaign.violationsMax { break }
      }
    }
    result.report = tally.report("stores with a log after the checkpoint")
    return result
  }

  private static func pick(of tail: RotTailStore, _ random: inout SeededGenerator) -> Case? {
    let files = tail.store.files
    let segments = files.keys.filter { $0.hasSuffix(".segment") }.sorted()
    let file = random.pick(segments)
    let count = files[file]?.count ?? 0
    switch random.next() % 4 {
    case 0, 1:
      let length = random.next() % 2 == 0 ? 512 : RotTailStore.recordLength
      guard count >= 2 * length else { return nil }
      let places = (0..<(count / length)).map { $0 * length }
      let (from, to) = (random.pick(places), random.pick(places))
      let name = length == 512 ? "sectors" : "records"
      return random.next() % 2 == 0
        ? Case(file: file, damage: .copy(from: from, to: to, length: length), kind: "\(name) doubled")
        : Case(file: file, damage: .exchange(from, to, length: length), kind: "\(name) exchanged")
    default:
      // The newest record before the checkpoint, and an older one of the same key in the same file.
      let keys = tail.versions.keys.sorted()
      let key = random.pick(keys)
      guard let places = tail.versions[key], let newest = places.last else { return nil }
      let older = places.dropLast().filter { $0.file == newest.file }
      guard let other = older.last else { return nil }
      let length = RotTailStore.recordLength
      return random.next() % 2 == 0
        ? Case(
          file: newest.file, damage: .copy(from: other.offset, to: newest.offset, length: length),
          kind: "versions doubled")
        : Case(
          file: newest.file, damage: .exchange(other.offset, newest.offset, length: length),
          kind: "versions exchanged")
    }
  }

  /// The keys whose newest record before the checkpoint was replaced by an older one of the same
  /// key. Copies and exchanges of any records can do that.
  private static func keysOfOlderVersions(
    in file: String, _ before: [UInt8], _ now: [UInt8], _ tail: RotTailStore
  ) -> Set<UInt64> {
    func record(_ bytes: [UInt8], _ offset: Int) -> ArraySlice<UInt8> {
      bytes.dropFirst(offset).prefix(RotTailStore.recordLength)
    }
    var keys: Set<UInt64> = []
    for (key, places) in tail.versions {
      guard let newest = places.last, newest.file == file else { continue }
      let found = record(now, newest.offset)
      guard found != record(before, newest.offset) else { continue }
      let older = places.dropLast().filter { $0.file == file }
      if older.contains(where: { record(before, $0.offset) == found }) { keys.insert(key) }
    }
    return keys
  }

  /// - Returns: The result; nil if the damage changes nothing.
  private func look(
    at damaged: Case, _ tail: RotTailStore, isBound: Bool, _ random: inout SeededGenerator
  ) throws -> TailOutcome? {
    let before = tail.store.files[damaged.file] ?? []
    let now = damaged.damage.applied(to: before)
    guard now != before else { return nil }
    let fileSystem = try tail.store.fileSystem(replacing: [damaged.file: now])
    let opened: Store
    let isReadOnly = random.next() % 4 == 0
    do {
      var options = RotStore.options(on: fileSystem, isReadOnly: isReadOnly)
      options.comparesReplacedRecords = canary != .uncomparedRecords
      options.comparesReadRecords = canary != .uncomparedReads
      opened = try Store(at: RotStore.path, options: options)
    } catch let error as StoreError {
      try check(error, damaged)
      return .refused
    }
    var outcome = TailOutcome.right
    // The keys whose rows may be read in an older version.
    let olderKeys = isBound ? [] : Self.keysOfOlderVersions(in: damaged.file, before, now, tail)
    let mayBeOlder = !olderKeys.isEmpty
    do {
      if try RotReading.check(opened, tail.store, nil, { try check($0, damaged) }) { outcome = .errors }
    } catch let violation as Violation {
      guard mayBeOlder, try areOlderVersions(of: olderKeys, in: opened, tail) else { throw violation }
      guard try !opened.verify().isClean else { throw Violation("verify does not report an older version") }
      return .older
    }
    if !isReadOnly, try !replaceAll(opened, tail, damaged, mayBeOlder: mayBeOlder, &random) {
      outcome = .errors
    }
    return outcome
  }

  private func check(_ error: StoreError, _ damaged: Case) throws {
    guard error.code == .corruption else { throw Violation("the error does not report damage: \(error)") }
    guard error.place?.hasPrefix(damaged.file) ?? false else {
      throw Violation("the error does not name \(damaged.file): \(error)")
    }
  }

  /// Whether only rows of these keys are wrong, and all of them have an earlier value.
  private func areOlderVersions(
    of keys: Set<UInt64>, in opened: Store, _ tail: RotTailStore
  ) throws -> Bool {
    let snapshot = opened.snapshot()
    let rows = try opened.keyspace("rows", .dense)
    for (key, value) in tail.store.content {
      let found = try snapshot.value(of: key.key, in: rows)
      if found == value { continue }
      guard case .id(let id) = key.key, keys.contains(id), let found,
        tail.store.history[key]?.contains(found) ?? false
      else { return false }
    }
    return true
  }

  /// Replaces each row in a separate commit, here and in the undamaged store, and compares the
  /// indexes.
  ///
  /// - Returns: Whether all commits succeeded.
  private func replaceAll(
    _ opened: Store, _ tail: RotTailStore, _ damaged: Case, mayBeOlder: Bool, _ random: inout SeededGenerator
  ) throws -> Bool {
    let whole = try Store(
      at: RotStore.path, options: RotStore.options(on: tail.store.fileSystem(), isReadOnly: false))
    var areTaken = true
    let rows = try opened.keyspace("rows", .dense)
    for id in tail.versions.keys.sorted() {
      let value = RotTailStore.row(id, version: 1 << 20 + id, &random)
      do { try opened.write { try $0.put(value, id: id, in: rows) } } catch let error as StoreError {
        try check(error, damaged)
        areTaken = false
        continue
      }
      let wholeRows = try whole.keyspace("rows", .dense)
      try whole.write { try $0.put(value, id: id, in: wholeRows) }
    }
    for (index, _) in try opened.indexes {
      var (here, there): ([RotStore.Entry], [RotStore.Entry]) = ([], [])
      try RotStore.visitEntries(of: index, opened.snapshot()) { here.append($0) }
      let same = try whole.indexes.first { $0.index.name == index.name }
      guard let same else { throw Violation("\(index.name) is missing") }
      try RotStore.visitEntries(of: same.index, whole.snapshot()) { there.append($0) }
      guard here == there || mayBeOlder else {
        throw Violation("\(index.name) has wrong entries after every row was replaced")
      }
    }
    return areTaken
  }
}
