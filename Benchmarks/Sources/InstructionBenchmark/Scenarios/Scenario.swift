import Measuring
import Perdure

/// An operation to count, and the unsaved changes of its context.
struct Scenario: Sendable {
  /// Runs a number of operations. Only instructions inside `counted` are counted.
  typealias Body = (Int) throws -> Void

  let operation: String
  let pending: Pending
  /// The number of operations of the second part; the third has twice as many.
  let repetitions: Int
  /// Prepares the operations, without counting.
  let makeBody: @Sendable (Bench) throws -> Body

  init(
    _ operation: String, beside pending: Pending = .none, repetitions: Int,
    _ makeBody: @escaping @Sendable (Bench) throws -> Body
  ) {
    self.operation = operation
    self.pending = pending
    self.repetitions = repetitions
    self.makeBody = makeBody
  }

  var title: String { CountRow.title(operation, pending.title) }

  /// All scenarios, in the order of the tables.
  static var all: [Scenario] { objects + saves + newContexts + reads + besidePending }

  /// The operations whose cost may depend on unsaved changes, each with every kind of them.
  private static var besidePending: [Scenario] {
    (paths + relations + contexts).flatMap { path in
      Pending.all.map { pending in
        // With many changes, an operation may run for more than ten million instructions.
        let repetitions = pending.count < 1_000 ? path.repetitions : max(1, path.repetitions / 10)
        return Scenario(path.operation, beside: pending, repetitions: repetitions, path.makeBody)
      }
    }
  }

  /// Runs the three parts: a warm-up, n operations, 2n operations.
  func run(storeAt path: String, repetitions: Int) throws {
    let bench = try Bench(path)
    try pending.make(in: bench.context)
    let body = try makeBody(bench)
    for count in [repetitions, repetitions, 2 * repetitions] {
      try body(count)
      endPart()
    }
  }

  /// A body that runs and counts an operation the requested number of times.
  static func each(_ operation: @escaping (Int) throws -> Void) -> Body {
    { count in
      try counted { for number in 0..<count { try operation(number) } }
    }
  }
}

/// An opened copy of the graph, and the context with the unsaved changes.
struct Bench {
  let path: String
  let container: PersistentContainer
  let context: ManagedObjectContext

  init(_ path: String) throws {
    self.path = path
    container = try BaseGraph.container(at: path)
    try container.loadPersistentStores()
    context = container.newContext()
  }

  /// The worker with a number. If `other` is nil, it is an object of the bench's context.
  func worker(_ number: Int, in other: ManagedObjectContext? = nil) throws -> Worker {
    let email = BaseGraph.email(number)
    return try one(Worker.fetchRequest { $0.email == email }, in: other ?? context)
  }

  func company(_ number: Int, in other: ManagedObjectContext? = nil) throws -> Company {
    let name = BaseGraph.companyName(number)
    return try one(Company.fetchRequest { $0.name == name }, in: other ?? context)
  }

  private func one<T: ManagedObject>(_ request: FetchRequest<T>, in context: ManagedObjectContext) throws -> T
  {
    let found = try context.fetch(request)
    guard let object = found.first, found.count == 1 else {
      throw CountingError("The graph has \(found.count) objects instead of one of \(T.self).")
    }
    return object
  }
}

/// Checks the result of an operation, because the count of a wrong operation has no meaning.
func expect(_ found: Int, _ expected: Int) throws {
  guard found == expected else { throw CountingError("An operation found \(found) instead of \(expected).") }
}
