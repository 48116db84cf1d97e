import PerdureFileIO
import PerdureLog
import PerdureTestSupport

/// Damages the files of a store by more than one bit, and opens the store after each damage.
struct RotMutations: Sendable {
  /// Damage to one file. If `damage` is nil, the file is removed.
  struct Mutation: Sendable, CustomStringConvertible {
    var file: String
    var damage: Damage?
    /// The name of the kind, used in a line of the report.
    var kind: String

    /// Whether the damage replaces the whole file by its content at an earlier time.
    var isOlder: Bool { kind == RotMutations.olderSegments || kind == RotMutations.olderOthers }

    var description: String { "\(file) \(damage?.description ?? "removed")" }
  }

  /// The result of a mutation.
  private enum Outcome: String, CaseIterable {
    case refused = "did not open"
    case rebuilt = "rebuilt their index"
    case errors = "reported errors at the damage"
    case right = "were read correctly despite the damage"
    case unread = "were damaged in unused bytes"
  }

  private struct Tally: Sendable {
    var tried: [String: Int] = [:]
    var outcomes: [Outcome: Int] = [:]
    var findings: [RotFinding] = []
    var slowest = ProofLimits.Cost()
  }

  let store: RotStore
  private let layout: RotLayout
  private let keys: [CrashKey]
  private let mutations: [Mutation]
  private let counts: [String: Int]
  private let seed: UInt64
  let canary: RotCanary?
  /// The words that a violation names before the number of the mutation.
  var prefix = ""
  /// The number of the only mutation to try; nil: all.
  var only: Int?

  /// - Parameter truncates: Whether each length of each file is tried. Only for stores where this
  ///   takes seconds.
  /// - Parameter share: The fraction of the mutations to try.
  init(
    _ store: RotStore, truncates: Bool, share: Double, _ canary: RotCanary? = nil, seed: UInt64
  ) throws {
    self.store = store
    self.seed = seed
    self.canary = canary
    counts = store.keyCounts
    let opened = try Store(at: RotStore.path, options: RotStore.options(on: store.fileSystem()))
    layout = try RotLayout(store.files, opened: opened)
    keys = store.content.keys.sorted { "\($0)" < "\($1)" }
    var random = SeededGenerator(seed: seed)
    var all = Self.all(store, truncates: truncates, &random)
    all.shuffle(using: &random)
    mutations = Array(all.prefix(max(1, Int(Double(all.count) * share))))
  }

  var count: Int { mutations.count }

  /// The descriptions of the mutations, by number.
  var names: [String] { mutations.map(\.description) }

  /// All mutations, in the order of the file names within each kind. The order is the same in every
  /// process, because numbers name mutations.
  static func all(
    _ store: RotStore, truncates: Bool, _ random: inout SeededGenerator
  ) -> [Mutation] {
    sectors(store, &random) + stale(store) + (truncates ? truncations(store) : [])
  }

  private static func truncations(_ store: RotStore) -> [Mutation] {
    store.files.sorted { $0.key < $1.key }.flatMap { name, bytes in
      [Mutation(file: name, damage: nil, kind: "removed")]
        + Damage.truncations(of: bytes.count).map { Mutation(file: name, damage: $0, kind: "cut short") }
    }
  }

  private static func sectors(_ store: RotStore, _ random: inout SeededGenerator) -> [Mutation] {
    let names = store.files.keys.sorted().filter { (store.files[$0]?.count ?? 0) > 0 }
    // The files with a complete sector of either length. Their sectors can replace those of other
    // files.
    let longNames = names.filter { (store.files[$0]?.count ?? 0) >= 4096 }
    var all: [Mutation] = []
    for name in names {
      let count = store.files[name]?.count ?? 0
      let others = store.files[random.pick(longNames)] ?? []
      for sector in [512, 4096] {
        for damage in Damage.sectors(of: count, sector: sector, others: others, using: &random) {
          let kind = "sectors of \(sector) \(damage.kindOfSector)"
          all.append(Mutation(file: name, damage: damage, kind: kind))
        }
      }
      for _ in 0..<(count / 512 + 1) {
        all.append(Mutation(file: name, damage: .random(in: count, using: &random), kind: "anything"))
      }
    }
    return all
  }

  fileprivate static let olderSegments = "earlier segments"
  fileprivate static let olderOthers = "other earlier files"

