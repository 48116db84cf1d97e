import PerdureModel
import Testing

@testable import Perdure

/// Each keeps its description, and asks the other one for its name.
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

/// Makes its description from itself.
private final class Endless: ManagedObject {
  override class var entityDescription: EntityDescription {
    var description = EntityDescription(from: Endless.self)
    description.properties.append(.string("name"))
    return description
  }
}

/// Asks by way of another class.
private final class First: ManagedObject {
  override class var entityDescription: EntityDescription { EntityDescription(from: Second.self) }
}

private final class Second: ManagedObject {
  override class var entityDescription: EntityDescription { EntityDescription(from: First.self) }
}

private final class Plain: ManagedObject {}
private final class Stranger: ManagedObject {}
@Entity private final class Other: ManagedObject { var name: String = "" }

@Suite("Classes are asked for their descriptions")
struct ClassDescriptionTests {
  private func said(_ result: ExitTest.Result?) -> String {
    String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
  }

  @Test("Descriptions in static variables that ask for each other stop the program with the reason")
  func waiting() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      DescriptionWatch.$looks.withValue(5) {
        _ = try? PersistentContainer(
          name: "x", classes: [Asking.self, Asked.self], description: .inMemory)
      }
    }
    #expect(said(result).contains("The descriptions of Asking, Asked do not come."), "\(said(result))")
  }

  @Test("A description that is made from itself stops the program with the reason, and not its stack")
  func recursion() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Endless.entityDescription
    }
    #expect(said(result).contains("The description of Endless asks for itself"), "\(said(result))")
    let around = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = First.entityDescription
    }
    #expect(said(around).contains("asks for itself"), "\(said(around))")
  }

  @Test("A container whose classes all lack an entity is refused, with their names")
  func noEntity() throws {
    let error = #expect(throws: ModelError.self) {
      try PersistentContainer(name: "x", classes: [Plain.self], description: .inMemory)
    }
    #expect(error?.code == .invalidModel && error?.message.contains("Plain") == true)
    let none = try PersistentContainer(name: "x", classes: [], description: .inMemory)
    #expect(none.managedObjectModel.entities.isEmpty)
  }

  @Test("Of a class without an entity that a container was given no message says that it was not given")
  func given() throws {
    let container = try PersistentContainer(
      name: "x", classes: [Plain.self, Other.self], description: .inMemory)
    try container.loadPersistentStores()
    let graph = container.newContext().core.graph
    #expect(graph.complaint(about: Plain.self).hasPrefix("Plain has no entity: mark it with @Entity"))
    #expect(graph.complaint(about: Stranger.self).hasPrefix("Stranger is not among the classes"))
  }
}
