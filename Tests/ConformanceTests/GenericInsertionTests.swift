import Perdure
import Testing

@Entity("Crew") private class Sailor: ManagedObject {
  var name: String = "new"
}

@Entity private final class Captain: Sailor {
  @Relationship var mate: Sailor?
}

/// A protocol of a program, as in programs for Core Data.
private protocol Titled: ManagedObject {
  static var entityName: String { get }
}

extension Titled where Self: ManagedObject {
  static var entityName: String { "own" }
}

@Entity private final class Boat: ManagedObject, Titled { var name: String = "" }

@Entity private final class Buoy: ManagedObject {
  static let entityName = "mine"
  var name: String = ""
}

private class Vessel: ManagedObject {
  var tons: Int = 0

  required init(_ seed: ObjectSeed) {
    super.init(seed)
    tons = 1
  }
}

@Entity private final class Ferry: Vessel { var name: String = "f" }

private func make<T: ManagedObject>(_ type: T.Type, _ context: ManagedObjectContext) -> T {
  T(context: context)
}

@Suite("Classes in generic code")
struct GenericInsertionTests {
  @Test("In generic code, T(context:) creates an object of the class T")
  func generic() throws {
    let context = try Sandbox(Sailor.self, Captain.self, Ferry.self).container.newContext()
    let sailor = make(Captain.self, context)
    #expect(sailor.entity.name == "Captain" && sailor.name == "new" && sailor.isInserted)
    let types: [Sailor.Type] = [Sailor.self, Captain.self]
    #expect(types.map { $0.init(context: context).entity.name } == ["Crew", "Captain"])
    let ferry = make(Ferry.self, context)
    #expect(ferry.tons == 1 && ferry.name == "f")
    try context.save()
    #expect(try context.count(for: FetchRequest<Sailor>()) == 3)
  }

  @Test("A class has the name of its entity as a static variable")
  func name() throws {
    func name<T: ManagedObject>(_ type: T.Type) -> String { T.entityName }
    #expect(Sailor.entityName == "Crew" && Captain.entityName == "Captain")
    #expect(name(Captain.self) == "Captain" && ManagedObject.entityName == "" && Vessel.entityName == "")
    let type: ManagedObject.Type = Sailor.self
    #expect(type.entityName == "Crew")
  }

  @Test("A program may declare entityName itself, in a class or in an extension of a protocol")
  func own() { #expect(Boat.entityName == "own" && Buoy.entityName == "mine") }
}
