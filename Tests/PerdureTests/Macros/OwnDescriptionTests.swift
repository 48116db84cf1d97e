import Perdure
import Testing

private final class Written: ManagedObject {
  override class var entityDescription: EntityDescription {
    var description = EntityDescription(from: self)
    description.properties.append(.string("name"))
    return description
  }
}

extension EntityDescription {
  fileprivate init(from type: AnyClass) { self.init(String(describing: type), properties: []) }
}

@Entity private final class Other: ManagedObject { var name: String = "" }

@Suite("A program that declares its own initializer for descriptions")
struct OwnDescriptionTests {
  @Test("The compiler prefers a program's own EntityDescription(from:)")
  func ownInitializer() throws {
    let container = try PersistentContainer(name: "x", classes: [Written.self], description: .inMemory)
    #expect(container.managedObjectModel.entities.map(\.name) == ["Written"])
    #expect(EntityDescription(from: Other.self).attributes.isEmpty)
  }
}
