import PerdureFileIO
import PerdureLog
import PerdureTestSupport

/// The method that checked a flipped bit.
package enum RotMethod: String, CaseIterable, Sendable {
  /// The value was read through every path that leads to it.
  case record = "read"
  /// The frame was read, as recovery, verification and compaction read it.
  case frame = "frame read"
  /// Structures with one checksum: a node of the index, a map, the slots of the superblock.
  case page = "page checked"
  /// The store was opened anew, and read in.
  case opening = "opened"
}

/// A deliberate error, to show that it is found.
package enum RotCanary: Sendable, CaseIterable {
  /// Records are read without their checksums.
  case uncheckedRecords
  /// Whatever bit flips in a record, its checksum fits.
  case repairedRecords
  /// Nodes of the index are read without their checksums.
  case uncheckedNodes
  /// Openings do not read the log after the checkpoint, and see it unchanged.
  case unreadTails
  /// Of damage of more than a bit: records are read without their checksums.
  case uncheckedDamage
  /// Of the same: a verification finds nothing.
  case quietVerify
  /// Of the same: a walk that meets an error has passed over its first value.
  case wrongBesideErrors
  /// Of the same: a compaction gives damaged records new checksums.
  case resealedDamage
  /// Records are not bound to their addresses, but checked as if they were.
  case unboundRecords
  /// A salvaged store that lacks a row.
  case lossySalvage
  /// What a salvage gives has a value that was never written.
  case inventiveSalvage
  /// What a salvage gives has a row that was removed.
  case forgetfulSalvage

  /// Whether flipped bits show it.
  var isOfBits: Bool {
    switch self {
    case .uncheckedRecords, .repairedRecords, .uncheckedNodes, .unreadTails: true
    case .uncheckedDamage, .quietVerify, .wrongBesideErrors, .resealedDamage: false
    case .lossySalvage, .inventiveSalvage, .forgetfulSalvage, .unboundRecords: false
    }
  }

  /// Whether damage of more than a bit shows it.
  var isOfDamage: Bool {
    [.unreadTails, .uncheckedDamage, .quietVerify, .wrongBesideErrors, .resealedDamage].contains(self)
  }

  var isOfSalvage: Bool { [.lossySalvage, .inventiveSalvage, .forgetfulSalvage].contains(self) }
}

/// Flips bits of a store that is open on files of its own, and puts them back.
final class RotBench {
  enum Outcome: Equatable {
    case right, namedError
    /// The check of a part by itself has found it, where no place is named.
    case refused
  }

  private let store: RotStore
  private let canary: RotCanary?
  private let fileSystem: InMemoryFileSystem
  private var files: [String: any File] = [:]
  private var opened: Store
  private var keyspaces: [String: Keyspace] = [:]
  private var pages: [IndexPage] = []
  private var random: SeededGenerator
  private let keys: [CrashKey]
  private let counts: [String: Int]

  init(_ store: RotStore, keys: [CrashKey], _ canary: RotCanary?, _ random: SeededGenerator) throws {
    self.store = store
    self.canary = canary
    self.random = random
    self.keys = keys
    counts = store.keyCounts
    fileSystem = try store.fileSystem()
    opened = try Self.open(fileSystem, canary)
    for name in store.files.keys { files[name] = try fileSystem.open(RotStore.path + "/" + name, .readWrite) }
    for keyspace in try opened.keyspaces { keyspaces[keyspace.name] = keyspace }
    pages = try opened.indexPages()
  }

  private static func open(_ fileSystem: any FileSystem, _ canary: RotCanary?) throws -> Store {
    var options = RotStore.options(on: fileSystem)
    options.verifiesChecksumsOnRead = canary != .uncheckedRecords
    options.verifiesIndexChecksums = canary != .uncheckedNodes
    return try Store(at: RotStore.path, options: options)
  }

  private func write(_ byte: UInt8, at offset: Int, of name: String) throws {
    try withUnsafeBytes(of: byte) { try files[name]?.write($0, at: UInt64(offset)) }
  }

  /// Flips a bit, checks it with `methods`, and restores it.
  ///
  /// - Returns: The result of each method, or the violation.
  func flip(
    bit: Int, of part: RotPart, _ methods: [RotMethod], isThorough: Bool
  ) throws -> (outcomes: [Outcome], violation: String?) {
    guard let bytes = store.files[part.file] else { return ([], "\(part.file) is not there") }
    let place = part.range.lowerBound + bit / 8
    try write(bytes[place] ^ 1 << UInt8(bit % 8), at: place, of: part.file)
    if canary == .repairedRecords, part.kind == .liveRecord { try repair(part) }
    defer { if canary == .repairedRecords, part.kind == .liveRecord { try? restore(part, bytes) } }
    var outcomes: [Outcome] = []
    var violation: String?
    for method in methods {
      do { outcomes.append(try look(method, part, isThorough)) } catch {
        let where_ = "bit \(bit % 8) of byte \(place) of \(part.file) (\(part.kind), \(method.rawValue))"
        violation = "\(where_): \(error)"
      }
    }
    try write(bytes[place], at: place, of: part.file)
    return (outcomes, violation)
  }

  // MARK: - Observations

  private func look(_ method: RotMethod, _ part: RotPart, _ isThorough: Bool) throws -> Outcome {
    switch method {
    case .record: return try lookAtRecord(part)
    case .frame:
      return try mustFail(part) { try opened.readFrame(at: part.frame, ofSegment: part.segment) }
    case .page: return try lookAtPage(part)
    case .opening: return try lookAtOpening(part, isThorough)
    }
  }

