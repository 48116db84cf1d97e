import FoundationEssentials
import Perdure
import PerdureModel
import Testing

@Entity class Sailor: ManagedObject {
  var name: String
  var wage: Double = 0
  @Relationship(inverse: "sailors") var ship: Freighter?

  @FetchTemplate(
    "wage > $least AND name BEGINSWITH $start", order: [FetchOrder("wage", ascending: false)], limit: 2)
  static func rich(least: Double, named start: String) -> FetchRequest<Sailor>

  @FetchTemplate("ship == $ship", order: [FetchOrder("name")])
  static func crew(of ship: Freighter?) -> FetchRequest<Sailor>

  @FetchTemplate static func sailors() -> FetchRequest<Sailor>
}

@Entity final class Captain: Sailor {
  @FetchTemplate("name IN $names") static func captains(_ names: [String]) -> FetchRequest<Captain>
}

@Entity final class Freighter: ManagedObject {
  var name: String
  @Relationship(inverse: "ship") var sailors: ToMany<Sailor>
}

@Suite("Fetch request templates of classes")
struct TemplateMacroTests {
  private func context() throws -> ManagedObjectContext {
    let container = try PersistentContainer(
      name: "Ships", classes: [Sailor.self, Captain.self, Freighter.self], description: .inMemory)
    try container.loadPersistentStores()
    return container.newContext()
  }

  @Test("A function makes a typed request from its parameters, and accepts nil as a value")
  func requests() throws {
    let context = try context()
    let ship = Freighter(context: context, name: "Argo")
    for (name, wage) in [("ada", 3.0), ("alan", 1), ("anna", 2), ("bob", 9)] {
      _ = Sailor(context: context, name: name, wage: wage, ship: name == "bob" ? nil : ship)
    }
    _ = Captain(context: context, name: "cid")
    #expect(try context.fetch(Sailor.rich(least: 0, named: "a")).map(\.name) == ["ada", "anna"])
    #expect(try context.fetch(Sailor.crew(of: ship)).map(\.name) == ["ada", "alan", "anna"])
    #expect(try context.fetch(Sailor.crew(of: nil)).map(\.name) == ["bob", "cid"])
    #expect(try context.count(for: Sailor.sailors()) == 5)
    #expect(try context.fetch(Captain.captains(["cid", "bob"])).map(\.name) == ["cid"])
  }

  @Test("The model of a container has the templates of its classes, with the types of their variables")
  func model() throws {
    let model = try context().managedObjectModel
    #expect(model.fetchRequestTemplates.map(\.name) == ["rich", "crew", "sailors", "captains"])
    #expect(
      model.fetchRequestTemplateVariables(forName: "rich")
        == ["least": .attribute(.double), "start": .attribute(.string)])
    let request = try model.fetchRequestFromTemplate(
      withName: "crew", substitutionVariables: ["ship": nil], as: Sailor.self)
    #expect(request.predicate == Sailor.crew(of: nil).predicate)
  }

  @Test("An error in the predicate of a class's template is an error of the model")
  func checked() {
    let error = #expect(throws: ModelError.self) {
      try PersistentContainer(name: "S", classes: [Raft.self], description: .inMemory)
    }
    #expect(error?.problems.map(\.message) == ["Raft has no property \"nmae\"."])
    #expect(error?.problems.map(\.property) == ["named"])
  }
}

@Entity final class Raft: ManagedObject {
  var name: String
  @FetchTemplate("nmae == $name") static func named(_ name: String) -> FetchRequest<Raft>
}
