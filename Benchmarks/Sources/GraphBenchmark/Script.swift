/// The objects of each workload: the same for every engine, computed from their numbers.
struct Script {
  let data: GraphData
  /// Workers, as they come.
  let gets: [Int]
  let emails: [String]
  let chains: [Int]
  /// Last names in use.
  let names: [String]
  /// Two syllables of them.
  let prefixes: [String]
  /// Salaries from each of these on, and up to nine more.
  let salaries: [Int64]
  /// Companies that are walked through.
  let companies: [Int]
  let updates: [Int]
  let durableUpdates: [Int]
  /// Workers and their new companies; no worker occurs twice, and none has reports.
  let moves: [(worker: Int, company: Int)]
  /// Workers that go: none that moved, none with reports.
  let dismissals: [Int]
  /// One in twenty companies, at least one: never the first.
  let closures: [Int]

  /// - Parameter scale: The size of everything, as a part of a full run.
  init(data: GraphData, scale: Double) {
    self.data = data
    func numbers(_ count: Int, _ salt: UInt64) -> [Int] {
      (0..<max(1, Int(Double(count) * scale))).map {
        Int(GraphData.mixed(UInt64($0) &+ salt << 32) % UInt64(data.workerCount))
      }
    }
    gets = numbers(20_000, 1)
    emails = numbers(20_000, 2).map { data.workers[$0].email }
    chains = numbers(5_000, 3)
    names = numbers(500, 4).map { data.workers[$0].lastName }
    prefixes = numbers(100, 5).map { String(data.workers[$0].lastName.prefix(4)) }
    salaries = numbers(100, 6).map { data.workers[$0].salary }
    companies = Set(numbers(40, 7).map { $0 / GraphData.companySize }).sorted()
    updates = numbers(2_000, 8)
    durableUpdates = numbers(300, 9)
    let moved = Set(numbers(1_000, 10).filter(GraphData.isWithoutReports))
    moves = moved.sorted().map { ($0, ($0 / GraphData.companySize + 1) % data.companyCount) }
    dismissals = Set(numbers(1_000, 11).filter(GraphData.isWithoutReports)).subtracting(moved).sorted()
    closures = Array(stride(from: 1, to: data.companyCount, by: 20))
  }
}