  private func lookAtPage(_ part: RotPart) throws -> Outcome {
    if let page = part.page {
      return try mustFail(part) { try opened.check(pages[page]) }
    }
    guard let file = files[part.file] else { throw Violation("no file") }
    let bytes = try file.read(Int(file.size()), at: 0)
    if part.kind != .superblock {
      guard try RotPages.isNoticed(inMapOf: bytes, part) else {
        throw Violation("damage that nothing notices")
      }
      return .refused
    }
    try RotPages.checkSuperblock(bytes, before: store.files[part.file] ?? [])
    return .right
  }

  /// Every path that leads to the value gives an error that names the place; not even the right
  /// value, as all of these bytes are under a checksum.
  private func lookAtRecord(_ part: RotPart) throws -> Outcome {
    guard let key = part.key, let keyspace = keyspaces[key.keyspace] else { throw Violation("no key") }
    let snapshot = opened.snapshot()
    switch key.key {
    case .id(let id):
      _ = try mustFail(part) { _ = try snapshot.value(id: id, in: keyspace) }
      _ = try mustFail(part) { try snapshot.withValues(ids: [id], in: keyspace) { _, _ in } }
      _ = try mustFail(part) { try snapshot.forEach(in: keyspace, ids: id...id) { _, _ in true } }
      if part.kind == .blob {
        return try mustFail(part) { try snapshot.reader(id: id, in: keyspace)?.forEachPiece { _ in true } }
      }
      return try mustFail(part) { _ = try snapshot.record(id: id, in: keyspace) }
    case .bytes(let bytes):
      _ = try mustFail(part) { _ = try snapshot.value(key: bytes, in: keyspace) }
      _ = try mustFail(part) { try snapshot.withValues(keys: [bytes], in: keyspace) { _, _ in } }
      return try mustFail(part) {
        try snapshot.forEach(in: keyspace, range: .prefix(bytes)) { (_: RawSpan, _: RawSpan) in true }
      }
    }
  }

  private func lookAtOpening(_ part: RotPart, _ isThorough: Bool) throws -> Outcome {
    let store: Store
    let isUnread = canary == .unreadTails && part.isTail
    do { store = try Self.open(isUnread ? self.store.fileSystem() : fileSystem, canary) } catch let error
      as StoreError
    {
      try checkNames(error, part)
      return .namedError
    }
    let snapshot = store.snapshot()
    guard snapshot.sequence == self.store.sequence else {
      throw Violation("the store went back to commit \(snapshot.sequence) of \(self.store.sequence)")
    }
    var outcome = Outcome.right
    if let rebuild = store.recoveryReport.indexRebuild {
      try RotPlaces(file: part.file, ranges: part.places).check(rebuild.place, "\(rebuild)")
      outcome = .namedError
    } else if part.isReadByOpening {
      throw Violation("an opening passes over it")
    }
    for (name, count) in counts {
      guard let keyspace = keyspaces[name], snapshot.count(in: keyspace) == count else {
        throw Violation("\(name) has another number of keys")
      }
    }
    for _ in 0..<4 where try check(random.pick(keys), store, part) == .namedError { outcome = .namedError }
    if try readThrough(part, store) { outcome = .namedError }
    if isThorough, try RotReading.check(store, self.store, canary, { try checkNames($0, part) }) {
      outcome = .namedError
    }
    if isThorough, part.isVerified, !(store.recoveryReport.indexRebuild != nil && part.page != nil) {
      let findings = try store.verify().findings
      guard findings.contains(where: { $0.description.contains(part.file) }) else {
        throw Violation("verify says nothing of it: \(findings)")
      }
    }
    return outcome
  }

  /// Reads the keys that lead to the part in a store that was opened with the damage. Opening reads
  /// the tail and the catalog; other parts were not read before.
  ///
  /// - Returns: Whether the damage was met.
  private func readThrough(_ part: RotPart, _ store: Store) throws -> Bool {
    // Of a torn tail nothing is left that could be read; and a new index has its nodes in memory.
    let wasRebuilt = store.recoveryReport.indexRebuild != nil
    guard !part.isTail, !(wasRebuilt && part.page != nil) else { return false }
    let reader = try RotReader(store)
    var isRead = true
    do { isRead = try reader.read(part) } catch let error as StoreError {
      try checkNames(error, part)
      return true
    }
    guard !isRead, part.page == nil else { throw Violation("damage that nothing notices") }
    return false
  }

  @discardableResult
  private func check(_ key: CrashKey, _ store: Store, _ part: RotPart) throws -> Outcome {
    guard let keyspace = keyspaces[key.keyspace] else { throw Violation("no key") }
    let value: [UInt8]?
    do {
      value = try store.snapshot().value(of: key.key, in: keyspace)
    } catch let error as StoreError {
      try checkNames(error, part)
      return .namedError
    }
    guard value == self.store.content[key] else { throw Violation("\(key) has a wrong value, or none") }
    return .right
  }

  private func mustFail(_ part: RotPart, _ body: () throws -> Void) throws -> Outcome {
    try RotPlaces(file: part.file, ranges: part.places).mustFail(body)
    return .namedError
  }

  private func checkNames(_ error: StoreError, _ part: RotPart) throws {
    try RotPlaces(file: part.file, ranges: part.places).check(error)
  }

  // MARK: - Canaries

  private func repair(_ part: RotPart) throws {
    guard let file = files[part.file], let original = store.files[part.file] else { return }
    let bytes = try file.read(part.range.count, at: UInt64(part.range.lowerBound))
    let checksum = RotChecksum.ofRecord(bytes, was: Array(original[part.range]))
    try file.write(checksum, at: UInt64(part.range.lowerBound))
  }

  private func restore(_ part: RotPart, _ bytes: [UInt8]) throws {
    try files[part.file]?.write(Array(bytes[part.range]), at: UInt64(part.range.lowerBound))
  }
}
