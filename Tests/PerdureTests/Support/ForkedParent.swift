import PerdureFileIO
import PerdureLog
import PerdureModel
import PerdureProving
import PerdureTestSupport
import Testing

@testable import Perdure

/// A container with saved notes, and the objects that the parent process has when it forks.
final class ForkedParent {
  static let count = 30

  let path: String
  let container: PersistentContainer
  let context: ManagedObjectContext
  let loaded: ManagedObject
  let fault: ManagedObject

  static let noteRequest = FetchRequest<ManagedObject>(entityName: "Note")

  static func opened(
    _ path: String, isReadOnly: Bool = false, _ fileSystem: any FileSystem = POSIXFileSystem()
  ) throws -> PersistentContainer {
    let text = PropertyDescription.string("text")
    let model = try ManagedObjectModel([
      EntityDescription("Note", properties: [text], indexes: [FetchIndexDescription(on: "text")]),
      EntityDescription("Tag", properties: [text]),
    ])
    var description = PersistentStoreDescription(path: path, isReadOnly: isReadOnly)
    description.configuresEngine = { options in
      options.fileSystem = fileSystem
      // With these options, no background thread changes the files, and a close writes a
      // checkpoint.
      options.compactsAutomatically = false
      options.checkpoints.closeTailBytes = 0
    }
    let container = PersistentContainer(name: "Notes", model: model, classes: [], description: description)
    try container.loadPersistentStores()
    return container
  }

  init(_ path: String, _ fileSystem: any FileSystem = POSIXFileSystem()) throws {
    self.path = path
    container = try Self.opened(path, fileSystem)
    context = container.newContext()
    for number in 0..<Self.count {
      context.insertNewObject(forEntityName: "Note")["text"] = "\(number)"
      try context.save()
    }
    loaded = try context.fetch(Self.request("text == '7'"))[0]
    guard loaded["text"] as? String == "7" else { throw Violation("note 7 has another text") }
    let others = container.newContext()
    fault = others.object(with: try context.fetch(Self.request("text == '8'"))[0].objectID)
    guard fault.isFault else { throw Violation("note 8 is loaded") }
  }

  static func request(_ format: String) throws -> FetchRequest<ManagedObject> {
    var request = noteRequest
    request.predicate = try FetchPredicate(format: format)
    return request
  }

  /// Checks that the parent can save, and that no other process can open the store for writing.
  /// Then closes and opens the store, and checks that it has every note and no damage.
  func checkGoesOn() throws {
    for number in 0..<20 {
      context.insertNewObject(forEntityName: "Note")["text"] = "later \(number)"
      try context.save()
    }
    loaded["text"] = "seven"
    try context.save()
    try expectInFork(fault["text"] as? String == "8", "the parent's fault has another text")
    let other = try ForkedChild.run(seconds: 300) { [path] in
      do { try Self.opened(path).close() } catch { return Self.engineCode(of: error) }
      return "open"
    }
    try expectInFork(other.words == "locked", "another process was not refused with locked: \(other)")
    try container.close()
    let again = try Self.opened(path)
    let found = try again.newContext().fetch(Self.noteRequest).compactMap { $0["text"] as? String }
    try again.close()
    let kept = (0..<Self.count).map { $0 == 7 ? "seven" : "\($0)" } + (0..<20).map { "later \($0)" }
    try expectInFork(found.sorted() == kept.sorted(), "\(found)")
    let inspection = try StoreInspection(at: path)
    try expectInFork(try inspection.engine.verify().isClean, "the store is damaged")
    try expectInFork(try inspection.verifyGraph().isClean, "the graph is damaged")
  }

  /// The code of the engine's error that caused `error`; the description of `error` if the engine
  /// did not cause it.
  static func engineCode(of error: any Error) -> String {
    guard let error = error as? PerdureError, let cause = error.cause as? StoreError else {
      return "\(error)"
    }
    return cause.code.description
  }
}

/// A call that a child process makes on its parent's container.
struct ForkedCall {
  let name: String
  let code: PerdureError.Code
  let body: (ForkedParent) throws -> Void

  init(_ name: String, _ code: PerdureError.Code, _ body: @escaping (ForkedParent) throws -> Void) {
    (self.name, self.code, self.body) = (name, code, body)
  }

  static var all: [ForkedCall] { reads + saves + backups }

