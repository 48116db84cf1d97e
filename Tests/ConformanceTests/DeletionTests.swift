import Perdure
import Testing

// The deletion state of an object, and the rules that deny a deletion: behaviours R2 and X2 of Core
// Data (README.md).

@Entity private final class Landlord: ManagedObject {
  @Relationship(inverse: "landlord", deleteRule: .deny) var flats: ToMany<Flat>
}

@Entity private final class Flat: ManagedObject {
  @Relationship(inverse: "flats", deleteRule: .deny) var landlord: Landlord?
}

@Suite("Deletions")
struct DeletionTests {
  @Test("Deny permits a deletion when both ends are deleted")
  func denyOfBoth() throws {
    let container = try Sandbox(Landlord.self, Flat.self).container
    let context = container.newContext()
    let (landlord, flat) = (Landlord(context: context), Flat(context: context))
    flat.landlord = landlord
    try context.save()
    context.delete(landlord)
    #expect(refusals(context) == ["1600 flats"])
    context.delete(flat)
    #expect(refusals(context) == [])
    #expect(try container.newContext().count(for: FetchRequest<Flat>()) == 0)
  }

  @Test("R2 A required reference without an inverse denies the deletion of its destination")
  func oneWay() throws {
    let model = try ManagedObjectModel([
      EntityDescription("A", properties: [.string("a")]),
      EntityDescription("B", properties: [.toOne("a", "A", optional: false)]),
    ])
    let context = try Sandbox(model).container.newContext()
    let targets = (0..<2).map { _ in context.insertNewObject(forEntityName: "A") }
    let source = context.insertNewObject(forEntityName: "B")
    source["a"] = targets[0]
    try context.save()
    context.delete(targets[0])
    #expect(refusals(context) == ["1570 a"])
    source["a"] = targets[1]
    #expect(refusals(context) == [])
  }

  @Test("X2 isDeleted is true until the deletion is saved")
  func isDeleted() throws {
    let context = try Sandbox(Landlord.self, Flat.self).container.newContext()
    let flat = Flat(context: context)
    try context.save()
    #expect(!flat.isDeleted && flat.managedObjectContext === context)
    context.delete(flat)
    #expect(flat.isDeleted && context.deletedObjects == [flat])
    try context.save()
    #expect(!flat.isDeleted && flat.managedObjectContext == nil && !context.hasChanges)
  }
}
