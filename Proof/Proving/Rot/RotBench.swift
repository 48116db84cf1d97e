import PerdureFileIO
import PerdureLog
import PerdureTestSupport

/// How a flipped bit was checked.
package enum RotMethod: String, CaseIterable, Sendable {
  /// The value was read in every way that reads these bytes.
  case record = "read"
  /// The frame was read in the way that recovery, verification and compaction use.
  case frame = "frame read"
  /// A structure with its own checksum was checked: a node of the index, a map, or a slot of the
  /// superblock.
  case page = "page checked"
  /// The store was opened again and read.
  case opening = "opened"
}

/// A deliberate error that the campaign must detect.
package enum RotCanary: Sendable, CaseIterable {
  /// Records are read without their checksums.
  case uncheckedRecords
  /// After a bit flip in a record, the record gets a matching checksum.
  case repairedRecords
  /// Nodes of the index are read without their checksums.
  case uncheckedNodes
  /// Openings do not see the damage in the log after the checkpoint.
  case unreadTails
  /// With damage of more than one bit: records are read without their checksums.
  case uncheckedDamage
  /// With damage of more than one bit: a verification reports nothing.
  case quietVerify
  /// With damage of more than one bit: a scan that meets an error has skipped its first value.
  case wrongBesideErrors
  /// With damage of more than one bit: a compaction gives damaged records new checksums.
  case resealedDamage
  /// Records are not bound to their addresses, but the checks expect that they are.
  case unboundRecords
  /// An opening removes the index entries of each record that the log after the checkpoint
  /// replaced. It does not check the keyspace and the key of the record at the address.
  case uncomparedRecords
  /// In a store with a log after the checkpoint, reads accept the record at an address, although
  /// it may have another keyspace or key.
  case uncomparedReads
  /// A salvaged store lacks a row.
  case lossySalvage
  /// A salvaged store has a value that was never written.
  case inventiveSalvage
  /// A salvaged store has a row that was removed.
  case forgetfulSalvage
  /// The report of a salvage names no restored value that may be older than the newest one.
  case agelessReport

  /// Whether flipped bits must reveal it.
  var isOfBits: Bool {
    switch self {
    case .uncheckedRecords, .repairedRecords, .uncheckedNodes, .unreadTails: true
    case .uncheckedDamage, .quietVerify, .wrongBesideErrors, .resealedDamage: false
    case .unboundRecords, .uncomparedRecords, .uncomparedReads: false
    case .lossySalvage, .inventiveSalvage, .forgetfulSalvage, .agelessReport: false
    }
  }

  /// Whether damage of more than one bit must reveal it.
  var isOfDamage: Bool {
    [.unreadTails, .uncheckedDamage, .quietVerify, .wrongBesideErrors, .resealedDamage].contains(self)
  }

  /// Whether records at wrong offsets, in stores with a log after the checkpoint, must reveal it.
  var isOfTails: Bool { [.unboundRecords, .uncomparedRecords, .uncomparedReads].contains(self) }

  var isOfSalvage: Bool {
    [.lossySalvage, .inventiveSalvage, .forgetfulSalvage, .agelessReport].contains(self)
  }
}

/// Flips bits in the files of an open store, and restores them. Each bench has separate files.
final class RotBench {
  enum Outcome: Equatable {
    case right, namedError
    /// The check of one structure detected the damage. Such checks name no file and no byte.
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

  /// Flips a bit, checks the store with `methods`, and restores the bit.
  ///
  /// - Returns: The result of each method, or the violation.
  func flip(
    bit: Int, of part: RotPart, _ methods: [RotMethod], isThorough: Bool
  ) throws -> (outcomes: [Outcome], violation: String?) {
    guard let bytes = store.files[part.file] else { return ([], "\(part.file) is missing") }
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
        throw Violation("the damage is not detected")
      }
      return .refused
    }
    try RotPages.checkSuperblock(bytes, before: store.files[part.file] ?? [])
    return .right
  }

  /// Checks that every read of the value throws an error that names the file and a damaged byte. A
  /// read must not return even the right value, because a checksum covers all of these bytes.
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
      throw Violation("the store has commit \(snapshot.sequence) of \(self.store.sequence)")
    }
    var outcome = Outcome.right
    if let rebuild = store.recoveryReport.indexRebuild {
      try RotPlaces(file: part.file, ranges: part.places).check(rebuild.place, "\(rebuild)")
      outcome = .namedError
    } else if part.isReadByOpening {
      throw Violation("an opening does not detect it")
    }
    for (name, count) in counts {
      guard let keyspace = keyspaces[name], snapshot.count(in: keyspace) == count else {
        throw Violation("\(name) has a wrong number of keys")
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
        throw Violation("verify does not report it: \(findings)")
      }
    }
    return outcome
  }

  /// Reads the keys whose lookup reads the part, in a store that was opened with the damage.
  /// Opening reads only the tail and the catalog.
  ///
  /// - Returns: Whether a read found the damage.
  private func readThrough(_ part: RotPart, _ store: Store) throws -> Bool {
    // A torn tail was cut off, so nothing remains to read. A rebuilt index has its nodes in memory.
    let wasRebuilt = store.recoveryReport.indexRebuild != nil
    guard !part.isTail, !(wasRebuilt && part.page != nil) else { return false }
    let reader = try RotReader(store)
    var isRead = true
    do { isRead = try reader.read(part) } catch let error as StoreError {
      try checkNames(error, part)
      return true
    }
    guard !isRead, part.page == nil else { throw Violation("the damage is not detected") }
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
