import Foundation
import Perdure
import PerdureModelFiles
import PerdureTestSupport
import Testing

@Composite struct Berth {
  var deck: Int
  var name: String?
}

@Entity(unique: [["name"]], indexes: [["tons", "name"]]) class Vessel: ManagedObject {
  var name: String
  @Attribute(.indexed, .minimum(0.5)) var tons: Double = 10
  var built: Date?
  @Attribute(.composite) var berth: Berth?
  @Attribute(derived: "canonical:(name)") private(set) var folded: String
  @Attribute(.transient) var visits: Int = 0
  @Relationship(inverse: "vessels", deleteRule: .deny) var harbour: Harbour?
  @Fetched("harbour == $FETCH_SOURCE.harbour", .cached, order: [FetchOrder("name")], limit: 5)
  var neighbours: [Vessel]
}

@Entity final class Ferry: Vessel {
  var seats: Int32 = 0
}

@Entity(originalName: "Port", userInfo: ["note": "<a> & \"b\""]) final class Harbour: ManagedObject {
  @Attribute(originalName: "title") var name: String
  @Relationship(inverse: "harbour") var vessels: ToMany<Vessel>
  @Attribute(derived: "vessels.@count") private(set) var vesselCount: Int
}

@Suite("Models of classes, written to files")
struct WrittenModelTests {
  private let classes: [ManagedObject.Type] = [Vessel.self, Ferry.self, Harbour.self]

  @Test("The model of a container with classes is equal after it is written to a file and read")
  func written() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("Harbours.xcdatamodeld")
    let container = try PersistentContainer(name: "Harbours", classes: classes, description: .inMemory)
    let model = container.managedObjectModel
    try model.write(to: path)
    let read = try ManagedObjectModel(contentsOf: path)
    #expect(read.versionHash == model.versionHash)
    #expect(Set(read.entities.map(\.name)) == ["Vessel", "Ferry", "Harbour"])
    for entity in model.entities {
      let other = try #require(read.entitiesByName[entity.name])
      #expect(other.propertiesByName == entity.propertiesByName)
      #expect(other.fetchedProperties == entity.fetchedProperties)
      #expect(other.indexes == entity.indexes)
      #expect(other.uniquenessConstraints == entity.uniquenessConstraints)
      #expect(other.userInfo == entity.userInfo && other.renamingIdentifier == entity.renamingIdentifier)
      #expect(other.managedObjectClassName == entity.managedObjectClassName)
    }
    #expect(read.fetchRequestTemplates == model.fetchRequestTemplates)
  }

  @Test("A store of the classes opens with the model that was read from the file")
  func opened() throws {
    let directory = try TemporaryDirectory()
    let (path, store) = (directory.file("Harbours.xcdatamodeld"), directory.file("Harbours.perdure"))
    let container = try PersistentContainer(
      name: "Harbours", classes: classes, description: .init(path: store))
    try container.loadPersistentStores()
    let context = container.newContext()
    let vessel = Vessel(context: context, name: "Ada")
    vessel.berth = Berth(deck: 2, name: "b")
    try context.save()
    try container.managedObjectModel.write(to: path)
    try container.close()
    let other = PersistentContainer(
      name: "Harbours", model: try ManagedObjectModel(contentsOf: path), description: .init(path: store))
    try other.loadPersistentStores()
    let object = try #require(
      try other.newContext().fetch(FetchRequest<ManagedObject>(entityName: "Vessel")).first)
    #expect(object["name"] as? String == "Ada" && object["berth.deck"] as? Int == 2)
    #expect(object["folded"] as? String == "ada" && object["tons"] as? Double == 10)
    try other.close()
  }
}
