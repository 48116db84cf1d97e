import PerdureFileIO
import PerdureFormat
import PerdureLog
import PerdureTestSupport

/// Damages a store, salvages it, and compares the result with the undamaged records.
///
/// Every key whose newest record is undamaged is restored unchanged. Its keyspace has the same name
/// or, if the definition is damaged, a generated name. The exceptions are keys with a record in
/// bytes that were moved, or in a frame that the moved bytes overwrote (`Store.salvage` describes
/// both). The salvage restores the newest intact record of every key; a removed key stays removed
/// (`RotSalvage.checkVersions`). Every restored value was once the value of its key. The report
/// names each damaged file and each key with an older value, and the restored store passes
/// verification.
struct RotSalvage: Sendable {
  private static let target = "/salvaged"

  /// Damage to some of the store's files.
  private struct Case {
    var damages: [(file: String, damage: Damage)]
    var files: [String: [UInt8]]
    /// Keys with a record in the moved bytes, or in the bytes that these overwrote.
    var moved: Set<CrashKey> = []

    func isDamaged(_ file: String, from store: RotStore) -> Bool { files[file] != store.files[file] }
  }

  private struct Tally: Sendable {
    var salvages = 0
    var keys = 0
    var lost = 0
    var underOtherName = 0
    var finding: RotFinding?
    var slowest = ProofLimits.Cost()

    static func += (sum: inout Tally, other: Tally) {
      sum.salvages += other.salvages
      sum.keys += other.keys
      sum.lost += other.lost
      sum.underOtherName += other.underOtherName
      sum.slowest = sum.slowest.worst(other.slowest)
    }
  }

  private let store: RotStore
  private let layout: RotLayout
  private let canary: RotCanary?
  private let seed: UInt64
  /// The words before the number of the salvage in the part that a violation names.
  var prefix = ""
  /// The number of the only salvage to try; nil: all.
  var only: Int?
  /// All values that each key ever had, by name of the keyspace and stored bytes of the key.
  private let history: [String: [[UInt8]: Set<[UInt8]>]]

  init(_ store: RotStore, _ canary: RotCanary? = nil, seed: UInt64) throws {
    self.store = store
    self.canary = canary
    self.seed = seed
    let opened = try Store(at: RotStore.path, options: RotStore.options(on: store.fileSystem()))
    layout = try RotLayout(store.files, opened: opened)
    history = store.history.reduce(into: [:]) { history, entry in
      history[entry.key.keyspace, default: [:]][entry.key.key.stored] = entry.value
    }
  }

