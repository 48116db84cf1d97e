import PerdureFileIO
import PerdureLog
import PerdureTestSupport

/// Damages the files of a store by more than a bit, and opens it for each.
struct RotMutations: Sendable {
  /// Damage to one file; without any the file is gone.
  struct Mutation: Sendable, CustomStringConvertible {
    var file: String
    var damage: Damage?
    /// A line of the report.
    var kind: String

    var description: String { "\(file) \(damage?.description ?? "removed")" }
  }

  private struct Tally: Sendable {
    var tried: [String: Int] = [:]
    var refused = 0
    var unclean = 0
    var findings: [RotFinding] = []
  }

  private let store: RotStore
  private let keys: [CrashKey]
  private let mutations: [Mutation]
  private let seed: UInt64
  /// What stands before the number of a mutation, in the part of the proof that a violation names.
  var prefix = ""
  /// The only one that is tried.
  var only: Int?

  /// - Parameter truncates: Whether each length is tried, for stores where this is a matter of seconds.
  /// - Parameter share: The part of all that is tried.
  init(_ store: RotStore, truncates: Bool, share: Double, seed: UInt64) {
    self.store = store
    self.seed = seed
    keys = store.content.keys.sorted { "\($0)" < "\($1)" }
    var random = SeededGenerator(seed: seed)
    var all = Self.sectors(store, &random) + Self.stale(store)
    if truncates { all += Self.truncations(store) }
    all.shuffle(using: &random)
    mutations = Array(all.prefix(max(1, Int(Double(all.count) * share))))
  }

  var count: Int { mutations.count }

  private static func truncations(_ store: RotStore) -> [Mutation] {
    store.files.flatMap { name, bytes in
      [Mutation(file: name, damage: nil, kind: "removed")]
        + Damage.truncations(of: bytes.count).map { Mutation(file: name, damage: $0, kind: "cut short") }
    }
  }

  private static func sectors(_ store: RotStore, _ random: inout SeededGenerator) -> [Mutation] {
    let names = store.files.keys.sorted().filter { (store.files[$0]?.count ?? 0) > 0 }
    var all: [Mutation] = []
    for name in names {
      let count = store.files[name]?.count ?? 0
      let others = store.files[random.pick(names)] ?? []
      for sector in [512, 4096] {
        for damage in Damage.sectors(of: count, sector: sector, others: others, using: &random) {
          all.append(Mutation(file: name, damage: damage, kind: "sectors of \(sector)"))
        }
      }
      for _ in 0..<(count / 512 + 1) {
        all.append(Mutation(file: name, damage: .random(in: count, using: &random), kind: "anything"))
      }
    }
    return all
  }

  /// Whole files, and sectors, as they were before.
  private static func stale(_ store: RotStore) -> [Mutation] {
    var all: [Mutation] = []
    for files in store.older {
      for (name, bytes) in files where store.files[name] != nil && store.files[name] != bytes {
        all.append(Mutation(file: name, damage: .replacement(bytes), kind: "files of before"))
        for start in stride(from: 0, to: bytes.count - bytes.count % 512, by: 512) {
          let damage = Damage.foreign(Array(bytes[start..<(start + 512)]), at: start)
          all.append(Mutation(file: name, damage: damage, kind: "sectors of before"))
        }
      }
    }
    return all
  }

