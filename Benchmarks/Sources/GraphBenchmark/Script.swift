/// The objects that each workload uses. They are the same for every engine, because a hash of
/// successive numbers chooses them.
struct Script {
  let data: GraphData
  /// The numbers of random workers.
  let gets: [Int]
  /// The emails of random workers.
  let emails: [String]
  /// The emails of random workers, each for a unit of work.
  let units: [String]
  let chains: [Int]
  /// Last names that workers have.
  let names: [String]
  /// Prefixes of last names, with two syllables.
  let prefixes: [String]
  /// The lower bounds of ranges of salaries. Each range has ten salaries.
  let salaries: [Int64]
  /// The companies to traverse.
  let companies: [Int]
  /// The rows of an import. Half of the rows have workers that exist. The other half has new
  /// workers, each in two rows.
  let imports: [WorkerValues]
  let updates: [Int]
  let durableUpdates: [Int]
  /// Workers and their new companies. No worker occurs twice, and no worker has reports.
  let moves: [(worker: Int, company: Int)]
  /// The workers to delete. None of them has moved, and none has reports.
  let dismissals: [Int]
  /// The companies to delete: one in twenty, at least one, and never the first.
  let closures: [Int]

  /// - Parameter scale: The factor for the number of objects of each workload except `closures`;
  ///   1 in a full run.
  init(data: GraphData, scale: Double) {
    self.data = data
    func numbers(_ count: Int, _ salt: UInt64) -> [Int] {
      (0..<max(1, Int(Double(count) * scale))).map {
        Int(GraphData.mixed(UInt64($0) &+ salt << 32) % UInt64(data.workerCount))
      }
    }
    gets = numbers(20_000, 1)
    emails = numbers(20_000, 2).map { data.workers[$0].email }
    units = numbers(10_000, 12).map { data.workers[$0].email }
    imports = numbers(5_000, 13).enumerated().flatMap { place, number in
      var new = data.workers[number]
      new.email = "new.\(place / 2)@example.org"
      return [data.workers[number], new]
    }
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

  /// Last names, and the lower bounds of ranges of salaries.
  var pairs: [(name: String, salary: Int64)] {
    zip(names, salaries).prefix(20).map { (name: $0, salary: $1) }
  }
}
