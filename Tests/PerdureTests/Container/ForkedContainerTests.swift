import PerdureFileIO
import PerdureLog
import PerdureProving
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Containers in a forked process")
struct ForkedContainerTests {
  @Test("Every fetch, save and backup of a child process is refused, and the parent can save")
  func refusals() async throws {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    await #expect(processExitsWith: .success) { [path = directory.file("s.perdure") as String] in
      #expect(throws: Never.self) {
        let parent = try ForkedParent(path)
        for call in ForkedCall.all { try runChild(parent, call.name) { call.complaint(parent) ?? "" } }
        try runChild(parent, "all in one") { complaints(ForkedCall.all, parent) }
        try parent.checkGoesOn()
      }
    }
  }

  @Test("A child process keeps the values and counts from before the fork, and its faults have no values")
  func values() async throws {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    await #expect(processExitsWith: .success) { [path = directory.file("s.perdure") as String] in
      #expect(throws: Never.self) {
        let parent = try ForkedParent(path)
        try runChild(parent, "a loaded value", report: "7") { parent.loaded["text"] as? String ?? "nil" }
        try runChild(parent, "a fault", report: "nil") { parent.fault["text"] as? String ?? "nil" }
        try runChild(parent, "a count", report: "\(ForkedParent.count) \(ForkedParent.count)") {
          let mine = try parent.context.count(for: ForkedParent.noteRequest)
          return "\(mine) \(try parent.container.newContext().count(for: ForkedParent.noteRequest))"
        }
        try parent.checkGoesOn()
      }
    }
  }

  @Test("The parent keeps its lock and files when a child process closes the container or is killed")
  func ends() async throws {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    await #expect(processExitsWith: .success) { [path = directory.file("s.perdure") as String] in
      #expect(throws: Never.self) {
        let parent = try ForkedParent(path)
        try runChild(parent, "closes", report: "closed") {
          try parent.container.close()
          try parent.container.close()
          return "closed"
        }
        try runChild(parent, "fails, then closes", report: "closed") {
          let complaints = complaints(ForkedCall.all, parent)
          try parent.container.close()
          return complaints.isEmpty ? "closed" : complaints
        }
        try runChild(parent, "fails, then is killed", isKilled: true) {
          let complaints = complaints(ForkedCall.all, parent)
          if complaints.isEmpty { ForkedChild.endBySignal() }
          return complaints
        }
        try parent.checkGoesOn()
      }
    }
  }

  @Test("A fetch in a read-only container is refused in a child process, and the parent can still read")
  func readers() async throws {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    await #expect(processExitsWith: .success) { [path = directory.file("s.perdure") as String] in
      #expect(throws: Never.self) {
        let parent = try ForkedParent(path)
        let reader = try ForkedParent.opened(path, isReadOnly: true)
        let context = reader.newContext()
        try runChild(parent, "a reader", report: "forked, forked") {
          var codes: [String] = []
          for context in [context, reader.newContext()] {
            do { _ = try context.fetch(ForkedParent.noteRequest) } catch {
              codes.append(ForkedParent.engineCode(of: error))
            }
          }
          try reader.close()
          return codes.joined(separator: ", ")
        }
        let store = try #require(parent.context.core.store as? LogPersistentStore)
        try expectInFork(try store.store.readers.count == 1, "the parent is no longer a reader")
        try expectInFork(
          try context.fetch(ForkedParent.noteRequest).count == ForkedParent.count, "the parent reads less")
        try reader.close()
        try parent.checkGoesOn()
      }
    }
  }

  @Test("A child process does not wait for a thread of its parent that was saving at the fork")
  func whileSaving() async throws {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    await #expect(processExitsWith: .success) { [path = directory.file("s.perdure") as String] in
      #expect(throws: Never.self) {
        let holding = HoldingFileSystem("s.perdure/")
        let parent = try ForkedParent(path, holding)
        let container = parent.container
        try holding.hold {
          let context = container.newContext()
          // Reserves the ids of an entity under a lock, with a commit.
          context.insertNewObject(forEntityName: "Tag")["text"] = "held"
          try context.save()
        } meanwhile: {
          try runChild(parent, "all calls") {
            let complaints = complaints(ForkedCall.all, parent)
            try container.close()
            return complaints
          }
        }
        try expectInFork(
          try container.newContext().count(for: FetchRequest<ManagedObject>(entityName: "Tag")) == 1,
          "the held save is lost")
        try parent.checkGoesOn()
      }
    }
  }

  @Test("A child process does not wait for a thread of its parent that was opening a store at the fork")
  func whileOpening() async throws {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    await #expect(processExitsWith: .success) { [path = directory.file("s.perdure") as String] in
      #expect(throws: Never.self) {
        let holding = HoldingFileSystem("s.perdure.second")
        let parent = try ForkedParent(path, holding)
        let container = parent.container
        var second = PersistentStoreDescription(path: path + ".second")
        second.configuresEngine = { $0.fileSystem = holding }
        try holding.hold { [second] in
          try container.addPersistentStore(second)
        } meanwhile: {
          try runChild(parent, "all calls", report: "1 store") {
            let complaints = complaints(ForkedCall.all, parent)
            if !complaints.isEmpty { return complaints }
            let count = container.persistentStores.count
            try container.close()
            return "\(count) store"
          }
        }
        try expectInFork(container.persistentStores.count == 2, "the second store is not open")
        try parent.checkGoesOn()
      }
    }
  }

  @Test("A child process can load the stores itself after its parent has closed them")
  func opensItself() async throws {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    await #expect(processExitsWith: .success) { [path = directory.file("s.perdure") as String] in
      #expect(throws: Never.self) {
        let parent = try ForkedParent(path)
        let container = parent.container
        let child = try ForkedChild(seconds: 900) {
          do {
            try container.close()
            try loadWhenFree(container)
            let context = container.newContext()
            context.insertNewObject(forEntityName: "Note")["text"] = "of the child"
            try context.save()
            let count = try context.count(for: ForkedParent.request("text LIKE '*'"))
            try container.close()
            return "\(count)"
          } catch { return "\(error)" }
        }
        try container.close()
        let outcome = child.wait()
        try expectInFork(outcome == .init(words: "\(ForkedParent.count + 1)", signal: 0), "\(outcome)")
        let again = try ForkedParent.opened(path)
        let found = try again.newContext().count(for: ForkedParent.request("text == 'of the child'"))
        try expectInFork(found == 1, "the save of the child is lost")
        try again.close()
      }
    }
  }
}

/// Loads the stores as soon as no other process has them open.
private func loadWhenFree(_ container: PersistentContainer) throws {
  for _ in 0..<600_000 {
    do { return try container.loadPersistentStores() } catch {
      if ForkedParent.engineCode(of: error) != "locked" { throw error }
    }
    ForkedChild.waitAMillisecond()
  }
  throw Violation("the store is still locked")
}
