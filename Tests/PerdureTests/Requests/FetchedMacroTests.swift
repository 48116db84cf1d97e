import Perdure
import PerdureModel
import Testing

@Entity final class Poet: ManagedObject {
  var name: String
  var least: Int = 0
  @Relationship(inverse: "poet") var poems: ToMany<Poem>
  @Fetched(
    "poet == $FETCH_SOURCE AND lines > $FETCH_SOURCE.least",
    order: [FetchOrder("lines", ascending: false)], limit: 2)
  var longest: [Poem]
  @Fetched("title BEGINSWITH $FETCHED_PROPERTY.userInfo.start", .cached, userInfo: ["start": "O"])
  var odes: [Poem]
}

@Entity final class Poem: ManagedObject {
  var title: String = ""
  @Attribute(.indexed) var lines: Int = 0
  @Relationship(inverse: "poems") var poet: Poet?
}

@Suite("Fetched properties of classes")
struct FetchedMacroTests {
  private func context() throws -> ManagedObjectContext {
    let container = try PersistentContainer(
      name: "Poems", classes: [Poet.self, Poem.self], description: .inMemory)
    try container.loadPersistentStores()
    return container.newContext()
  }

  @Test("The description of a class includes its fetched properties, which use no slots")
  func described() {
    let fetched = Poet.entityDescription.fetchedProperties
    #expect(fetched.map(\.name) == ["longest", "odes"])
    #expect(fetched.map(\.fetchRequest.entityName) == ["Poem", "Poem"])
    #expect(fetched.map(\.isCached) == [false, true])
    #expect(fetched.map(\.fetchRequest.fetchLimit) == [2, 0])
    #expect(Poet.entityDescription.properties.map(\.name) == ["name", "least", "poems"])
  }

  @Test("The variable of a fetched property returns typed objects, live or cached")
  func read() throws {
    let context = try context()
    let poet = Poet(context: context, name: "Pindar")
    for lines in [4, 9, 6] { _ = Poem(context: context, title: "Ode", lines: lines, poet: poet) }
    #expect(poet.longest.map(\.lines) == [9, 6])
    poet.least = 6
    #expect(poet.longest.map(\.lines) == [9])
    #expect(poet.odes.count == 3)
    _ = Poem(context: context, title: "Ode")
    #expect(poet.odes.count == 3)
    context.refresh(poet, mergeChanges: true)
    #expect(poet.odes.count == 4)
  }

  @Test("An error in the predicate of a class's fetched property is an error of the model")
  func checked() {
    let error = #expect(throws: ModelError.self) {
      try PersistentContainer(name: "P", classes: [Careless.self], description: .inMemory)
    }
    #expect(error?.problems.map(\.message) == ["Careless has no property \"nmae\"."])
  }
}

@Entity final class Careless: ManagedObject {
  var name: String
  @Fetched("nmae == $FETCH_SOURCE.name") var same: [Careless]
}
