import Foundation
import Perdure
import PerdureFileIO
import PerdureLog
import PerdureTestSupport
import Testing

@Entity private final class Shelf: ManagedObject {
  @Attribute(.unique) var name: String
  @Relationship(inverse: "shelf", deleteRule: .cascade) var books: OrderedToMany<Volume>
  @Attribute(.indexed, derived: "books.@count") private(set) var bookCount: Int
}

@Entity private final class Volume: ManagedObject {
  @Attribute(.unique) var code: String
  var scan: Data?
  @Relationship(inverse: "books") var shelf: Shelf?
}

/// Saves on a disk that is full, and again when it has space.
@Suite("A save on a full disk, repeated when there is space")
struct FullDiskSaveTests {
  private static func container(_ fileSystem: SimulatedFileSystem) throws -> PersistentContainer {
    var description = PersistentStoreDescription(path: "/shelves.perdure")
    description.configuresEngine = { options in
      options.fileSystem = fileSystem
      (options.checkpoints, options.compactsAutomatically) = (.manual, false)
    }
    let container = try PersistentContainer(
      name: "Shelves", classes: [Shelf.self, Volume.self], description: description)
    try container.loadPersistentStores()
    return container
  }

  private static func content(_ context: ManagedObjectContext) throws -> [String] {
    let shelves = try context.fetch(Shelf.fetchRequest()).map { shelf in
      "\(shelf.name) \(shelf.bookCount) \(shelf.books.map(\.code))"
    }
    let volumes = try context.fetch(Volume.fetchRequest()).map { volume in
      "\(volume.code) \(volume.shelf?.name ?? "-") \(volume.scan.map { "\($0.count) \($0.first ?? 0)" } ?? "-")"
    }
    return (shelves + volumes).sorted()
  }

  private static func setUp(_ fileSystem: SimulatedFileSystem) throws {
    let container = try container(fileSystem)
    let context = container.newContext()
    for name in ["A", "B"] {
      let shelf = Shelf(context: context)
      shelf.name = name
      for number in 0..<3 {
        let volume = Volume(context: context)
        (volume.code, volume.scan) = ("\(name)\(number)", Data(repeating: 1, count: 10))
        shelf.books.append(volume)
      }
    }
    try context.save()
    try container.close()
  }

  /// Inserts, moves, changes and deletes objects. Sets two values of `length` bytes.
  private static func edit(_ context: ManagedObjectContext, length: Int) throws {
    let shelves = try context.fetch(Shelf.fetchRequest()).sorted { $0.name < $1.name }
    context.delete(shelves[1])
    let volume = Volume(context: context)
    (volume.code, volume.scan) = ("B0", Data(repeating: 7, count: length))
    shelves[0].books.insert(volume, at: 1)
    shelves[0].books.move(from: 3, to: 0)
    shelves[0].books[2].scan = Data(repeating: 8, count: length)
  }

  @Test(
    "If the disk is full from any write on, the save throws, the changes stay pending, and the save succeeds later",
    arguments: [100, 1 << 20])
  func everyWrite(length: Int) throws {
    let pristine = SimulatedFileSystem()
    try Self.setUp(pristine)
    let before = try Self.content(try Self.container(pristine).newContext())
    var failures = 0
    for nth in 1... {
      let fileSystem = SimulatedFileSystem()
      try Self.setUp(fileSystem)
      let container = try Self.container(fileSystem)
      let context = container.newContext()
      try Self.edit(context, length: length)
      let pending = try Self.content(context)
      #expect(pending != before)
      let counts = Self.counts(context)
      fileSystem.inject(InjectedFailure(of: .write, nth: nth, repeats: true, code: .noSpace))
      let error = Self.error { () throws(PerdureError) in try context.save() }
      let hasFailed = fileSystem.injectedFailureCount > 0
      #expect(error == nil || hasFailed, "call \(nth)")
      if let error {
        failures += 1
        #expect(error.code == .saveFailed && error.cause != nil, "call \(nth): \(error)")
        #expect(!error.isOutcomeUnknown && error.message.contains("Nothing was saved"), "call \(nth)")
        #expect("\(error)".contains("full") || "\(error)".contains("space"), "call \(nth): \(error)")
        #expect(try Self.counts(context) == counts && Self.content(context) == pending, "call \(nth)")
        #expect(try Self.content(container.newContext()) == before, "call \(nth)")
        fileSystem.removeInjectedFailures()
        try context.save()
      }
      fileSystem.removeInjectedFailures()
      #expect(!context.hasChanges)
      #expect(try Self.content(container.newContext()) == pending, "call \(nth)")
      try container.close()
      let again = try Self.container(fileSystem)
      #expect(try Self.content(again.newContext()) == pending, "call \(nth)")
      try again.close()
      if !hasFailed { break }
    }
    #expect(failures > 0)
  }

  private static func counts(_ context: ManagedObjectContext) -> [Int] {
    [context.insertedObjects, context.updatedObjects, context.deletedObjects].map(\.count)
  }

  private static func error(_ body: () throws(PerdureError) -> Void) -> PerdureError? {
    do throws(PerdureError) {
      try body()
      return nil
    } catch {
      return error
    }
  }
}
