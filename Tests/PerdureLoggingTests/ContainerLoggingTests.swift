import Logging
import Perdure
import PerdureLogging
import Testing

@Entity private final class Note: ManagedObject {
  @Attribute(.unique) var text: String
}

@Suite("Log lines of fetches and saves")
struct ContainerLoggingTests {
  /// The messages written on the test's thread.
  // Unchecked: only one thread writes and reads the messages.
  private final class Lines: @unchecked Sendable {
    var lines: [(level: Logger.Level, message: String, metadata: Logger.Metadata)] = []
  }

  private struct Handler: LogHandler {
    let lines: Lines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      lines.lines.append((event.level, "\(event.message)", event.metadata ?? [:]))
    }
  }

  @Test("Each fetch and each save logs one line, and failures have a higher level")
  func lines() throws {
    let container = try PersistentContainer(name: "Notes", classes: [Note.self], description: .inMemory)
    try container.loadPersistentStores()
    let lines = Lines()
    container.log(to: Logger(label: "notes") { _ in Handler(lines: lines) }, level: .info)
    let context = container.newContext()
    Note(context: context).text = "a"
    try context.save()
    _ = try context.fetch(FetchRequest<Note>())
    Note(context: context).text = "a"
    #expect(throws: PerdureError.self) { try context.save() }
    #expect(lines.lines.map(\.level) == [.info, .info, .error])
    #expect(lines.lines[0].message == "save 1 inserted, 0 updated, 0 deleted")
    #expect(lines.lines[1].message == "fetch Note" && lines.lines[1].metadata["count"] == "1")
    #expect(lines.lines[2].metadata["error"] != nil && lines.lines[0].metadata["milliseconds"] != nil)
    container.log(nil)
    _ = try context.fetch(FetchRequest<Note>())
    #expect(lines.lines.count == 3)
  }

  @Test("Each warning about a model is logged once, at the warning level")
  func warnings() throws {
    let model = try ManagedObjectModel([
      EntityDescription(
        "Company", properties: [.string("name"), .toMany("workers", "Worker", inverse: nil)]),
      EntityDescription("Worker", properties: [.string("name")]),
    ])
    let lines = Lines()
    for _ in 0..<2 {
      PersistentContainer(name: "Staff", model: model, description: .inMemory)
        .log(to: Logger(label: "staff") { _ in Handler(lines: lines) }, level: .trace)
    }
    #expect(lines.lines.map(\.level) == [.warning])
    #expect(lines.lines[0].message.hasPrefix("warning Company.workers: The relationship has no inverse."))
    #expect(lines.lines[0].metadata.isEmpty)
  }
}