  /// Files and sectors with their content of an earlier time.
  private static func stale(_ store: RotStore) -> [Mutation] {
    var all: [Mutation] = []
    for (name, newest) in store.files.sorted(by: { $0.key < $1.key }) {
      for bytes in store.older.compactMap({ $0[name] }) where bytes != newest {
        let kind = name.hasSuffix(".segment") ? Self.olderSegments : Self.olderOthers
        all.append(Mutation(file: name, damage: .replacement(bytes), kind: kind))
        for start in stride(from: 0, to: bytes.count - bytes.count % 512, by: 512) {
          let damage = Damage.foreign(Array(bytes[start..<(start + 512)]), at: start)
          all.append(Mutation(file: name, damage: damage, kind: "earlier sectors"))
        }
      }
    }
    return all
  }

  func run(_ progress: ProofProgress) async throws -> RotResult {
    let queue = ProofQueue(mutations.count)
    let tally = try await withThrowingTaskGroup(of: Tally.self) { group in
      for _ in 0..<ProofQueue.workerCount {
        group.addTask {
          var tally = Tally()
          let note = progress.newNote()
          while let index = queue.next(), tally.findings.count < RotCampaign.violationsMax {
            guard only == nil || only == index else { continue }
            note.begin("\(prefix)|\(index)")
            progress.advance(of: mutations.count, "mutations")
            let mutation = mutations[index]
            let start = ProofLimits.now()
            do {
              guard let outcome = try look(at: mutation, index) else { continue }
              tally.outcomes[outcome, default: 0] += 1
              try tally.slowest.add(since: start)
            } catch {
              tally.findings.append(RotFinding(what: "\(mutation): \(error)", part: "\(prefix)|\(index)"))
            }
            tally.tried[mutation.kind, default: 0] += 1
          }
          return tally
        }
      }
      var sum = Tally()
      for try await tally in group {
        sum.tried.merge(tally.tried, uniquingKeysWith: +)
        sum.outcomes.merge(tally.outcomes, uniquingKeysWith: +)
        sum.findings += tally.findings
        sum.slowest = sum.slowest.worst(tally.slowest)
      }
      return sum
    }
    return result(tally)
  }

  private func result(_ tally: Tally) -> RotResult {
    var result = RotResult(findings: tally.findings)
    result.count = tally.tried.values.reduce(0, +)
    let kinds = tally.tried.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
    let outcomes = Outcome.allCases.map { "\(tally.outcomes[$0] ?? 0) \($0.rawValue)" }
    result.report = [
      "other damage to a store of \(store.byteCount) bytes: \(kinds.joined(separator: ", "))",
      "  of these \(outcomes.joined(separator: ", "))",
      "  the slowest took \(tally.slowest.text)",
    ]
    return result
  }

  /// - Returns: The result; nil if the mutation changed nothing, because a sector was equal to its
  ///   replacement.
  private func look(at mutation: Mutation, _ index: Int) throws -> Outcome? {
    guard let damage = RotDamage(mutation, of: store, layout) else { return nil }
    let isUnread = canary == .unreadTails && damage.parts.allSatisfy(\.isTail)
    let fileSystem = try isUnread ? store.fileSystem() : damage.fileSystem(store)
    // Some stores are opened for writing, which may change their files.
    let isReadOnly = index % 8 != 0
    let opened: Store
    do {
      var options = RotStore.options(on: fileSystem, isReadOnly: isReadOnly)
      options.verifiesChecksumsOnRead = canary != .uncheckedDamage
      opened = try Store(at: RotStore.path, options: options)
    } catch let error as StoreError {
      try damage.places.check(error)
      return .refused
    }
    guard opened.snapshot().sequence == store.sequence else {
      throw Violation("the store has only commit \(opened.snapshot().sequence)")
    }
    var outcome = damage.parts.allSatisfy(\.kind.isOfNoAccount) ? Outcome.unread : .right
    if let rebuild = opened.recoveryReport.indexRebuild {
      // An older superblock is complete. It names a checkpoint, and the space of that checkpoint in
      // the index file was reused.
      if !(damage.isOlderSuperblock && rebuild.place.contains(".index")) {
        try damage.places.check(rebuild.place, "\(rebuild)")
      }
      outcome = .rebuilt
    } else if let part = damage.parts.first(where: \.isReadByOpening) {
      throw Violation("an opening does not detect damage in \(part.range) (\(part.kind))")
    }
    for keyspace in try opened.keyspaces {
      guard opened.snapshot().count(in: keyspace) == counts[keyspace.name] ?? 0 else {
        throw Violation("\(keyspace.name) has a wrong number of keys")
      }
    }
    var random = SeededGenerator(seed: seed).derived(UInt64(index))
    var hasErrors = try readDamaged(opened, damage, &random)
    if try readSome(opened, damage, &random) { hasErrors = true }
    // If a complete read takes long, most mutations are only read in part.
    if store.byteCount < 200_000 || index % 16 == 0, try readAll(opened, damage) { hasErrors = true }
    if !isReadOnly {
      if !hasErrors { try goOn(opened, damage, on: fileSystem, &random) }
      if hasErrors { try tidyUp(opened, damage, on: fileSystem) }
    }
    return hasErrors ? .errors : outcome
  }

