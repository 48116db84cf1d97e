import Perdure
import Testing

@Entity private class Animal: ManagedObject {
  @Attribute(.indexed) var name: String
  var isTame: Bool = false
}

@Entity private final class Dog: Animal {
  var weight: Double = 1
}

@Suite("Fetching by class")
struct ClassFetchTests {
  private func context() throws -> ManagedObjectContext {
    let container = try PersistentContainer(
      name: "Animals", classes: [Animal.self, Dog.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    for (name, isTame) in [("c", true), ("a", false), ("b", true)] {
      _ = Animal(context: context, name: name, isTame: isTame)
    }
    try context.save()
    let dog = Dog(context: context, weight: 9)
    dog.name = "d"
    return context
  }

  @Test("A fetch by class returns all objects, including unsaved objects and those of subentities")
  func all() throws {
    let context = try context()
    let animals = try context.fetch(Animal.self)
    #expect(Set(animals.map(\.name)) == ["a", "b", "c", "d"])
    #expect(try context.fetch(Dog.self).map(\.weight) == [9])
    let kind: Animal.Type = Dog.self
    #expect(try context.fetch(kind).count == context.fetch(Animal.self).count)
  }

  @Test("A fetch by class accepts a query, sort descriptors and a limit")
  func parts() throws {
    let context = try context()
    let order = [FetchOrder(\Animal.name)]
    #expect(try context.fetch(Animal.self, order: order).map(\.name) == ["a", "b", "c", "d"])
    #expect(try context.fetch(Animal.self, order: order, limit: 2).map(\.name) == ["a", "b"])
    #expect(try context.fetch(Animal.self, order: order) { $0.isTame }.map(\.name) == ["b", "c"])
    #expect(try context.fetch(Animal.self, order: order) { !$0.isTame }.map(\.name) == ["a", "d"])
    #expect(try context.fetch(Animal.self, order: order, limit: 1) { $0.name > "a" }.map(\.name) == ["b"])
    #expect(try context.fetch(Dog.self) { $0.name == "d" && $0.weight > 1 }.count == 1)
    let predicate = try FetchPredicate(format: "name IN %@", ["a", "d"])
    #expect(try context.fetch(Animal.self, predicate: predicate, order: order).map(\.name) == ["a", "d"])
  }

  @Test("A limit below 0 is an error of the fetch")
  func mistakes() throws {
    let context = try context()
    #expect(throws: FetchError.self) { try context.fetch(Animal.self, limit: -1) }
  }
}
