import PerdureLog
import PerdureTestSupport

/// Makes histories of random steps. It does not know the results of the steps.
package struct HistoryGenerator {
  /// The random parameters of a history.
  private struct Shape {
    var universe: HistoryUniverse
    var groups: UInt8
    var serials: UInt16
    var lengthMax: Int
    /// One value in this many is long; 0 for no long values.
    var longOneIn: Int
    /// The percentage of steps that write.
    var writes: Int
    var changesMax: Int
    /// One step in this many is a maintenance step.
    var upkeepOneIn: Int
  }

  private var random: SeededGenerator
  private let shape: Shape

  private init(_ random: SeededGenerator) {
    self.random = random
    let ids = self.random.pick([4, 12, 40, 40, 150, 150, 600, 2000])
    let names = self.random.pick([4, 12, 40, 40, 150, 150, 600, 2000])
    shape = Shape(
      universe: HistoryUniverse(
        seed: self.random.next(), ids: ids, names: names, side: self.random.pick([2, 4, 8, 20])),
      groups: self.random.pick([1, 3, 20]), serials: UInt16(min(65_535, ids * 24)),
      lengthMax: self.random.pick([0, 20, 60, 60, 200, 200, 700]),
      longOneIn: self.random.pick([0, 40, 150, 400]),
      writes: self.random.pick([10, 25, 40, 60]), changesMax: self.random.pick([1, 2, 4, 12]),
      upkeepOneIn: self.random.pick([30, 100, 300]))
  }

  /// Makes a history. The same seed and number of steps make the same history.
  package static func history(seed: UInt64, steps: Int) -> History {
    var generator = HistoryGenerator(SeededGenerator(seed: seed))
    let options = HistoryOptions.random(&generator.random)
    return History(
      universe: generator.shape.universe, options: options, steps: (0..<steps).map { _ in generator.step() })
  }

  /// Makes a history with the same reads and commits, but with other options and other maintenance
  /// steps.
  package static func variant(of history: History, seed: UInt64) -> History {
    var generator = HistoryGenerator(SeededGenerator(seed: seed))
    var steps: [HistoryStep] = []
    for step in history.steps {
      if step.isUpkeep && generator.random.chance(50) { continue }
      steps.append(step)
      if generator.random.pick(0..<100) == 0 { steps.append(generator.upkeep()) }
    }
    let options = HistoryOptions.random(&generator.random)
    return History(universe: history.universe, options: options, steps: steps)
  }

  // MARK: - Steps

  private mutating func step() -> HistoryStep {
    if random.pick(0..<shape.upkeepOneIn) == 0 { return upkeep() }
    if random.chance(shape.writes) {
      return random.chance(15) ? .transaction(transaction()) : .commit(commit())
    }
    switch random.pick(0..<100) {
    case 0...2: return .hold(random.pick(0..<HistoryView.slots))
    case 3: return .letGo(random.pick(0..<HistoryView.slots))
    case 4 where random.chance(25): return .follow
    case 5 where random.chance(5): return .unfollow
    default: return .read(view(), read())
    }
  }

  private mutating func upkeep() -> HistoryStep {
    switch random.pick(0..<20) {
    case 0...5: .compact
    case 6...8: .checkpoint
    case 9: .train(random.pick(HistorySpace.allCases))
    case 10: .sync
    case 11...12: .verify
    case 13...14: .lookAround
    default: .reopen(HistoryOptions.random(&random), closes: random.chance(60))
    }
  }

  private mutating func view() -> HistoryView {
    switch random.pick(0..<10) {
    case 0...2: .held(random.pick(0..<HistoryView.slots))
    case 3: .reader
    default: .newest
    }
  }

  private mutating func read() -> HistoryRead {
    let space = space()
    switch random.pick(0..<100) {
    case 0..<40: return .get(place(in: space))
    case 40..<48: return .contains(place(in: space))
    case 48..<58:
      return .getMany(space, (0..<random.pick([1, 3, 9, 70])).map { _ in place(in: space).position })
    case 58..<63:
      return .part(place(in: space), of: random.pick(0...256), count: random.pick([0, 1, 100, 70_000]))
    case 63..<74: return .scan(space, range(space), walk())
    case 74..<79: return .keys(space, range(space), walk())
    case 79..<82: return .prefix(place(in: .names).position, length: random.pick(0...11), walk())
    case 82..<89: return .count(space, range(space))
    case 89..<91: return .countAll(space)
    case 91..<97:
      let index = random.pick(HistoryIndex.allCases)
      return .index(index, range(of: index), walk())
    default:
      let index = random.pick(HistoryIndex.allCases)
      return .indexCount(index, range(of: index))
    }
  }

  private mutating func commit() -> HistoryCommit {
    let count = random.chance(2) ? shape.changesMax * 10 : random.pick(0...shape.changesMax)
    var commit = HistoryCommit((0..<count).map { _ in change() })
    if random.chance(25) { commit.conditions = (0..<random.pick(1...3)).map { _ in condition() } }
    if random.chance(30) { commit.durability = random.pick(Durability.allCases) }
    commit.isGivenUp = random.chance(2)
    return commit
  }

  private mutating func condition() -> HistoryCondition {
    let space = space()
    switch random.pick(0..<10) {
    case 0...3: return .unchanged(place(in: space), since: view())
    case 4...5: return .exists(place(in: space))
    case 6...8: return .range(space, range(space), since: view())
    default:
      let index = random.pick(HistoryIndex.allCases)
      return .index(index, range(of: index), since: view())
    }
  }

  private mutating func transaction() -> HistoryTransaction {
    var transaction = HistoryTransaction((0..<random.pick(1...6)).map { _ in move() })
    if random.chance(50) { transaction.between = (0..<random.pick(1...3)).map { _ in change() } }
    if random.chance(30) { transaction.attemptsMax = 2 }
    return transaction
  }

  private mutating func move() -> HistoryMove {
    let space = space()
    switch random.pick(0..<12) {
    case 0...2: return .read(.get(place(in: space)))
    case 3: return .read(.contains(place(in: space)))
    case 4...5: return .read(.scan(space, range(space), walk()))
    case 6: return .read(.count(space, range(space)))
    case 7:
      let index = random.pick(HistoryIndex.allCases)
      return .read(.index(index, range(of: index), walk()))
    default: return .write(change())
    }
  }

  // MARK: - Parts

  private mutating func space() -> HistorySpace {
    switch random.pick(0..<10) {
    case 0...4: .rows
    case 5...8: .names
    default: .links
    }
  }

  private mutating func place(in space: HistorySpace) -> HistoryPlace {
    HistoryPlace(space, random.pick(0..<shape.universe.count(space)))
  }

  private mutating func change() -> HistoryChange {
    let space = space()
    let place = place(in: space)
    if random.chance(30) { return HistoryChange(place, nil) }
    return HistoryChange(place, value(), pieces: random.pick(0..<150) == 0 ? random.pick(1...4) : 0)
  }

  private mutating func value() -> HistoryValue {
    HistoryValue(
      length: length(), group: random.pick(0..<shape.groups), serial: random.pick(0...shape.serials),
      style: random.pick(HistoryValue.Style.allCases), seed: UInt32(random.pick(0..<10_000)))
  }

  private mutating func length() -> Int {
    if shape.longOneIn > 0, random.pick(0..<shape.longOneIn) == 0 {
      return random.pick([1_000, 1_025, 2_049, 4_097, 9_000, 20_000, 70_000])
    }
    if random.chance(15) { return random.pick(0...16) }
    return HistoryValue.headLength + random.pick(0...shape.lengthMax)
  }

  private mutating func walk() -> HistoryWalk {
    HistoryWalk(limit: random.pick([1, 2, 10, 10, 50, .max]), isDescending: random.chance(50))
  }

  /// A range. Most ranges are small. Some contain all keys, some are empty, and some are inverted.
  private mutating func range(upTo limit: Int) -> HistoryRange {
    let isBetween = random.chance(30)
    switch random.pick(0..<20) {
    case 0: return HistoryRange(0, limit, isBetween: isBetween)
    case 1: return HistoryRange(random.pick(0...limit), random.pick(0...limit), isBetween: isBetween)
    default:
      let lower = random.pick(0...limit)
      let upper = random.pick(lower...min(limit, lower + max(4, limit / 8)))
      return HistoryRange(lower, upper, isBetween: isBetween)
    }
  }

  private mutating func range(_ space: HistorySpace) -> HistoryRange {
    range(upTo: shape.universe.count(space))
  }

  private mutating func range(of index: HistoryIndex) -> HistoryRange {
    switch index {
    case .groups: range(upTo: random.chance(10) ? 256 : Int(shape.groups))
    case .serials: range(upTo: random.chance(10) ? 65_536 : Int(shape.serials))
    case .counts, .backlinks: range(upTo: index.limit(shape.universe))
    }
  }
}
