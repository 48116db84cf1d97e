import PerdureFileIO
import Testing

@testable import Perdure

@Suite("Background tasks of a container")
struct TaskLimiterTests {
  /// Counts the running tasks, and blocks them until the gate is opened.
  private final class Gate: Sendable {
    private struct State {
      var running = 0
      var most = 0
      var order: [Int] = []
      var isOpen = false
    }
    private let state = Guarded(State())
    private let lock = Lock()
    private let opened = Condition()

    var running: Int { state.withLock { $0.running } }
    var most: Int { state.withLock { $0.most } }
    var order: [Int] { state.withLock { $0.order } }

    func open() {
      lock.withLock {
        state.withLock { $0.isOpen = true }
        opened.broadcast()
      }
    }

    func pass(_ number: Int) {
      state.withLock { state in
        state.running += 1
        state.most = max(state.most, state.running)
        state.order.append(number)
      }
      lock.withLock { while !state.withLock({ $0.isOpen }) { opened.wait(lock) } }
      state.withLock { $0.running -= 1 }
    }

    func waitForRunning(_ count: Int) async {
      while running < count { await Task.yield() }
    }
  }

  @Test("The number of running tasks is at most the limit, and waiting tasks begin in order")
  func limited() async throws {
    let container = try Staff.container()
    container.backgroundTaskLimit = 2
    #expect(container.backgroundTaskLimit == 2)
    let gate = Gate()
    let limiter = TaskLimiter(limit: 2)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<50 {
        group.addTask { try await container.performBackgroundTask { _ in gate.pass(number) } }
      }
      await gate.waitForRunning(2)
      for _ in 0..<1000 { await Task.yield() }
      #expect(gate.running == 2)
      gate.open()
      try await group.waitForAll()
    }
    #expect(gate.most == 2 && gate.order.count == 50)
    // This part tests the order of the queue. Each task waits in the queue before the next task is
    // created.
    let line = Guarded<[Int]>([])
    try await limiter.run {
      try await limiter.run {
        var tasks: [Task<Void, any Error>] = []
        for number in 0..<20 {
          tasks.append(Task { try await limiter.run { line.withLock { $0.append(number) } } })
          while limiter.waitingCount < number + 1 { await Task.yield() }
        }
        limiter.setLimit(3)
        for task in tasks { try await task.value }
      }
    }
    #expect(line.withLock { $0 } == Array(0..<20))
  }

  @Test("A greater limit starts waiting tasks at once, and a smaller limit stops no running task")
  func changedLimit() async throws {
    let container = try Staff.container()
    container.backgroundTaskLimit = 1
    let gate = Gate()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<10 {
        group.addTask { try await container.performBackgroundTask { _ in gate.pass(number) } }
      }
      await gate.waitForRunning(1)
      container.backgroundTaskLimit = 4
      await gate.waitForRunning(4)
      container.backgroundTaskLimit = 1
      #expect(gate.running == 4)
      gate.open()
      try await group.waitForAll()
    }
    #expect(gate.most == 4 && gate.order.count == 10)
  }

  @Test("A waiting task that is cancelled throws, does not run, and does not count toward the limit")
  func cancelled() async throws {
    let container = try Staff.container()
    container.backgroundTaskLimit = 1
    let gate = Gate()
    let first = Task { try await container.performBackgroundTask { _ in gate.pass(0) } }
    await gate.waitForRunning(1)
    let waiting = (1...20).map { number in
      Task { try await container.performBackgroundTask { _ in gate.pass(number) } }
    }
    for task in waiting { task.cancel() }
    for task in waiting { await #expect(throws: CancellationError.self) { try await task.value } }
    gate.open()
    try await first.value
    try await container.performBackgroundTask { _ in gate.pass(21) }
    #expect(gate.order == [0, 21])
  }

  @Test(
    "A task sees the state at its start, not at its call, and a failed task does not count toward the limit")
  func newestState() async throws {
    struct Refused: Error {}
    let container = try Staff.container()
    container.backgroundTaskLimit = 1
    let gate = Gate()
    let first = Task {
      try await container.performBackgroundTask { context in
        gate.pass(0)
        _ = context.worker("W")
        try context.save()
      }
    }
    await gate.waitForRunning(1)
    let second = Task {
      try await container.performBackgroundTask { try $0.fetch(Employee.fetchRequest()).map(\.name) }
    }
    for _ in 0..<1000 { await Task.yield() }
    gate.open()
    try await first.value
    #expect(try await second.value == ["W"])
    for _ in 0..<5 {
      await #expect(throws: Refused.self) {
        try await container.performBackgroundTask { _ in throw Refused() }
      }
    }
  }

  @Test("A waiting task throws after the container is closed, unless the stores are loaded again")
  func closedMeanwhile() async throws {
    let container = try Staff.container()
    container.backgroundTaskLimit = 1
    for isLoadedAgain in [false, true] {
      let gate = Gate()
      let first = Task { try await container.performBackgroundTask { _ in gate.pass(0) } }
      await gate.waitForRunning(1)
      let second = Task {
        try await container.performBackgroundTask { try $0.count(for: Employee.fetchRequest()) }
      }
      for _ in 0..<1000 { await Task.yield() }
      try container.close()
      if isLoadedAgain { try container.loadPersistentStores() }
      gate.open()
      try await first.value
      if isLoadedAgain {
        #expect(try await second.value == 0)
      } else {
        let error = await #expect(throws: PerdureError.self) { try await second.value }
        #expect(error?.code == .readFailed)
        try container.loadPersistentStores()
      }
    }
  }

  @Test("Hundreds of waiting tasks can be cancelled in any order")
  func manyCancelled() async throws {
    let limiter = TaskLimiter(limit: 1)
    let begun = Guarded<[Int]>([])
    try await limiter.run {
      var tasks: [Task<Void, any Error>] = []
      for number in 0..<500 {
        tasks.append(Task { try await limiter.run { begun.withLock { $0.append(number) } } })
        while limiter.waitingCount < number + 1 { await Task.yield() }
      }
      for number in (0..<500).reversed() where number % 3 != 0 { tasks[number].cancel() }
      while limiter.waitingCount > 167 { await Task.yield() }
      limiter.setLimit(2)
      for number in 0..<500 where number % 3 == 0 { try await tasks[number].value }
    }
    #expect(begun.withLock { $0 } == (0..<500).filter { $0 % 3 == 0 })
  }
}
