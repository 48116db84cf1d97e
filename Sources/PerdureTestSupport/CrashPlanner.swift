// Which losses of power to try when several changes are pending. Values in, values out.
//
// If there are few ways to lose the changes, all of them. If not, the telling ones first: everything kept,
// everything lost, only the last one lost or kept, each prefix, each single loss, the last one torn in
// each way; then random mixtures until the limit is reached.

/// How a `CrashExplorer` makes disks out of pending changes.
struct CrashPlanner: Sendable {
  var imagesMax: Int
  var sectorLength: Int
  var makesGarbage: Bool

  /// Fates for all of `pending`, a different list for each crash, and whether these are all there are.
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

  /// The ways to lose one change: kept first, lost second, then the others.
  func options(for change: PendingChange) -> [Fate] {
    guard case .write(let write) = change.body else { return [.kept, .lost] }
    let count = write.sectorCount(sectorLength)
    let none = [Bool](repeating: false, count: count)
    var fates: [Fate] = [.kept, .lost, .torn(sectors: none, rest: .zeros)]
    if makesGarbage { fates.append(.torn(sectors: none, rest: .garbage)) }
    for sectors in tornSectors(count) {
      fates.append(.torn(sectors: sectors, rest: .old))
      fates.append(.torn(sectors: sectors, rest: .zeros))
      if makesGarbage { fates.append(.torn(sectors: sectors, rest: .garbage)) }
    }
    return fates
  }

  /// Ways to tear a write: all of them if it has few sectors, or else prefixes, suffixes and single holes.
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

  /// Every combination, or nil if there are more than `imagesMax`.
  private func cartesianProduct(_ options: [[Fate]]) -> [[Fate]]? {
    var crashes: [[Fate]] = [[]]
    for fates in options {
      guard crashes.count * fates.count <= imagesMax else { return nil }
      crashes = fates.flatMap { fate in crashes.map { $0 + [fate] } }
    }
    return crashes
  }

  private func sample(_ options: [[Fate]], random: inout SeededGenerator) -> [[Fate]] {
    var crashes = extremes(options)
    if crashes.count > imagesMax {
      // The first six always; of the rest, which ones is left to chance.
      crashes = Array(crashes.prefix(6)) + crashes.dropFirst(6).shuffled(using: &random)
      crashes = Array(crashes.prefix(imagesMax * 3 / 4))
    }
    while crashes.count < imagesMax {
      crashes.append(mixture(options, random: &random))
    }
    return crashes
  }

  /// The telling ones. `options` has at least one change.
  private func extremes(_ options: [[Fate]]) -> [[Fate]] {
    let count = options.count
    func fates(_ isKept: (Int) -> Bool) -> [Fate] { (0..<count).map { isKept($0) ? .kept : .lost } }
    var crashes = [
      fates { _ in true }, fates { _ in false },
      fates { $0 < count - 1 }, fates { $0 == count - 1 },
      fates { $0 == 0 }, fates { $0 > 0 },
    ]
    let kept = fates { _ in true }
    for fate in options[count - 1].dropFirst(2) { crashes.append(kept.dropLast() + [fate]) }
    for cut in 0..<count { crashes.append(fates { $0 < cut }) }
    for hole in 0..<count { crashes.append(fates { $0 != hole }) }
    for only in 0..<count { crashes.append(fates { $0 == only }) }
    return crashes
  }

  /// Mostly kept, mostly lost or half of each, and some torn.
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