  /// The maximum number of damaged parts to read.
  private static let partsMax = 24

  /// Reads the keys whose lookup reads the damage: no such read may succeed.
  private func readDamaged(
    _ opened: Store, _ damage: RotDamage, _ random: inout SeededGenerator
  ) throws -> Bool {
    let reader = try RotReader(opened)
    let wasRebuilt = opened.recoveryReport.indexRebuild != nil
    var hasErrors = false
    for part in damage.parts.shuffled(using: &random).prefix(Self.partsMax)
    where !part.isTail && !(wasRebuilt && part.page != nil) {
      var isRead = true
      do { isRead = try reader.read(part) } catch let error as StoreError {
        try damage.places.check(error)
        hasErrors = true
        continue
      }
      guard !isRead else { throw Violation("no read detects the damage in \(part.range) (\(part.kind))") }
    }
    return hasErrors
  }

  private func readAll(_ opened: Store, _ damage: RotDamage) throws -> Bool {
    var hasErrors = try RotReading.check(opened, store, canary) { try damage.places.check($0) }
    do {
      let report = try opened.verify()
      let (isQuiet, wasRebuilt) = (canary == .quietVerify, opened.recoveryReport.indexRebuild != nil)
      let parts = damage.parts.filter { $0.isVerified && !(wasRebuilt && $0.page != nil) }
      // A segment with its content from before it was rewritten has the same records.
      if let part = parts.first, !damage.isOlderSegment {
        guard !isQuiet, report.findings.contains(where: { $0.description.contains(part.file) }) else {
          throw Violation("verify does not report \(part.range) (\(part.kind)): \(report.findings)")
        }
      }
      if !report.isClean { hasErrors = true }
    } catch let error as StoreError {
      try damage.places.check(error)
      hasErrors = true
    }
    return hasErrors
  }

  private func readSome(
    _ opened: Store, _ damage: RotDamage, _ random: inout SeededGenerator
  ) throws -> Bool {
    let reader = try RotReader(opened)
    var hasErrors = false
    for _ in 0..<16 {
      let key = random.pick(keys)
      do {
        let value = try reader.value(of: key)
        guard value == store.content[key] else { throw Violation("\(key) has a wrong value, or none") }
      } catch let error as StoreError {
        try damage.places.check(error)
        hasErrors = true
      }
    }
    return hasErrors
  }

  /// Commits to the store. After the next opening, the store must have this commit, and a sample of
  /// the other content must be right.
  private func goOn(
    _ opened: Store, _ damage: RotDamage, on fileSystem: InMemoryFileSystem, _ random: inout SeededGenerator
  ) throws {
    let rows = try opened.keyspace("rows", .dense)
    let (id, value) = (UInt64(1) << 50, [1, 2, 3] as [UInt8])
    do {
      try opened.write { try $0.put(value, id: id, in: rows) }
      try opened.close()
    } catch let error as StoreError {
      return try damage.places.check(error)
    }
    let again = try Store(at: RotStore.path, options: RotStore.options(on: fileSystem))
    guard try again.snapshot().value(id: id, in: rows) == value else { throw Violation("a commit is lost") }
    _ = try readSome(again, damage, &random)
  }
}

extension Damage {
  /// The kind of damage to a sector, as the report names it.
  fileprivate var kindOfSector: String {
    switch self {
    case .zeros: "zeroed"
    case .noise: "of noise"
    case .copy(let from, let to, let length): abs(from - to) == length ? "doubled" : "misdirected"
    case .exchange: "exchanged"
    case .foreign: "of another file"
    case .bit, .truncation, .replacement: "damaged otherwise"
    }
  }
}
