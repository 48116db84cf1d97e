import PerdureFileIO
import PerdureLog
import PerdureTestSupport

/// A history of one store: two threads write to it while children are forked.
struct ForkHistory {
  private let path: String
  private let campaign: ForkCampaign
  private let children: Int
  private var random: SeededGenerator
  private var tally = ForkTally()
  /// The expected rows, after all acknowledged commits.
  private var rows: [UInt64: [UInt8]] = [:]
  private var forked: [ForkedChild] = []

  init(_ path: String, seed: UInt64, children: Int, _ campaign: ForkCampaign) {
    self.path = path
    self.campaign = campaign
    self.children = children
    random = SeededGenerator(seed: seed)
  }

  private var options: StoreOptions {
    var options = KillChild.options(readOnly: false)
    options.ignoresForks = campaign.ignoresForks
    return options
  }

  mutating func run(onChild: () -> Void) throws -> ForkTally {
    let store = try Store(at: path, options: options)
    let keyspace = try store.keyspace("rows", .dense)
    let names = try store.keyspace("names", .bytes)
    let index = try store.defineIndex(.slices("first bytes", keyspace, .value(offset: 0, length: 8)))
    let sums = try store.defineIndex(.sums("sums", keyspace))
    let busy = BusyThread(store, names)
    // The Swift runtime takes locks when a thread first uses a type. A child that inherits such a
    // lock in the locked state waits forever. That is independent of the store. So the first fork
    // waits until the thread has used its types.
    try busy.wait(until: 64)
    var snapshot = store.snapshot()
    while tally.children < children {
      switch Int.random(in: 0..<20, using: &random) {
      case 0: try store.checkpoint()
      case 1: try store.compact()
      case 2: snapshot = store.snapshot()
      case 3...6:
        let handles = ForkedCalls.Handles(
          store, rows: keyspace, names: names, index: index, sums: sums, snapshot)
        try fork(handles)
        onChild()
      case 7: try waitForSome()
      default: try commit(store, keyspace)
      }
    }
    while !forked.isEmpty { try waitForSome() }
    let named = try busy.stop()
    tally.commits += Int(named)
    try checkIsLocked()
    try check(store, keyspace, names, named, "before it is closed")
    try store.close()
    let again = try Store(at: path, options: options)
    try check(again, keyspace, names, named, "when it is opened again")
    try again.close()
    return tally
  }

