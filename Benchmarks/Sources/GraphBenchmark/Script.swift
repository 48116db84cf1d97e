/// Which objects each workload is about: the same for every engine, from the numbers alone.
struct Script {
  let data: GraphData
  /// How much of everything, as a part of what a full run asks.
  let scale: Double

  private func numbers(_ count: Int, _ salt: UInt64) -> [Int] {
    (0..<max(1, Int(Double(count) * scale))).map {
      Int(GraphData.mixed(UInt64($0) &+ salt << 32) % UInt64(data.workerCount))
    }
  }

  /// Workers, as they come.
  var gets: [Int] { numbers(20_000, 1) }
  var emails: [Int] { numbers(20_000, 2) }
  var chains: [Int] { numbers(5_000, 3) }
  /// Last names that somebody has.
  var names: [String] { numbers(500, 4).map { data.worker($0).lastName } }
  /// Two syllables of them.
  var prefixes: [String] { numbers(100, 5).map { String(data.worker($0).lastName.prefix(4)) } }
  /// Salaries from each of these on, and up to nine more.
  var salaries: [Int64] { numbers(100, 6).map { data.salary($0) } }
  /// Companies that are walked through.
  var companies: [Int] {
    Array(Set(numbers(40, 7).map { $0 / GraphData.companySize })).sorted().filter { $0 < data.companyCount }
  }
  var updates: [Int] { numbers(2_000, 8) }
  var durableUpdates: [Int] { numbers(300, 9) }
  /// Workers and the companies that they go to; none of them twice, none with reports.
  var moves: [(worker: Int, company: Int)] {
    Array(Set(numbers(1_000, 10).filter(isLeaf))).sorted().map { ($0, ($0 / GraphData.companySize + 1) % data.companyCount) }
  }
  /// Workers that go: none that moved.
  var dismissals: [Int] {
    let moved = Set(moves.map(\.worker))
    return Array(Set(numbers(1_000, 11).filter { isLeaf($0) && !moved.contains($0) })).sorted()
  }
  /// One in a hundred companies, at least one: none of them the first.
  var closures: [Int] { stride(from: 1, to: data.companyCount, by: 100).map { $0 } }

  /// More than seven eighths of all are.
  private func isLeaf(_ worker: Int) -> Bool {
    worker % GraphData.companySize * GraphData.reportsPerManager + 1 >= GraphData.companySize
  }
}
