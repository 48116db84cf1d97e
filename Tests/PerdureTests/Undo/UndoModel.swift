import Perdure
import PerdureTestSupport

/// The size of a volume.
@Composite struct Format: Equatable {
  var width: Int = 0
  var height: Int = 0
}

@Entity final class Shelf: ManagedObject {
  var name: String = ""
  @Relationship(inverse: "shelf", deleteRule: .cascade) var volumes: OrderedToMany<Volume>
  @Attribute(derived: "volumes.@count") private(set) var volumeCount: Int
}

@Entity final class Volume: ManagedObject {
  var title: String = ""
  var pages: Int64 = 0
  @Attribute(.composite) var format: Format = Format()
  var note: String?
  @Attribute(.transient) var mood: String?
  @Attribute(.transient) var companion: AnyObject?
  @Relationship(inverse: "volumes") var shelf: Shelf?
  @Relationship(inverse: "volumes") var marks: ToMany<Mark>
  @Relationship(inverse: "prequel") var sequel: Volume?
  @Relationship(inverse: "sequel") var prequel: Volume?
}

@Entity final class Mark: ManagedObject {
  @Attribute(.unique) var label: String?
  @Relationship(inverse: "marks") var volumes: ToMany<Volume>
  @Relationship(inverse: nil) var favourite: Volume?
}

/// A store with shelves, and a context with an undo manager.
struct UndoScene {
  let container: PersistentContainer
  let context: ManagedObjectContext
  let manager = ContextUndoManager()

  init() throws {
    container = try PersistentContainer(
      name: "Undo", classes: [Shelf.self, Volume.self, Mark.self], description: .inMemory)
    try container.loadPersistentStores()
    context = container.newContext()
    context.undoManager = manager
  }

  /// A saved volume, which no undo removes.
  func volume(_ title: String) throws -> Volume {
    let volume = Volume(context: context)
    volume.title = title
    try context.save()
    manager.removeAllActions()
    return volume
  }

  /// A saved shelf with volumes.
  func shelf(_ titles: String...) throws -> Shelf {
    let shelf = Shelf(context: context)
    for title in titles {
      let volume = Volume(context: context)
      volume.title = title
      shelf.volumes.append(volume)
    }
    try context.save()
    manager.removeAllActions()
    return shelf
  }
}
