import Foundation
import Perdure
import PerdureLog
import PerdureModel
import PerdureTestSupport
import Testing

@Suite("Containers whose store folder is removed")
struct RemovedFolderTests {
  @Test("After the folder of an open store is removed, a save fails no later than at the next segment")
  func removed() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("notes.perdure")
    var description = PersistentStoreDescription(path: path)
    description.configuresEngine = { $0.segmentCapacityBytes = 1 << 20 }
    let container = PersistentContainer(
      name: "Notes",
      model: try ManagedObjectModel([EntityDescription("Note", properties: [.binary("text")])]),
      classes: [], description: description)
    try container.loadPersistentStores()
    let context = container.newContext()
    func save() throws(PerdureError) {
      context.insertNewObject(forEntityName: "Note").setValue(Self.noise, forKey: "text")
      try context.save()
    }
    try save()
    try FileManager.default.removeItem(atPath: path)
    // 80 texts of 50 KB do not fit in three segments of 1 MiB.
    let error = #expect(throws: PerdureError.self) { for _ in 0..<80 { try save() } }
    #expect(error?.code == .saveFailed && (error?.cause as? StoreError)?.code == .poisoned, "\(error as Any)")
    #expect(error?.description.contains("removed or replaced") == true)
    #expect(context.hasChanges && context.insertedObjects.count == 1)
    let again = #expect(throws: PerdureError.self) { try context.save() }
    #expect(again?.code == .saveFailed && context.hasChanges)
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  /// Bytes that compression cannot shorten.
  private static let noise: Data = {
    var random = SeededGenerator(seed: 7)
    return Data((0..<50_000).map { _ in UInt8.random(in: 0...255, using: &random) })
  }()
}
