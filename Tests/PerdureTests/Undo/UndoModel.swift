import Foundation
import Perdure
import PerdureTestSupport
import Testing

/// The size of a volume.
@Composite struct VolumeFormat: Equatable {
  var width: Int = 0
  var height: Int = 0
}

@Entity final class UndoShelf: ManagedObject {
  var name: String = ""
  @Relationship(inverse: "shelf", deleteRule: .cascade) var volumes: OrderedToMany<UndoVolume>
  @Attribute(derived: "volumes.@count") private(set) var volumeCount: Int
}

@Entity final class UndoVolume: ManagedObject {
  var title: String = ""
  var pages: Int64 = 0
  @Attribute(.composite) var format: VolumeFormat = VolumeFormat()
  var note: String?
  @Attribute(.transient) var mood: String?
  @Attribute(.transient) var companion: AnyObject?
  @Relationship(inverse: "volumes") var shelf: UndoShelf?
  @Relationship(inverse: "volumes") var marks: ToMany<UndoMark>
  @Relationship(inverse: "prequel") var sequel: UndoVolume?
  @Relationship(inverse: "sequel") var prequel: UndoVolume?
}

@Entity final class UndoMark: ManagedObject {
  @Attribute(.unique) var label: String?
  @Relationship(inverse: "marks") var volumes: ToMany<UndoVolume>
  @Relationship(inverse: nil) var favourite: UndoVolume?
  @Attribute(derived: "now()") private(set) var savedAt: Date?
}

/// A store with shelves, and a context with an undo manager.
struct UndoScene {
  let container: PersistentContainer
  let context: ManagedObjectContext
  let manager = ContextUndoManager()

  init() throws {
    container = try PersistentContainer(
      name: "Undo", classes: [UndoShelf.self, UndoVolume.self, UndoMark.self], description: .inMemory)
    try container.loadPersistentStores()
    context = container.newContext()
    context.undoManager = manager
  }

  /// A saved volume, whose insertion is not in a group.
  func volume(_ title: String) throws -> UndoVolume {
    let volume = UndoVolume(context: context)
    volume.title = title
    try context.save()
    manager.removeAllActions()
    return volume
  }

  /// A saved shelf with volumes.
  func shelf(_ titles: String...) throws -> UndoShelf {
    let shelf = UndoShelf(context: context)
    for title in titles {
      let volume = UndoVolume(context: context)
      volume.title = title
      shelf.volumes.append(volume)
    }
    try context.save()
    manager.removeAllActions()
    return shelf
  }

  /// Saves changes in another context.
  func saveElsewhere(_ body: (ManagedObjectContext) throws -> Void) throws {
    let other = container.newContext()
    try body(other)
    try other.save()
  }

  /// Saves changes in another context, and refreshes this one.
  func changeElsewhere(_ body: (ManagedObjectContext) throws -> Void) throws {
    try saveElsewhere(body)
    context.refreshAllObjects()
  }
}

/// The volume with an id, in a context.
func undoVolume(_ id: ManagedObjectID, _ context: ManagedObjectContext) throws -> UndoVolume {
  try #require(try context.existingObject(with: id) as? UndoVolume)
}

/// The conflicts of an undo or a redo; empty if it succeeds.
func undoConflicts(_ body: () throws(PerdureError) -> Void) -> [UndoConflict] {
  do throws(PerdureError) {
    try body()
    return []
  } catch {
    #expect(error.code == .undoConflict && !error.message.isEmpty)
    return error.undoConflicts
  }
}
