import PerdureModel
import Testing

@testable import Perdure

/// Stores its description in a static variable that reads the description of `Asked`.
private final class Asking: ManagedObject {
  static let kept = EntityDescription(
    "Asking", properties: [.toOne("other", Asked.entityDescription.name, inverse: "other")])
  override class var entityDescription: EntityDescription { kept }
}

private final class Asked: ManagedObject {
  static let kept = EntityDescription(
    "Asked", properties: [.toOne("other", Asking.entityDescription.name, inverse: "other")])
  override class var entityDescription: EntityDescription { kept }
}

/// Reads its own description to create that description.
private final class Endless: ManagedObject {
  override class var entityDescription: EntityDescription {
    var description = EntityDescription(from: Endless.self)
    description.properties.append(.string("name"))
    return description
  }
}

/// Reads its own description through another class.
private final class First: ManagedObject {
  override class var entityDescription: EntityDescription { EntityDescription(from: Second.self) }
}

private final class Second: ManagedObject {
  override class var entityDescription: EntityDescription { EntityDescription(from: First.self) }
}

private final class Plain: ManagedObject {}
private final class Stranger: ManagedObject {}
@Entity private final class Other: ManagedObject { var name: String = "" }

/// A class that compiles, but whose property has no description.
@Entity private final class Given: ManagedObject { var other: Other? = .none }

@Suite("Reading class descriptions")
struct ClassDescriptionTests {
  private func said(_ result: ExitTest.Result?) -> String {
    String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
  }

  @Test("Descriptions in static variables that read each other stop the program with a message")
  func waiting() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      DescriptionWatch.$checkCount.withValue(5) {
        _ = try? PersistentContainer(
          name: "x", classes: [Asking.self, Asked.self], description: .inMemory)
      }
    }
    #expect(said(result).contains("The descriptions of Asking, Asked do not return."), "\(said(result))")
  }

  @Test("A description that reads itself stops the program with a message, not a stack overflow")
  func recursion() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Endless.entityDescription
    }
    #expect(said(result).contains("The description of Endless calls itself"), "\(said(result))")
    let around = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = First.entityDescription
    }
    #expect(said(around).contains("calls itself"), "\(said(around))")
  }

  @Test("A property without a description stops the program with the property's name")
  func dropped() async {
    let given = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Given.entityDescription
    }
    #expect(said(given).contains("other is not added: "), "\(said(given))")
  }

  @Test("Creating a container whose classes have no entity throws an error with their names")
  func noEntity() throws {
    let error = #expect(throws: ModelError.self) {
      try PersistentContainer(name: "x", classes: [Plain.self], description: .inMemory)
    }
    #expect(error?.code == .invalidModel && error?.message.contains("Plain") == true)
    let none = try PersistentContainer(name: "x", classes: [], description: .inMemory)
    #expect(none.managedObjectModel.entities.isEmpty)
  }

  @Test("The message says that a class has no entity, and does not say that the container lacks the class")
  func given() throws {
    let container = try PersistentContainer(
      name: "x", classes: [Plain.self, Other.self], description: .inMemory)
    try container.loadPersistentStores()
    let graph = container.newContext().core.graph
    #expect(graph.complaint(about: Plain.self).hasPrefix("Plain has no entity: mark it with @Entity"))
    #expect(graph.complaint(about: Stranger.self).hasPrefix("Stranger is not among the classes"))
  }
}
