// The compiler must refuse each use of an object outside of the isolation of its context. Each case
// is compiled separately against the modules that this test was built with. Errors of region
// isolation come from SIL, so type-checking alone does not find them.

import Foundation
import Testing

/// Without a compiler, the suite is disabled, so that it does not count as passed. In CI, a missing
/// compiler is a failure.
@Suite(
  "The compiler checks isolation",
  .enabled(
    if: Compiler.found != nil || ProcessInfo.processInfo.environment["CI"] != nil,
    "There is no swiftc in PATH, or no modules beside the tests."))
struct CompileFailTests {
  private static let prelude = """
    import Perdure
    import PerdureModel

    final class Person: ManagedObject {
      override class var entityDescription: EntityDescription {
        EntityDescription("Person", properties: [.int64("age")])
      }
      var age: Int64 {
        get { _get(0) }
        set { _set(0, newValue) }
      }
    }
    func use(_ person: Person) async { person.age += 1 }

    """

  private func check(_ body: String, refusedFor complaint: String) throws {
    let compiler = try #require(Compiler.found, "There is no swiftc in PATH, or no modules beside the tests.")
    let result = try compiler.compile(Self.prelude + body)
    #expect(result.status != 0, "The compiler accepts:\n\(body)")
    #expect(result.output.contains(complaint), "\(result.output)")
  }

  @Test("Returning an object from perform is refused")
  func returned() throws {
    try check(
      """
      func leak(_ background: BackgroundContext) async throws {
        let person = try await background.perform { context in Person(context: context) }
        person.age = 1
      }
      """, refusedFor: "conformance of 'ManagedObject' to 'Sendable' is unavailable")
  }

  @Test("Returning an object from performAndWait is refused")
  func returnedSynchronously() throws {
    try check(
      """
      func leak(_ background: BackgroundContext) throws {
        let person = try background.performAndWait { context in Person(context: context) }
        person.age = 1
      }
      """, refusedFor: "conformance of 'ManagedObject' to 'Sendable' is unavailable")
  }

  @Test("Capturing an object of another context in perform is refused")
  func captured() throws {
    try check(
      """
      func leak(_ container: PersistentContainer) async throws {
        let person = Person(context: container.newContext())
        try await container.newBackgroundContext().perform { _ in person.age = 1 }
      }
      """, refusedFor: "capture of 'person' with non-Sendable type 'Person' in a '@Sendable' closure")
  }

  @Test("Using an object of the main actor in a detached task is refused")
  func detached() throws {
    try check(
      """
      @MainActor func leak(_ person: Person) {
        Task.detached { person.age += 1 }
      }
      """, refusedFor: "risks causing data races")
  }

  @Test("Passing an object of the main actor to a nonisolated async function is refused")
  func passed() throws {
    try check(
      """
      @MainActor func leak(_ person: Person) async {
        await use(person)
        person.age += 1
      }
      """, refusedFor: "risks causing data races")
  }

  @Test("Sending a context out of an actor is refused")
  func context() throws {
    try check(
      """
      actor Owner {
        let context: ManagedObjectContext
        init(_ container: PersistentContainer) { context = container.newContext() }
        func leak() { Task.detached { [context] in try context.save() } }
      }
      """, refusedFor: "risks causing data races")
  }

  @Test("Contexts that are local, owned by an actor, moved, or used inside perform compile")
  func accepted() throws {
    let compiler = try #require(Compiler.found, "There is no swiftc in PATH, or no modules beside the tests.")
    let result = try compiler.compile(
      Self.prelude + """
        func local(_ container: PersistentContainer) async throws -> ManagedObjectID {
          let context = container.newContext()
          let person = Person(context: context)
          await Task.yield()
          person.age = 1
          try context.save()
          return person.objectID
        }
        actor Owner {
          let context: ManagedObjectContext
          init(_ container: PersistentContainer) { context = container.newContext() }
          func add() throws -> ManagedObjectID {
            let person = Person(context: context)
            try context.save()
            return person.objectID
          }
        }
        func moved(_ container: PersistentContainer) {
          let context = container.newContext()
          Task {
            Person(context: context).age = 1
            try context.save()
          }
        }
        func inside(_ background: BackgroundContext, _ id: ManagedObjectID) async throws -> Int64 {
          try await background.perform { context in
            (context.object(with: id) as? Person)?.age ?? 0
          }
        }
        @MainActor func view(_ container: PersistentContainer) throws {
          Person(context: container.viewContext).age = 1
          try container.viewContext.save()
        }
        """)
    #expect(result.status == 0, "\(result.output)")
  }

  @Test("The compiler checks classes with macros in the same way")
  func macros() throws {
    let compiler = try #require(Compiler.found, "There is no swiftc in PATH, or no modules beside the tests.")
    let result = try compiler.compile(
      """
      import Perdure

      @Entity final class Person: ManagedObject { var age: Int64 = 0 }
      func use(_ person: Person) async { person.age += 1 }
      @MainActor func detach(_ person: Person) { Task.detached { person.age += 1 } }
      @MainActor func pass(_ person: Person) async {
        await use(person)
        person.age += 1
      }
      """)
    let lines = result.output.split(separator: "\n").filter { $0.contains("error:") }
    #expect(
      lines.count >= 2 && lines.allSatisfy { $0.contains("risks causing data races") }, "\(result.output)")
  }

  @Test("A type that no property can have is refused with a message that lists possible types")
  func wrongType() throws {
    try check(
      """
      final class Counted: ManagedObject {
        var count: UInt { get { _get(0) } set { _set(0, newValue) } }
      }
      """, refusedFor: "No property can have this type. Attributes are Bool, Int, Int16")
  }

  @Test("An initializer call that omits a required value is refused with the value's name")
  func omittedValue() throws {
    try check(
      """
      @Entity final class Worker: ManagedObject { var name: String; var salary: Double = 0; var born: Int? }
      func hire(_ context: ManagedObjectContext) { _ = Worker(context: context, salary: 4200) }
      """, refusedFor: "missing argument for parameter 'name' in call")
  }
}
