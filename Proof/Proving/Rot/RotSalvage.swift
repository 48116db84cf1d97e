import PerdureFileIO
import PerdureFormat
import PerdureLog
import PerdureTestSupport

/// Damages a store, salvages it, and holds what comes back against what the damage has left.
struct RotSalvage: Sendable {
  private static let target = "/salvaged"

  private let store: RotStore
  private let layout: RotLayout
  private let seed: UInt64
  /// What stands before the number of a salvage, in the part of the proof that a violation names.
  var prefix = ""
  /// The only one that is tried.
  var only: Int?

  init(_ store: RotStore, seed: UInt64) throws {
    self.store = store
    self.seed = seed
    let opened = try Store(at: RotStore.path, options: RotStore.options(on: store.fileSystem()))
    layout = try RotLayout(store.files, opened: opened)
  }

  func run(_ count: Int, _ progress: ProofProgress) async throws -> RotResult {
    let harvests = try await withThrowingTaskGroup(
      of: (count: Int, keys: Int, lost: Int, finding: RotFinding?).self
    ) {
      group in
      let next = Guarded(0)
      for _ in 0..<RotCampaign.workerCount {
        group.addTask {
          var sum = (count: 0, keys: 0, lost: 0, finding: nil as RotFinding?)
          let note = progress.newNote()
          while let index = next.withLock({ next -> Int? in
            guard next < count else { return nil }
            next += 1
            return next - 1
          }), sum.finding == nil {
            guard only == nil || only == index else { continue }
            note.begin("\(prefix)|\(index)")
            progress.advance(of: count, "salvages")
            var random = SeededGenerator(seed: seed).derived(UInt64(index))
            let damages = damages(&random)
            do {
              sum.count += 1
              let (keys, lost) = try salvage(damages)
              sum.keys += keys
              sum.lost += lost
            } catch {
              sum.finding = RotFinding(
                what: "salvage of \(damages.map { "\($0.file) \($0.damage)" }): \(error)",
                part: "\(prefix)|\(index)")
            }
          }
          return sum
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    var result = RotResult(
      count: harvests.reduce(0) { $0 + $1.count }, findings: harvests.compactMap(\.finding))
    let (keys, lost) = harvests.reduce((0, 0)) { ($0.0 + $1.keys, $0.1 + $1.lost) }
    result.report = [
      "\(result.count) salvages gave \(keys) keys back, all but \(lost) that the damage was on"
    ]
    return result
  }

  /// One to three; none that moves bytes, which could bring a record of before.
  private func damages(_ random: inout SeededGenerator) -> [(file: String, damage: Damage)] {
    let names = store.files.keys.sorted().filter { (store.files[$0]?.count ?? 0) > 0 }
    var damages: [(file: String, damage: Damage)] = []
    let count = random.pick(1...3)
    while damages.count < count {
      let file = random.pick(names)
      // Of the superblock alone: it says with other damage what was finished.
      if file == "SUPERBLOCK" && count > 1 { continue }
      let damage = Damage.random(in: store.files[file]?.count ?? 1, using: &random)
      switch damage {
      case .bit, .zeros, .noise, .truncation: damages.append((file, damage))
      default: continue
      }
    }
    return damages
  }

  private func salvage(_ damages: [(file: String, damage: Damage)]) throws -> (keys: Int, lost: Int) {
    var files = store.files
    for (file, damage) in damages { files[file].map { files[file] = damage.applied(to: $0) } }
    let fileSystem = try store.fileSystem(replacing: files)
    var options = RotStore.options(on: fileSystem)
    options.segmentCapacityBytes = 64 << 10
    options.isReadOnly = false
    _ = try Store.salvage(from: RotStore.path, to: Self.target, options: options)
    let found = try CrashOracle.content(of: try Store(at: Self.target, options: options))
    var lost = 0
    for (key, value) in store.content where found[key] != value {
      lost += 1
      guard try !isIntact(key, files) else { throw Violation("\(key) did not come back as it was") }
    }
    for (key, value) in found where store.content[key] != value && !key.keyspace.hasPrefix("lost-") {
      guard store.history[key]?.contains(value) == true else {
        throw Violation("\(key) has a value that it never had")
      }
    }
    return (found.count, lost)
  }

  /// Whether all bytes are as they were that the newest record of a key needs.
  private func isIntact(_ key: CrashKey, _ files: [String: [UInt8]]) throws -> Bool {
    guard let index = layout.newest[key] else { throw Violation("\(key) has no record") }
    let needed = [index] + (layout.definitions[key.keyspace] ?? [])
    for part in needed.map({ layout.parts[$0] }) {
      guard isIntact(part.file, part.range, files) else { return false }
      // Where the group begins in what the groups unpack to.
      let tables = layout.parts.filter { $0.file == part.file && $0.kind == .groupTable }
      if part.kind == .groups, !tables.allSatisfy({ isIntact($0.file, $0.range, files) }) { return false }
    }
    return layout.blobs.allSatisfy { number, owner in
      let file = StoreFileName.blob(number).string
      return owner != key || isIntact(file, 0..<(store.files[file]?.count ?? 0), files)
    }
  }

  private func isIntact(_ file: String, _ range: Range<Int>, _ files: [String: [UInt8]]) -> Bool {
    guard let now = files[file], let before = store.files[file], now.count >= range.upperBound else {
      return false
    }
    return now[range] == before[range]
  }
}
