/// The result of a workload: the number of its objects, and a sum over the values read. The sum
/// does not depend on their order. It must be equal for all engines.
struct Answer: Equatable {
  private(set) var count = 0
  private(set) var digest: UInt64 = 0

  /// Adds a worker. Reads every attribute; the cost is equal for all engines.
  mutating func add(_ worker: WorkerValues) {
    count += 1
    var sum = UInt64(bitPattern: worker.salary) &+ worker.rating.bitPattern &+ worker.hired.bitPattern
    sum &+= UInt64(worker.firstName.utf8.count) &+ 3 &* UInt64(worker.lastName.utf8.count)
    sum &+= 5 &* UInt64(worker.email.utf8.count) &+ (worker.isActive ? 7 : 0)
    digest &+= GraphData.mixed(sum)
  }

  /// Adds a worker together with related objects.
  mutating func add(
    _ worker: WorkerValues, company: String?, manager: String?, projects: some Sequence<String>
  ) {
    var whole = Answer()
    whole.add(worker)
    // Absent and empty values must differ.
    for text in [company, manager] { whole.add(text.map { "=" + $0 } ?? "none") }
    var titles = Answer()
    for title in projects { titles.add(title) }
    count += 1
    digest &+= GraphData.mixed(whole.digest ^ GraphData.mixed(titles.digest &+ UInt64(titles.count)))
  }

  /// Adds a single text, for workloads that only read this text.
  mutating func add(_ text: String) {
    count += 1
    digest &+= GraphData.mixed(text.utf8.reduce(0) { $0 &* 31 &+ UInt64($1) })
  }

  /// The result of a workload that is one operation.
  static var ofOneChange: Answer {
    var answer = Answer()
    answer.addChanges(1)
    return answer
  }

  /// Adds changed objects without reading their values.
  mutating func addChanges(_ number: Int) { count += number }

  /// Adds a number that the engine counted.
  mutating func add(counted number: Int, among objects: Int) {
    count += objects
    digest &+= GraphData.mixed(UInt64(number))
  }

  /// Adds a number and a sum that the engine computed.
  mutating func add(count number: Int, sum: Double, among objects: Int) {
    count += objects
    digest &+= GraphData.mixed(GraphData.mixed(UInt64(number)) ^ sum.bitPattern)
  }
}