  func run(_ count: Int, _ progress: ProofProgress) async throws -> RotResult {
    let tallies = try await withThrowingTaskGroup(of: Tally.self) { group in
      let queue = ProofQueue(count)
      for _ in 0..<ProofQueue.workerCount {
        group.addTask {
          var sum = Tally()
          let note = progress.newNote()
          while let index = queue.next(), sum.finding == nil {
            guard only == nil || only == index else { continue }
            note.begin("\(prefix)|\(index)")
            progress.advance(of: count, "salvages")
            var random = SeededGenerator(seed: seed).derived(UInt64(index))
            let damaged = damagedStore(&random)
            let start = ProofLimits.now()
            do {
              sum += try salvage(damaged)
              try sum.slowest.add(since: start)
            } catch {
              sum.finding = RotFinding(
                what: "salvage of \(damaged.damages.map { "\($0.file) \($0.damage)" }): \(error)",
                part: "\(prefix)|\(index)")
            }
          }
          return sum
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    var sum = Tally()
    for tally in tallies { sum += tally }
    var result = RotResult(count: sum.salvages, findings: tallies.compactMap(\.finding))
    result.report = [
      "\(sum.salvages) salvages restored \(sum.keys) keys, \(sum.underOtherName) of them in a keyspace "
        + "with a generated name; \(sum.lost) damaged keys were lost",
      "  the slowest took \(sum.slowest.text)",
    ]
    return result
  }

  /// The store after one to three cases of damage. Tries again if nothing changed, for example
  /// because exchanged sectors are equal.
  private func damagedStore(_ random: inout SeededGenerator) -> Case {
    let names = store.files.keys.sorted().filter { (store.files[$0]?.count ?? 0) > 0 }
    var damaged = Case(damages: [], files: store.files)
    while damaged.files == store.files { damage(&damaged, names, &random) }
    return damaged
  }

  private func damage(_ damaged: inout Case, _ names: [String], _ random: inout SeededGenerator) {
    for _ in 0..<random.pick(1...3) {
      let file = random.pick(names)
      let damage = Damage.random(in: store.files[file]?.count ?? 1, using: &random)
      damaged.damages.append((file, damage))
      if let bytes = damaged.files[file] { damaged.files[file] = damage.applied(to: bytes) }
      for range in damage.moved { damaged.moved.formUnion(keys(in: file, range)) }
    }
  }

  /// The keys of all records in a range, or in frames that overlap with it.
  private func keys(in file: String, _ range: Range<Int>) -> [CrashKey] {
    let touched = layout.parts.filter { $0.file == file && $0.range.overlaps(range) }
    let frames = Set(touched.map(\.frame)).subtracting([0])
    return layout.parts.indices.filter { index in
      let part = layout.parts[index]
      return part.file == file && (part.range.overlaps(range) || frames.contains(part.frame))
    }.flatMap { layout.owners[$0] ?? [] }
  }

  private func salvage(_ damaged: Case) throws -> Tally {
    let fileSystem = try store.fileSystem(replacing: damaged.files)
    var options = RotStore.options(on: fileSystem)
    options.segmentCapacityBytes = 64 << 10
    options.isReadOnly = false
    let report = try Store.salvage(from: RotStore.path, to: Self.target, options: options)
    try check(report, damaged)
    let target = try Store(at: Self.target, options: options)
    if let canary { try spoil(target, canary, damaged) }
    let verification = try target.verify()
    guard verification.isClean else { throw Violation("verify: \(verification.findings)") }
    do {
      let found = try CrashOracle.content(of: target)
      let tally = try check(found, damaged)
      try checkAges(found, canary == .agelessReport ? [] : report.olderKeys, damaged)
      return tally
    } catch let violation as Violation {
      throw Violation("\(violation); the report lists \(report.damages)")
    }
  }

  /// Spoils a row that must be restored unchanged. For a damaged row, other results are right too.
  private func spoil(_ target: Store, _ canary: RotCanary, _ damaged: Case) throws {
    if canary == .forgetfulSalvage { return try bringBack(in: target, damaged) }
    guard let rows = try target.keyspaces.first(where: { $0.name == "rows" }) else { return }
    var ids: [UInt64] = []
    try target.snapshot().forEach(in: rows) { (id: UInt64, _: RawSpan) in
      ids.append(id)
      return true
    }
    let last = try ids.last { id in
      let key = CrashKey(keyspace: "rows", key: .id(id))
      return try store.content[key] != nil && !damaged.moved.contains(key) && isIntact(key, damaged.files)
    }
    guard let last else { return }
    try target.write { transaction in
      if canary == .lossySalvage { try transaction.remove(id: last, in: rows) }
      if canary == .inventiveSalvage {
        try transaction.put([UInt8](repeating: 7, count: 16), id: last, in: rows)
      }
    }
  }

  /// Restores the value of a removed key whose tombstone is intact.
  private func bringBack(in target: Store, _ damaged: Case) throws {
    let removed = layout.versions.filter { key, versions in
      guard let last = versions.last, last.isRemoval, !damaged.moved.contains(key) else { return false }
      return fate(of: last, damaged.files) == .whole && history[key.keyspace]?[key.key.stored] != nil
    }.min { $0.key.key.stored.lexicographicallyPrecedes($1.key.key.stored) }
    guard let key = removed?.key,
      let value = history[key.keyspace]?[key.key.stored]?.min(by: { $0.count < $1.count }),
      let keyspace = try target.keyspaces.first(where: { $0.name == key.keyspace })
    else { return }
    try target.write { try $0.set(value, of: key.key, in: keyspace) }
  }

  private func check(_ found: CrashHistory.Content, _ damaged: Case) throws -> Tally {
    var tally = Tally(salvages: 1, keys: found.count)
    for (key, value) in store.content where found[key] != value {
      if try isAsItWas(key, damaged, found) { tally.underOtherName += 1 } else { tally.lost += 1 }
    }
    for (key, value) in found where store.content[key] != value {
      guard history[originalName(of: key.keyspace)]?[key.key.stored]?.contains(value) == true else {
        throw Violation("\(key) has a value that it never had")
      }
    }
    try checkVersions(found, damaged)
    return tally
  }

  /// Checks that the newest intact record of each key was restored. If it is a removal, the key
  /// must be absent. Newer records in damaged groups may be restored as well, and so may newer
  /// packed records whose dictionary is damaged.
  private func checkVersions(_ found: CrashHistory.Content, _ damaged: Case) throws {
    var values: [String: [[UInt8]: [[UInt8]]]] = [:]
    for (key, value) in found {
      values[originalName(of: key.keyspace), default: [:]][key.key.stored, default: []].append(value)
    }
    for (key, versions) in layout.versions where !damaged.moved.contains(key) {
      let fates = versions.map { fate(of: $0, damaged.files) }
      let newest = fates.lastIndex(of: .whole)
      let unsure = versions.indices.filter { $0 > newest ?? -1 && fates[$0] == .unsure }
      let deciding = (newest.map { [$0] } ?? []) + unsure
      let mayBeGone = newest == nil || deciding.contains { versions[$0].isRemoval }
      let back = values[key.keyspace]?[key.key.stored] ?? []
      let isRight =
        back.isEmpty
        ? mayBeGone : back.allSatisfy { value in deciding.contains { fits(value, versions[$0], key) } }
      guard isRight else {
        throw Violation(
          "\(key) was \(back.isEmpty ? "not restored" : "restored with another value"), contrary to its newest intact record: "
            + "its records are \(fates)\(versions.last?.isRemoval == true ? ", the last a removal" : "")")
      }
    }
  }

  /// Whether a restored value may come from a record.
  private func fits(_ value: [UInt8], _ version: RotVersion, _ key: CrashKey) -> Bool {
    switch version.value {
    case .removed: false
    case .plain(let bytes): bytes == value
    // A key has at most one such value.
    case .blob, .packed: store.content[key] == value
    }
  }

  private enum RecordFate { case whole, damaged, unsure }

  private func fate(of version: RotVersion, _ files: [String: [UInt8]]) -> RecordFate {
    let part = layout.parts[version.part]
    guard isWhole(part, files) else { return part.kind == .groups ? .unsure : .damaged }
    switch version.value {
    case .removed, .plain: return .whole
    case .blob(let number):
      let file = StoreFileName.blob(number).string
      return store.files[file] != nil && files[file] == store.files[file] ? .whole : .damaged
    case .packed:
      return layout.dictionaries.allSatisfy { isWhole(layout.parts[$0], files) } ? .whole : .unsure
    }
  }

  /// The original name of a restored keyspace, which may have been renamed to `lost-` and its
  /// number.
  private func originalName(of name: String) -> String {
    let words = name.split(separator: "-")
    guard words.first == "lost", words.count > 1, let id = UInt32(words[1]) else { return name }
    return layout.names[id]?.name ?? name
  }

  /// Whether the value of a key is in a keyspace with a generated name, and not in the keyspace of
  /// the original name.
  ///
  /// - Throws: `Violation` if the key must have its value and does not.
  private func isAsItWas(
    _ key: CrashKey, _ damaged: Case, _ found: CrashHistory.Content
  ) throws -> Bool {
    let definitions = (layout.definitions[key.keyspace] ?? []).map { layout.parts[$0] }
    let isDefined = definitions.allSatisfy { isWhole($0, damaged.files) }
    if !isDefined {
      let isThere = found.contains {
        $0.key.keyspace.hasPrefix("lost-") && originalName(of: $0.key.keyspace) == key.keyspace
          && $0.key.key.stored == key.key.stored && $0.value == store.content[key]
      }
      if isThere { return true }
    }
    guard try !isIntact(key, damaged.files) || damaged.moved.contains(key) else {
      let part = layout.newest[key].map { layout.parts[$0] }
      let how = found[key] == nil ? "not restored" : "restored with another value"
      throw Violation(
        "\(key), in \(part?.range ?? 0..<0) of \(part?.file ?? ""), was \(how)")
    }
    return false
  }

  // MARK: - The report

  /// Checks that the report names every key whose restored value is not the newest one, and every
  /// restored key that was removed.
  private func checkAges(
    _ found: CrashHistory.Content, _ named: [SalvageReport.OlderKey], _ damaged: Case
  ) throws {
    let named =
      named.reduce(into: [:]) { $0[$1.keyspace, default: []].insert($1.key) }
      as [String: Set<[UInt8]>]
    for (key, value) in found {
      let original = CrashKey(keyspace: originalName(of: key.keyspace), key: key.key)
      guard store.content[original] != value, !damaged.moved.contains(original) else { continue }
      guard named[key.keyspace]?.contains(key.key.stored) == true else {
        throw Violation("\(key) was restored with an older value, but the report does not name it")
      }
    }
  }

  /// Whether a salvage must read parts of this kind, and so must report damage to them.
  private static func isRead(_ kind: RotPart.Kind) -> Bool {
    switch kind {
    case .segmentHeader, .frameHeader, .liveRecord, .deadRecord, .definition, .groups: true
    default: false
    }
  }

  private func check(_ report: SalvageReport, _ damaged: Case) throws {
    let last = layout.parts.last { $0.kind == .frameHeader }?.file
    for name in store.files.keys where damaged.isDamaged(name, from: store) {
      // The superblock contains the end of the log, so a salvage may not read the last segment in
      // full.
      if name == last && damaged.isDamaged("SUPERBLOCK", from: store) { continue }
      let parts = layout.parts.filter {
        $0.file == name && Self.isRead($0.kind) && !isIntact($0, damaged.files)
      }
      guard let first = parts.first, !report.damages.contains(where: { $0.file == name }) else { continue }
      throw Violation("the report does not name \(name), damaged in \(first.range) (\(first.kind))")
    }
  }

  // MARK: - Undamaged parts

  /// Whether all bytes that the newest record of a key needs are unchanged.
  private func isIntact(_ key: CrashKey, _ files: [String: [UInt8]]) throws -> Bool {
    guard let index = layout.newest[key] else { throw Violation("\(key) has no record") }
    guard ([index] + layout.dictionaries).allSatisfy({ isWhole(layout.parts[$0], files) }) else {
      return false
    }
    return layout.blobs.allSatisfy { number, owner in
      let file = StoreFileName.blob(number).string
      return owner != key || files[file] == store.files[file]
    }
  }

  /// Whether a part is unchanged, together with the data that is needed to find it.
  private func isWhole(_ part: RotPart, _ files: [String: [UInt8]]) -> Bool {
    guard isIntact(part, files) else { return false }
    guard part.kind == .groups else { return true }
    // The table of groups has the start of each group.
    let tables = layout.parts.filter { $0.file == part.file && $0.kind == .groupTable }
    return tables.allSatisfy { isIntact($0, files) }
  }

  private func isIntact(_ part: RotPart, _ files: [String: [UInt8]]) -> Bool {
    guard let now = files[part.file], let before = store.files[part.file],
      now.count >= part.range.upperBound
    else { return false }
    return now[part.range] == before[part.range]
  }
}

extension Damage {
  /// The ranges of the moved bytes, and of the bytes that they overwrote.
  fileprivate var moved: [Range<Int>] {
    switch self {
    case .copy(let from, let to, let length): [from..<(from + length), to..<(to + length)]
    case .exchange(let a, let b, let length): [a..<(a + length), b..<(b + length)]
    default: []
    }
  }
}

extension Key {
  /// The bytes of the key in a record.
  var stored: [UInt8] {
    switch self {
    case .id(let id): withUnsafeBytes(of: id.littleEndian) { Array($0) }
    case .bytes(let bytes): bytes
    }
  }
}
