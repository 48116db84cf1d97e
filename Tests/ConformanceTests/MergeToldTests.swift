import Perdure
import Testing

@Entity final class Car: ManagedObject {
  var plate: String = ""
  @Attribute(.transient) var speed: Int = 0
  @Attribute(.transient) var friend: ManagedObject?
  @Relationship(inverse: "cars") var garage: Garage?
}

@Entity final class Garage: ManagedObject {
  @Relationship(inverse: "garage") var cars: ToMany<Car>
}

@Suite("Events of merges, and transient values in saves of children")
struct MergeToldTests {
  @Test(
    "Before it sends didMerge, a merge reports changed objects as refreshed, and removed ones as deleted"
  )
  func refreshed() throws {
    let container = try Sandbox(Car.self, Garage.self).container
    let (writer, viewer) = (container.newContext(), container.newContext())
    let (changed, deleted, same) = (Car(context: writer), Car(context: writer), Car(context: writer))
    let garage = Garage(context: writer)
    try writer.save()
    viewer.automaticallyMergesChangesFromParent = true
    viewer.processPendingChanges()
    let held = try viewer.fetch(Car.fetchRequest())
    let house = try viewer.fetch(Garage.fetchRequest())
    var told: [(kind: ContextEventKind, refreshed: [String], deleted: Int)] = []
    let observation = viewer.observe { note in
      let plates = note.refreshedObjects.map { ($0 as? Car)?.plate ?? "garage" }
      told.append((note.kind, plates.sorted(), note.deletedObjects.count))
    }
    changed.plate = "2"
    writer.delete(deleted)
    same.garage = garage
    let new = Car(context: writer)
    new.garage = garage
    try writer.save()
    viewer.processPendingChanges()
    #expect(told.map(\.kind) == [.objectsDidChange, .didMerge])
    #expect(told.first?.refreshed == ["", "2", "garage"] && told.first?.deleted == 1)
    told = []
    viewer.processPendingChanges()
    #expect(told.isEmpty)
    withExtendedLifetime((held, house)) { observation.cancel() }
  }

  @Test("A child that merges automatically reports changes of its parent")
  func child() throws {
    let parent = try Sandbox(Car.self, Garage.self).container.newContext()
    let cars = [Car(context: parent), Car(context: parent)]
    let child = parent.newChildContext()
    child.automaticallyMergesChangesFromParent = true
    let held = try child.fetch(Car.fetchRequest())
    var refreshed: [ManagedObjectID] = []
    let observation = child.observe { refreshed += $0.refreshedObjects.map(\.objectID) }
    cars[0].plate = "2"
    child.processPendingChanges()
    #expect(refreshed == [cars[0].objectID])
    withExtendedLifetime(held) { observation.cancel() }
  }

  @Test(
    "A child's save passes transient values of new and stored objects to its parent")
  func transient() throws {
    let parent = try Sandbox(Car.self, Garage.self).container.newContext()
    let child = parent.newChildContext()
    let car = Car(context: child)
    (car.plate, car.speed, car.friend) = ("1", 50, car)
    try child.save()
    let mine = try #require(try parent.fetch(Car.fetchRequest()).first)
    #expect(mine.speed == 50 && mine.friend === mine && car.speed == 50 && car.friend === car)
    try parent.save()
    #expect(!parent.hasChanges)
    child.refreshAllObjects()
    car.speed = 30
    var told: [Int] = []
    let observation = parent.observe { told.append($0.updatedObjects.count) }
    try child.save()
    #expect(mine.speed == 30 && mine.hasChanges && parent.hasChanges && told == [1])
    #expect(mine.changedValues()["speed"] as? Int == 30 && !child.hasChanges)
    parent.rollback()
    #expect(mine.speed == 50)
    (car.plate, car.speed) = ("2", 20)
    try child.save()
    #expect(mine.speed == 20 && mine.plate == "2")
    observation.cancel()
  }

  @Test("Transient values of an object that the child deletes do not reach the parent")
  func deleted() throws {
    let parent = try Sandbox(Car.self, Garage.self).container.newContext()
    let car = Car(context: parent)
    try parent.save()
    let child = parent.newChildContext()
    let copy = try #require(try child.existingObject(with: car.objectID) as? Car)
    copy.speed = 3
    child.delete(copy)
    try child.save()
    #expect(car.isDeleted && car.speed == 0)
    try parent.save()
  }
}

@Entity final class Wage: ManagedObject {
  var name: String?
  @Attribute(.minimum(0)) var amount: Int32?
  override class var validatedKeys: [String] { ["amount"] }
  override func validateValue(_ value: inout Any?, forKey key: String) throws {
    try super.validateValue(&value, forKey: key)
    guard key == "amount", let amount = value as? Int32 else { return }
    if amount > 100 { throw PerdureError.invalid(self, key, "must be at most 100") }
    if amount == 13 { value = Int32(14) }
  }
}

@Suite("Direct calls of validation functions")
struct ValidationByHandTests {
  private func refusals(_ body: () throws -> Void) -> [String] {
    do {
      try body()
      return []
    } catch {
      return (error as? PerdureError)?.details.map { "\($0.code.rawValue) \($0.rule)" } ?? ["\(error)"]
    }
  }

  @Test(
    "validateForInsert and validateForUpdate call validateValue and throw the errors of a save"
  )
  func asksClass() throws {
    let context = try Sandbox(Wage.self).container.newContext()
    let wage = Wage(context: context)
    wage.amount = 200
    #expect(refusals { try wage.validateForInsert() } == ["1550 must be at most 100"])
    #expect(refusals { try wage.validateForInsert() } == refusals { try context.save() })
    wage.amount = -1
    let declared = refusals { try wage.validateForInsert() }
    #expect(declared.count == 1 && declared == refusals { try context.save() })
    wage.amount = 13
    #expect(refusals { try wage.validateForInsert() }.isEmpty && wage.amount == 14)
    try context.save()
    #expect(refusals { try wage.validateForUpdate() }.isEmpty)
    wage.amount = 300
    #expect(refusals { try wage.validateForUpdate() } == ["1550 must be at most 100"])
    context.rollback()
    #expect(refusals { try wage.validateForUpdate() }.isEmpty)
  }
}
