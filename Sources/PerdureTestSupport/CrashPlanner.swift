// Chooses the losses to try when several changes are pending. The result depends only on the
// arguments.
//
// If few combinations exist, all of them are tried. Otherwise the most informative combinations
// come first. First, all changes are kept, or all are lost. Next, the last change is torn, is lost,
// or is the only one kept. Next, the first change is lost, or is the only one kept. Then follow
// each way to tear the last change, each prefix, each single loss, and each change as the only one
// kept. If these are too many, some of them are chosen at random. Random mixtures follow, up to the
// limit. No combination occurs twice.

/// Chooses how a `CrashExplorer` makes disks from pending changes.
struct CrashPlanner: Sendable {
  var imagesMax: Int
  var sectorLength: Int
  var makesGarbage: Bool
  var makesStaleBytes = false

  /// Returns a list of fates of the `pending` changes for each crash; all lists differ. Also
  /// returns whether these are all possible lists.
  func crashes(
    _ pending: [PendingChange], random: inout SeededGenerator
  ) -> (fates: [[Fate]], isExhaustive: Bool) {
    let options = pending.map(options(for:))
    guard let all = cartesianProduct(options) else { return (sample(options, random: &random), false) }
    return (all, pending.allSatisfy(isTornInEveryWay))
  }

  private func isTornInEveryWay(_ change: PendingChange) -> Bool {
    guard case .write(let write) = change.body else { return true }
    return write.sectorCount(sectorLength) <= Self.sectorsTornInEveryWayMax
  }

  private static let sectorsTornInEveryWayMax = 4

  /// The possible fates of one change: first kept, then lost, then the others.
  func options(for change: PendingChange) -> [Fate] {
    guard case .write(let write) = change.body else { return [.kept, .lost] }
    let count = write.sectorCount(sectorLength)
    let none = [Bool](repeating: false, count: count)
    var fates: [Fate] = [.kept, .lost, .torn(sectors: none, rest: .zeros)]
    if makesGarbage { fates.append(.torn(sectors: none, rest: .garbage)) }
    if makesStaleBytes { fates.append(.torn(sectors: none, rest: .stale)) }
    for sectors in tornSectors(count) {
      fates.append(.torn(sectors: sectors, rest: .old))
      fates.append(.torn(sectors: sectors, rest: .zeros))
      if makesGarbage { fates.append(.torn(sectors: sectors, rest: .garbage)) }
      if makesStaleBytes { fates.append(.torn(sectors: sectors, rest: .stale)) }
    }
    return fates
  }

  /// The ways to tear a write. If it has few sectors, these are all ways. Otherwise they are
  /// prefixes, suffixes and single holes.
  private func tornSectors(_ count: Int) -> [[Bool]] {
    if count <= Self.sectorsTornInEveryWayMax {
      return (0..<1 << count).dropFirst().dropLast().map { mask in
        (0..<count).map { mask & 1 << $0 != 0 }
      }
    }
    let cuts = [1, 2, count / 2, count - 2, count - 1]
    let prefixes = cuts.map { cut in (0..<count).map { $0 < cut } }
    let suffixes = cuts.map { cut in (0..<count).map { $0 >= cut } }
    let holes = cuts.dropLast().map { hole in (0..<count).map { $0 != hole } }
    return prefixes + suffixes + holes
  }

  /// All combinations; nil if there are more than `imagesMax`.
  private func cartesianProduct(_ options: [[Fate]]) -> [[Fate]]? {
    var crashes: [[Fate]] = [[]]
    for fates in options {
      guard crashes.count * fates.count <= imagesMax else { return nil }
      crashes = fates.flatMap { fate in crashes.map { $0 + [fate] } }
    }
    return crashes
  }

  private func sample(_ options: [[Fate]], random: inout SeededGenerator) -> [[Fate]] {
    var (crashes, others) = extremes(options, random: &random)
    var seen: Set<[Fate]> = []
    crashes = crashes.filter { seen.insert($0).inserted }
    others = others.filter { seen.insert($0).inserted }
    if crashes.count + others.count > imagesMax {
      // The first lists are always tried, and at least one mixture. The others are chosen at
      // random.
      crashes += others.shuffled(using: &random)
      crashes = Array(crashes.prefix(max(min(Self.firstMax, imagesMax - 1), imagesMax * 3 / 4, 1)))
      seen = Set(crashes)
    } else {
      crashes += others
    }
    // If there are few changes, no further mixture may exist.
    for _ in 0..<(4 * imagesMax) where crashes.count < imagesMax {
      let mixture = mixture(options, random: &random)
      if seen.insert(mixture).inserted { crashes.append(mixture) }
    }
    return crashes
  }

  private static let firstMax = 7

  /// The most informative lists, in order. `options` has at least one change.
  private func extremes(
    _ options: [[Fate]], random: inout SeededGenerator
  ) -> (first: [[Fate]], others: [[Fate]]) {
    let count = options.count
    func fates(_ isKept: (Int) -> Bool) -> [Fate] { (0..<count).map { isKept($0) ? .kept : .lost } }
    let kept = fates { _ in true }
    let torn = options[count - 1].dropFirst(2).map { Array(kept.dropLast()) + [$0] }
    var first = [kept, fates { _ in false }]
    if let torn = torn.randomElement(using: &random) { first.append(torn) }
    first += [
      fates { $0 < count - 1 }, fates { $0 == count - 1 },
      fates { $0 == 0 }, fates { $0 > 0 },
    ]
    var crashes = torn
    for cut in 0..<count { crashes.append(fates { $0 < cut }) }
    for hole in 0..<count { crashes.append(fates { $0 != hole }) }
    for only in 0..<count { crashes.append(fates { $0 == only }) }
    return (first, crashes)
  }

  /// A random list. Most changes, half of them or a few changes are kept. Some changes are torn.
  private func mixture(_ options: [[Fate]], random: inout SeededGenerator) -> [Fate] {
    let keptOf8 = [1, 4, 7].randomElement(using: &random) ?? 4
    return options.map { fates in
      if fates.count > 2 && Int.random(in: 0..<8, using: &random) == 0 {
        return fates[Int.random(in: 2..<fates.count, using: &random)]
      }
      return Int.random(in: 0..<8, using: &random) < keptOf8 ? .kept : .lost
    }
  }
}
