import Perdure
import PerdureTestSupport
import Testing

@Entity private final class Depot: ManagedObject {
  @Relationship(inverse: "depot", deleteRule: .deny) var trucks: ToMany<Truck>
  @Relationship(inverse: "home", deleteRule: .noAction) var guests: ToMany<Truck>
  @Relationship(inverse: "depots", deleteRule: .deny) var routes: ToMany<Route>
}

@Entity private final class Truck: ManagedObject {
  @Relationship(inverse: "trucks") var depot: Depot?
  @Relationship(inverse: "guests") var home: Depot?
}

@Entity private final class Route: ManagedObject {
  @Relationship(inverse: "routes") var depots: ToMany<Depot>
}

/// The delete rules `.deny` and `.noAction` keep references to an object whose deletion is pending.
@Suite("Undo of references to an object that an earlier group has deleted")
struct UndoKeptReferenceTests {
  private let context: ManagedObjectContext
  private let manager = ContextUndoManager()
  private let (depot, other): (Depot, Depot)
  private let truck: Truck
  private let route: Route

  init() throws {
    let container = try PersistentContainer(
      name: "Depots", classes: [Depot.self, Truck.self, Route.self], description: .inMemory)
    try container.loadPersistentStores()
    context = container.newContext()
    (depot, other) = (Depot(context: context), Depot(context: context))
    (truck, route) = (Truck(context: context), Route(context: context))
    (truck.depot, truck.home) = (depot, depot)
    route.depots.insert(depot)
    try context.save()
    context.undoManager = manager
    context.undoGroup("Delete the depot") { context.delete(depot) }
  }

  /// Undoes both groups, redoes and undoes them again, and checks the links each time.
  private func check() throws {
    for _ in 0..<2 {
      try context.undo()
      #expect(throws: PerdureError.self) { try context.save() }
      try context.undo()
      #expect(truck.depot === depot && truck.home === depot && Array(route.depots) == [depot])
      #expect(Array(depot.trucks) == [truck] && Array(depot.routes) == [route] && !context.hasChanges)
      try context.redo()
      try context.redo()
    }
  }

  @Test("Two undos restore references that a later group has replaced", arguments: [false, true])
  func replaced(_ isNil: Bool) throws {
    context.undoGroup("Move") {
      (truck.depot, truck.home) = isNil ? (nil, nil) : (other, other)
      route.depots.remove(depot)
    }
    try check()
  }

  @Test("Two undos restore the references of objects that a later group has deleted")
  func deleted() throws {
    context.undoGroup("Delete the others") {
      context.delete(truck)
      context.delete(route)
    }
    try check()
  }

  /// After a save, the undo of the second group leaves the links out, and that of the first group
  /// restores them with the depot.
  ///
  /// - Parameter isRepeated: Whether the undo of the second group changes anything, so that this
  ///   undo can be redone.
  private func checkAfterSave(isRepeated: Bool = true) throws {
    try context.save()
    for _ in 0..<(isRepeated ? 2 : 1) {
      try context.undo()
      #expect(truck.depot == nil && truck.home == nil && route.depots.isEmpty)
      try context.save()
      try context.undo()
      #expect(truck.depot === depot && truck.home === depot && Array(route.depots) == [depot])
      #expect(Array(depot.trucks) == [truck] && Array(depot.routes) == [route])
      try context.save()
      try context.redo()
      if isRepeated { try context.redo() } else { #expect(!manager.canRedo) }
      try context.save()
    }
  }

  @Test("After a save, the undo of the deletion restores references that a later group has replaced")
  func replacedBeforeSave() throws {
    context.undoGroup("Move") {
      (truck.depot, truck.home) = (other, other)
      route.depots.remove(depot)
    }
    try checkAfterSave()
    #expect(truck.depot === other && truck.home === other)
  }

  @Test(
    "After a save, the undo of the deletion restores references of objects that a later group has deleted")
  func deletedBeforeSave() throws {
    context.undoGroup("Delete the others") {
      context.delete(truck)
      context.delete(route)
    }
    try checkAfterSave()
  }

  @Test("After a save, the undo of the deletion restores references that a later group has emptied")
  func emptiedBeforeSave() throws {
    context.undoGroup("Empty") {
      (truck.depot, truck.home) = (nil, nil)
      route.depots.remove(depot)
    }
    try checkAfterSave(isRepeated: false)
  }

  @Test("After a save, a new object and its reference to the deleted object are undone together")
  func insertedBeforeSave() throws {
    try context.undo()
    let new = context.undoGroup("Insert and link") {
      let new = Truck(context: context)
      new.depot = depot
      return new
    }
    context.undoGroup("Delete the depot") { context.delete(depot) }
    context.undoGroup("Delete the trucks") {
      context.delete(new)
      context.delete(truck)
      context.delete(route)
    }
    try context.save()
    for _ in 0..<2 { try context.undo() }
    #expect(new.depot === depot && truck.depot === depot)
    try context.undo()
    try context.save()
    #expect(try context.fetch(Truck.self) == [truck] && Array(depot.trucks) == [truck])
  }

  @Test("Two undos restore the reference of a deleted new object to a deleted object")
  func inserted() throws {
    try context.undo()
    let new = context.undoGroup("Insert") { Truck(context: context) }
    context.undoGroup("Link") { new.depot = depot }
    context.undoGroup("Delete the depot") { context.delete(depot) }
    context.undoGroup("Delete the new truck") { context.delete(new) }
    for _ in 0..<2 { try context.undo() }
    #expect(new.depot === depot)
  }
}