  private static var reads: [ForkedCall] {
    [
      ForkedCall("a fetch", .readFailed) { _ = try $0.context.fetch(ForkedParent.noteRequest) },
      ForkedCall("a fetch of a new context", .readFailed) {
        _ = try $0.container.newContext().fetch(ForkedParent.noteRequest)
      },
      ForkedCall("a fetch by an index", .readFailed) {
        _ = try $0.context.fetch(ForkedParent.request("text == '3'"))
      },
      ForkedCall("a fetch of ids", .readFailed) {
        _ = try $0.context.fetchIDs(ForkedParent.request("text == '3'"))
      },
      ForkedCall("a count by an index", .readFailed) {
        _ = try $0.context.count(for: ForkedParent.request("text == '3'"))
      },
      ForkedCall("a count by a scan", .readFailed) {
        _ = try $0.context.count(for: ForkedParent.request("text LIKE '*3'"))
      },
      ForkedCall("the metadata", .readFailed) { _ = try $0.container.persistentStoreMetadata() },
    ]
  }

  private static var saves: [ForkedCall] {
    [
      ForkedCall("a save of a new object", .saveFailed) { parent in
        parent.context.insertNewObject(forEntityName: "Note")["text"] = "of a child"
        try parent.context.save()
      },
      ForkedCall("a save of the first object of an entity", .saveFailed) { parent in
        let context = parent.container.newContext()
        context.insertNewObject(forEntityName: "Tag")["text"] = "of a child"
        try context.save()
      },
      ForkedCall("a save of a change", .saveFailed) { parent in
        parent.loaded["text"] = "of a child"
        try parent.context.save()
      },
      ForkedCall("a save of a deletion", .saveFailed) { parent in
        parent.context.delete(parent.loaded)
        try parent.context.save()
      },
      ForkedCall("new metadata", .saveFailed) {
        try $0.container.setPersistentStoreMetadata(["by": "child"])
      },
    ]
  }

  private static var backups: [ForkedCall] {
    [
      ForkedCall("a backup", .readFailed) { try $0.container.backup(to: $0.path + ".backup") },
      ForkedCall("a backup in the store's folder", .readFailed) { try $0.container.backup(to: $0.path) },
      ForkedCall("a backup as a stream", .readFailed) { try $0.container.backup { _ in } },
    ]
  }

  /// - Returns: Nil if the call threw an error with the code, and `.forked` as its cause. Otherwise
  ///   a description of the result.
  func complaint(_ parent: ForkedParent) -> String? {
    do { try body(parent) } catch {
      let code = (error as? PerdureError)?.code
      if code == self.code, ForkedParent.engineCode(of: error) == "forked" { return nil }
      return "\(name): \(error)"
    }
    return "\(name) was not refused"
  }
}

/// Records an issue and throws if a condition is false. An exit test transfers the comments of
/// issues, but not errors. Therefore the issue's comment has the error's description.
func expectInFork(_ isTrue: @autoclosure () throws -> Bool, _ what: @autoclosure () -> String) throws {
  if try isTrue() { return }
  let violation = Violation(what())
  Issue.record("\(violation)")
  throw violation
}

/// Runs a child process. Checks its report and how it ends. Checks that it changes no file of the
/// store and makes no backup.
func runChild(
  _ parent: ForkedParent, _ name: String, report: String = "", isKilled: Bool = false,
  _ body: () throws -> String
) throws {
  let before = try files(in: parent.path)
  let child = try ForkedChild.run(seconds: 300) {
    do { return try body() } catch { return "\(error)" }
  }
  let isAsExpected = child.words == report && !child.hasHung && (child.signal != 0) == isKilled
  try expectInFork(isAsExpected, "\(name): \(child)")
  for backup in [".backup", ".backup.copy"] {
    try expectInFork(
      try POSIXFileSystem().kind(of: parent.path + backup) == nil, "\(name): the child made a backup")
  }
  try expectInFork(try files(in: parent.path) == before, "\(name): the child changed files of the store")
}

private func files(in directory: String) throws -> [String: [UInt8]] {
  let fileSystem = POSIXFileSystem()
  var files: [String: [UInt8]] = [:]
  for name in try fileSystem.contents(of: directory) {
    let file = try fileSystem.open(directory + "/" + name, .read)
    files[name] = try file.read(Int(file.size()), at: 0)
  }
  return files
}

func complaints(_ calls: [ForkedCall], _ parent: ForkedParent) -> String {
  calls.compactMap { $0.complaint(parent) }.joined(separator: "; ")
}