  private mutating func commit(_ store: Store, _ keyspace: Keyspace) throws {
    var changes: [(UInt64, [UInt8]?)] = []
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      let id = UInt64.random(in: 1...200, using: &random)
      let length = random.chance(3) ? 2000 : Int.random(in: 8...300, using: &random)
      let byte = UInt8.random(in: 0...255, using: &random)
      changes.append((id, random.chance(15) ? nil : [UInt8](repeating: byte, count: length)))
    }
    let durability = Durability.allCases.randomElement(using: &random) ?? .powerLoss
    try store.write(durability: durability) { transaction in
      for (id, value) in changes {
        if let value {
          try transaction.put(value, id: id, in: keyspace)
        } else {
          try transaction.remove(id: id, in: keyspace)
        }
      }
    }
    for (id, value) in changes { rows[id] = value }
    tally.commits += 1
  }

  private mutating func fork(_ handles: ForkedCalls.Handles) throws {
    let calls = (0..<Int.random(in: 1...12, using: &random)).compactMap { _ in
      ForkedCalls.all.randomElement(using: &random)
    }
    let (closes, isKilled) = (random.chance(30), random.chance(20))
    forked.append(
      try ForkedChild(seconds: campaign.secondsMax) { [campaign] in
        var complaints = calls.compactMap { ForkedCalls.complaint($0, handles) }
        if closes {
          do { try handles.store.close() } catch { complaints.append("closing: \(error)") }
        }
        if isKilled, complaints.isEmpty { ForkedChild.endBySignal() }
        return campaign.ignoresForks ? "" : complaints.joined(separator: "; ")
      })
    tally.children += 1
    tally.calls += calls.count
    if random.chance(50) { try waitForSome() }
  }

  /// Waits for some of the children, and checks their outcomes.
  private mutating func waitForSome() throws {
    for _ in 0..<min(forked.count, Int.random(in: 1...3, using: &random)) {
      let outcome = forked.removeFirst().wait()
      if campaign.ignoresForks { continue }
      if outcome.hasHung { throw Violation("a child waits without end") }
      guard outcome.words.isEmpty, outcome.signal == 0 || .signal(outcome.signal) == ChildProcess.killed
      else {
        throw Violation("a child: \(outcome)")
      }
    }
  }

  /// Checks that the store is still locked against other processes after children have closed it.
  private func checkIsLocked() throws {
    let outcome = try ForkedChild.run { [path, options] in
      do { _ = try Store(at: path, options: options) } catch let error as StoreError
        where error.code == .locked
      {
        return "locked"
      } catch { return "\(error)" }
      return "open"
    }
    guard outcome.words == "locked" else { throw Violation("another process finds the store \(outcome)") }
  }

  private func check(
    _ store: Store, _ keyspace: Keyspace, _ names: Keyspace, _ named: UInt64, _ when: String
  ) throws {
    let snapshot = store.snapshot()
    let found = try KillChild.contents(snapshot, keyspace)
    guard found == rows else { throw Violation("the rows differ from the acknowledged rows, \(when)") }
    let last = try snapshot.value(key: BusyThread.key, in: names)
    guard named == 0 || last == KillModel.bytes(named, ~named) else {
      throw Violation("the last commit of another thread is lost, \(when)")
    }
    let report = try store.verify()
    guard report.isClean else { throw Violation("verify, \(when): \(report.findings)") }
  }
}

/// A thread that commits and reads continuously, so that locks may be held at a fork.
private final class BusyThread: Sendable {
  static let key: [UInt8] = [1]

  private struct State {
    var isStopping = false
    var count: UInt64 = 0
    var outcome: Result<Void, any Error>?
  }

  private let state = Guarded(State())

  init(_ store: Store, _ names: Keyspace) {
    let isStarted = PlatformThread.start(name: "busy") { [self] in
      let outcome = Result { try work(store, names) }
      state.withLock { $0.outcome = outcome }
    }
    if !isStarted {
      state.withLock { $0.outcome = .failure(Violation("the thread beside the forks did not start")) }
    }
  }

  private func work(_ store: Store, _ names: Keyspace) throws {
    var count: UInt64 = 0
    while !state.withLock({ $0.isStopping }) {
      count += 1
      let value = KillModel.bytes(count, ~count)
      try store.write(durability: count % 8 == 0 ? .ordered : .processCrash) {
        try $0.put(value, key: Self.key, in: names)
      }
      guard try store.snapshot().value(key: Self.key, in: names) == value else {
        throw Violation("a thread of the parent reads another value than it committed")
      }
      state.withLock { [count] in $0.count = count }
      if count % 64 == 0 { ForkedChild.waitAMillisecond() }
    }
  }

  /// Waits until the thread has made `count` commits, or has ended.
  func wait(until count: UInt64) throws {
    while true {
      let (outcome, done) = state.withLock { ($0.outcome, $0.count) }
      try outcome?.get()
      if done >= count || outcome != nil { return }
      ForkedChild.waitAMillisecond()
    }
  }

  /// Ends the thread.
  ///
  /// - Returns: The number of its commits.
  func stop() throws -> UInt64 {
    state.withLock { $0.isStopping = true }
    while true {
      let (outcome, count) = state.withLock { ($0.outcome, $0.count) }
      if let outcome {
        try outcome.get()
        return count
      }
      ForkedChild.waitAMillisecond()
    }
  }
}
