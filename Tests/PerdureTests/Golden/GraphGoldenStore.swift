import Foundation
import Perdure
import PerdureLog
import PerdureModel
import PerdureTestSupport

// Golden stores of graphs are files that a version of Perdure wrote once. Each later version must
// open copies of them, for reading and for writing. The files are in Stores/model-<version of the
// stored model>, beside this file, and never change.

/// A graph in the repository, and its content.
struct GraphGoldenStore: CustomStringConvertible, Sendable {
  /// The version of its stored model.
  let version: UInt16

  static let all = [GraphGoldenStore(version: 4), GraphGoldenStore(version: 5)]
  /// The version that the generator writes.
  static let newestVersion: UInt16 = 5

  var description: String { "model-\(version)" }
  var path: String { Self.folder + "/\(description)" }

  private static let folder =
    #filePath.split(separator: "/", omittingEmptySubsequences: false)
    .dropLast().joined(separator: "/") + "/Stores"

  func files() throws -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: path) {
      files[name] = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path + "/" + name)))
    }
    return files
  }

  static func write(_ files: [String: [UInt8]], to folder: String) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for (name, bytes) in files { try Data(bytes).write(to: URL(fileURLWithPath: folder + "/" + name)) }
  }

  /// The colour of each note. Rows of the first model lack this attribute, so it reads as the
  /// default of model 2.
  var colours: [String: String] {
    let first = ["a": "red", "b": "red", "c": "red", "d": "green"]
    return version < 5 ? first : first.merging(["e": "blue", "f": "red"]) { $1 }
  }

  /// The notes of the folder, in order.
  var order: [String] { ["c", "a"] }
}

/// The successive models of a golden store.
enum GraphGoldenModel {
  /// - Parameter number: 1 to 3. Model 2 adds an attribute with a default, an index on the
  ///   attribute, and a new entity with an ordered relationship. Model 3 has another default.
  static func version(_ number: Int) throws -> ManagedObjectModel {
    var note = EntityDescription(
      "Note", properties: [.string("name", optional: false)], uniquenessConstraints: [["name"]])
    guard number > 1 else { return try ManagedObjectModel([note], versionIdentifiers: ["1"]) }
    note.properties += [
      .string("colour", optional: false, default: number > 2 ? "blue" : "red"),
      .toOne("folder", "Folder", inverse: "notes"),
    ]
    note.indexes.append(FetchIndexDescription(on: "colour"))
    let folder = EntityDescription(
      "Folder",
      properties: [
        .string("title"), .toMany("notes", "Note", inverse: "folder", ordered: true),
      ])
    return try ManagedObjectModel([note, folder], versionIdentifiers: ["\(number)"])
  }
}

/// Writes a store in the format of this version of Perdure.
enum GraphGoldenGenerator {
  private static let path = "/golden"

  static func files() throws -> [String: [UInt8]] {
    let fileSystem = SimulatedFileSystem()
    try edit(fileSystem, 1) { context in
      for name in ["a", "b", "c"] { insert(name, nil, context) }
    }
    try edit(fileSystem, 2) { context in
      insert("d", "green", context)
      let notes = try context.fetch(FetchRequest<ManagedObject>(entityName: "Note"))
      let folder = context.insertNewObject(forEntityName: "Folder")
      folder["title"] = "both"
      folder["notes"] = ["c", "a"].compactMap { name in notes.first { $0["name"] as? String == name } }
    }
    if GraphGoldenStore.newestVersion > 4 {
      try edit(fileSystem, 3) { context in
        insert("e", nil, context)
        insert("f", "red", context)
      }
    }
    let image = fileSystem.currentImage
    var files: [String: [UInt8]] = [:]
    for path in image.paths where path.hasPrefix(Self.path + "/") && !path.hasSuffix("/LOCK") {
      files[String(path.dropFirst(Self.path.count + 1))] = image.bytes(at: path)
    }
    return files
  }

  private static func insert(_ name: String, _ colour: String?, _ context: ManagedObjectContext) {
    let note = context.insertNewObject(forEntityName: "Note")
    note["name"] = name
    if let colour { note["colour"] = colour }
  }

  private static func edit(
    _ fileSystem: SimulatedFileSystem, _ number: Int, _ body: (ManagedObjectContext) throws -> Void
  ) throws {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.segmentCapacityBytes = 8192
    options.checkpoints = .manual
    options.compactsAutomatically = false
    let model = try GraphGoldenModel.version(number)
    let store = try LogPersistentStore(at: path, model: model, options: options)
    let container = PersistentContainer(
      name: "golden", model: model, classes: [], description: .init(path: path),
      factory: StoreFactory { _, _ in store })
    try container.loadPersistentStores()
    let context = container.newContext()
    try body(context)
    try context.save()
    try container.close()
  }
}
