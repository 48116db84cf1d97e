/// The content that every engine stores: companies with a thousand workers and a hundred projects
/// each.
///
/// Worker number `i` belongs to company `i / 1000`. The workers of a company form a heap with eight
/// children per node. The parent of a worker in this heap is the worker's manager. A worker works
/// on three projects of its company. Every value follows from the number, without random choices.
struct GraphData {
  static let companySize = 1_000
  static let projectsPerCompany = 100
  static let projectsPerWorker = 3
  static let reportsPerManager = 8
  /// The approximate number of workers with the same last name.
  static let namesakes = 20

  let workerCount: Int
  /// The workers by number. They are made once, so no engine's time includes making them.
  let workers: [WorkerValues]

  init(workerCount: Int) {
    self.workerCount = workerCount
    workers = (0..<workerCount).map { Self.worker($0, of: workerCount) }
  }

  var companyCount: Int { workerCount / Self.companySize }

  /// The companies in batches of ten. One save inserts the ten thousand workers of a batch.
  var companyBatches: [Range<Int>] {
    stride(from: 0, to: companyCount, by: 10).map { $0..<min($0 + 10, companyCount) }
  }

  func companyName(_ company: Int) -> String { "Company \(company)" }
  func projectTitle(_ project: Int) -> String { "Project \(project)" }

  private static func worker(_ number: Int, of workerCount: Int) -> WorkerValues {
    let noise = mixed(UInt64(number))
    let last = lastName(Int(noise % UInt64(max(1, workerCount / namesakes))))
    let first = firstNames[Int(noise >> 32) % firstNames.count]
    let salary = 1_000 + Int64(mixed(UInt64(number) ^ 0xABCD) % 9_000)
    return WorkerValues(
      firstName: first, lastName: last, email: "worker.\(number)@example.org", salary: salary,
      // A permutation, so all values are different and the order is unique.
      rating: Double(number * 7_919 % workerCount) + 0.5,
      hired: Double(noise >> 40), isActive: noise % 5 != 0)
  }

  private static func lastName(_ name: Int) -> String {
    syllables[name % 60] + syllables[name / 60 % 60] + syllables[name / 3_600 % 60]
  }

  /// The number of the worker's manager; nil for the head of a company.
  func manager(_ number: Int) -> Int? {
    let place = number % Self.companySize
    return place == 0 ? nil : number - place + (place - 1) / Self.reportsPerManager
  }

  /// Whether a worker has no reports, which is true for seven eighths of all workers.
  static func isWithoutReports(_ number: Int) -> Bool {
    number % companySize * reportsPerManager + 1 >= companySize
  }

  /// The numbers of the worker's projects, each once.
  func projects(_ number: Int) -> [Int] {
    let first = number / Self.companySize * Self.projectsPerCompany
    return (0..<Self.projectsPerWorker).map { first + (number + $0 * 31) % Self.projectsPerCompany }
  }

  /// The output of SplitMix64 for one input (Steele, Lea and Flood, 2014).
  static func mixed(_ number: UInt64) -> UInt64 {
    var word = number &+ 0x9E37_79B9_7F4A_7C15
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }

  private static let firstNames = [
    "Ada", "Alan", "Barbara", "Claude", "Donald", "Edsger", "Emmy", "Frances", "Grace", "Hedy", "Ida", "John",
    "Katherine", "Leslie", "Margaret", "Niklaus", "Radia", "Robin", "Sofia", "Tony",
  ]
  private static let syllables: [String] = {
    let (starts, ends) = (
      ["B", "D", "F", "G", "K", "L", "M", "N", "P", "R", "S", "T"], ["a", "e", "i", "o", "u"]
    )
    return starts.flatMap { start in ends.map { start + $0 } }
  }()
}

/// The attributes of a worker.
struct WorkerValues {
  var firstName: String
  var lastName: String
  var email: String
  var salary: Int64
  var rating: Double
  /// Seconds since the reference date.
  var hired: Double
  var isActive: Bool
}