  func run(_ progress: ProofProgress) async throws -> RotResult {
    let next = Guarded(0)
    let tally = try await withThrowingTaskGroup(of: Tally.self) { group in
      for _ in 0..<RotCampaign.workerCount {
        group.addTask {
          var tally = Tally()
          let note = progress.newNote()
          while let index = next.withLock({ next -> Int? in
            guard next < mutations.count else { return nil }
            next += 1
            return next - 1
          }), tally.findings.count < RotCampaign.violationsMax {
            guard only == nil || only == index else { continue }
            note.begin("\(prefix)|\(index)")
            progress.advance(of: mutations.count, "mutations")
            let mutation = mutations[index]
            do { if try !look(at: mutation, index, &tally) { continue } } catch {
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
        sum.refused += tally.refused
        sum.unclean += tally.unclean
        sum.findings += tally.findings
      }
      return sum
    }
    return result(tally)
  }

  private func result(_ tally: Tally) -> RotResult {
    var result = RotResult(findings: tally.findings)
    result.count = tally.tried.values.reduce(0, +)
    let kinds = tally.tried.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
    result.report = [
      "other damage to a store of \(store.byteCount) bytes: \(kinds.joined(separator: ", "))",
      "  \(tally.refused) did not open, \(tally.unclean) opened and reported errors, "
        + "\(result.count - tally.refused - tally.unclean) were right wherever it was looked",
    ]
    return result
  }

  /// - Returns: Whether it changed anything: a sector may be what it was before.
  private func look(at mutation: Mutation, _ index: Int, _ tally: inout Tally) throws -> Bool {
    let fileSystem: InMemoryFileSystem
    if let damage = mutation.damage, let bytes = store.files[mutation.file] {
      let damaged = damage.applied(to: bytes)
      guard damaged != bytes else { return false }
      fileSystem = try store.fileSystem(replacing: [mutation.file: damaged])
    } else {
      fileSystem = try store.fileSystem()
      try fileSystem.remove(RotStore.path + "/" + mutation.file)
    }
    // Some are opened by who writes: that changes the store.
    let isReadOnly = index % 8 != 0
    let opened: Store
    do {
      opened = try Store(at: RotStore.path, options: RotStore.options(on: fileSystem, isReadOnly: isReadOnly))
    } catch let error as StoreError {
      tally.refused += 1
      guard error.place != nil else { throw Violation("the error names no place: \(error)") }
      return true
    }
    guard opened.snapshot().sequence == store.sequence else {
      throw Violation("it went back to commit \(opened.snapshot().sequence)")
    }
    // Where reading all of it is a long story, most are read in part.
    let isThorough = store.byteCount < 200_000 || index % 16 == 0
    let hasErrors = isThorough ? try readAll(opened) : try readSome(opened, index)
    if hasErrors { tally.unclean += 1 }
    if !isReadOnly, !hasErrors { try goOn(opened, on: fileSystem) }
    return true
  }

  private func readAll(_ opened: Store) throws -> Bool {
    var hasErrors = try RotReading.check(opened, store) { _ in }
    do {
      if try !opened.verify().isClean { hasErrors = true }
    } catch is StoreError {
      hasErrors = true
    }
    return hasErrors
  }

  private func readSome(_ opened: Store, _ index: Int) throws -> Bool {
    var random = SeededGenerator(seed: seed).derived(UInt64(index))
    var hasErrors = false
    let snapshot = opened.snapshot()
    let keyspaces = Dictionary(uniqueKeysWithValues: try opened.keyspaces.map { ($0.name, $0) })
    for key in (0..<32).map({ _ in random.pick(keys) }) {
      guard let keyspace = keyspaces[key.keyspace] else { throw Violation("\(key.keyspace) is not there") }
      do {
        let value = try snapshot.value(of: key.key, in: keyspace)
        guard value == store.content[key] else { throw Violation("\(key) has a wrong value, or none") }
      } catch is StoreError {
        hasErrors = true
      }
    }
    return hasErrors
  }

  /// The store takes a commit, and has all that it had and that one when it is opened again.
  private func goOn(_ opened: Store, on fileSystem: InMemoryFileSystem) throws {
    let rows = try opened.keyspace("rows", .dense)
    let (id, value) = (UInt64(1) << 50, [1, 2, 3] as [UInt8])
    do {
      try opened.write { try $0.put(value, id: id, in: rows) }
      try opened.close()
    } catch is StoreError {
      return
    }
    let again = try Store(at: RotStore.path, options: RotStore.options(on: fileSystem))
    guard try again.snapshot().value(id: id, in: rows) == value else { throw Violation("a commit is gone") }
    for (key, value) in store.content.prefix(16) {
      guard case .id(let id) = key.key, key.keyspace == "rows" else { continue }
      guard try again.snapshot().value(id: id, in: rows) == value else { throw Violation("\(key) is gone") }
    }
  }
}
