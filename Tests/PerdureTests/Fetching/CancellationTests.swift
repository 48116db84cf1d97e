import Perdure
import PerdurePredicates
import Synchronization
import Testing

@testable import Perdure

@Suite("Fetches of a cancelled task")
struct CancellationTests {
  private func container() throws -> PersistentContainer {
    let container = try Staff.container(.engine)
    let context = container.newContext()
    for _ in 0..<600 { context.worker("W") }
    try context.save()
    return container
  }

  private static let requests = [
    FetchRequest<Employee>(), FetchRequest<Employee> { $0.name != "x" },
    FetchRequest<Employee>(sortDescriptors: [FetchOrder("salary")]),
  ]

  @Test("A cancelled fetch or count throws CancellationError, and the context stays usable")
  func background() async throws {
    let container = try container()
    let background = container.newBackgroundContext()
    for request in Self.requests {
      let begun = Mutex(false)
      let task = Task {
        try await background.perform { context in
          begun.withLock { $0 = true }
          // Repeats until the cancellation arrives and a call throws.
          for _ in 0..<1_000_000 {
            _ = try context.count(for: FetchRequest<Employee> { $0.name != "x" })
            _ = try context.fetch(request)
          }
        }
      }
      while !begun.withLock({ $0 }) { await Task.yield() }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(try await background.perform { try $0.count(for: request) } == 600)
    }
  }

  @Test("A save of a cancelled task saves all changes")
  func save() async throws {
    let container = try container()
    let begun = Mutex(false)
    let task = Task {
      try await container.performBackgroundTask { context in
        context.worker("late")
        begun.withLock { $0 = true }
        while !Task.isCancelled {}
        try context.save()
      }
    }
    while !begun.withLock({ $0 }) { await Task.yield() }
    task.cancel()
    try await task.value
    #expect(try container.newContext().count(for: FetchRequest<Employee>()) == 601)
  }

  @TaskLocal private static var name = ""

  @Test("Work in a background context has the cancellation state and the task-local values of its task")
  func taskOfWork() async throws {
    let container = try container()
    let background = container.newBackgroundContext()
    let begun = Mutex(false)
    let task = Task {
      try await Self.$name.withValue("caller") {
        try await container.performBackgroundTask { context -> (Bool, String, Int) in
          #expect(!Task.isCancelled)
          begun.withLock { $0 = true }
          while !Task.isCancelled {}
          return (Task.isCancelled, Self.name, context.registeredObjects.count)
        }
      }
    }
    while !begun.withLock({ $0 }) { await Task.yield() }
    task.cancel()
    #expect(try await task.value == (true, "caller", 0))
    #expect(try await background.perform { _ in Task.isCancelled } == false)
  }

  private final class Turns: Sendable {
    private let state = Mutex((running: 0, overlaps: 0, numbers: [Int]()))

    var haveOverlapped: Bool { state.withLock { $0.overlaps > 0 } }
    var numbers: [Int] { state.withLock { $0.numbers } }

    func begin() {
      state.withLock { state in
        state.running += 1
        if state.running > 1 { state.overlaps += 1 }
      }
    }

    func end(_ number: Int) {
      state.withLock { state in
        state.running -= 1
        state.numbers.append(number)
      }
    }
  }

  @Test("Concurrent tasks of a background context run one after another")
  func order() async throws {
    let background = try container().newBackgroundContext()
    let turns = Turns()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<50 {
        group.addTask {
          try await background.perform { context in
            turns.begin()
            context.worker("\(number)")
            turns.end(number)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(turns.numbers.sorted() == Array(0..<50) && !turns.haveOverlapped)
    #expect(try background.performAndWait { try $0.count(for: FetchRequest<Employee>()) } == 650)
  }

  @Test("A fetch that evaluates each object can be cancelled, even with unsaved changes")
  func evaluated() async throws {
    let container = try container()
    let request = FetchRequest<Employee>(predicate: try FetchPredicate(format: "salary + 1 > friends.@count"))
    for isChanged in [false, true] {
      let flag = CancellationFlag()
      try await container.newBackgroundContext().perform { context in
        if isChanged { context.worker("unsaved") }
        let before = try context.count(for: request)
        #expect(before == (isChanged ? 601 : 600))
        context.core.activity.cancellation = flag
        flag.set()
        #expect(throws: CancellationError.self) { try context.count(for: request) }
        #expect(throws: CancellationError.self) { try context.fetch(request) }
        context.core.activity.cancellation = nil
        let after = try context.count(for: request)
        #expect(after == before)
      }
    }
  }
}
