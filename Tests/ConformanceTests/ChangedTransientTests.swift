import Perdure
import Testing

private struct Pair: Equatable { var left = 0 }
private struct Opaque { var number = 0 }
private final class Tool {}

@Entity private final class Desk: ManagedObject {
  var title: String?
  @Attribute(.transient) var zoom: Double = 1
  @Attribute(.transient) var tool: String?
  @Attribute(.transient) var pair: Pair = Pair()
  @Attribute(.transient) var opaque: Opaque?
  @Attribute(.transient) var held: Tool?
}

/// T1 and X2 of the reference: transient attributes among the changed values.
@Suite("What has changed of transient attributes")
struct ChangedTransientTests {
  private func desk() throws -> (ManagedObjectContext, Desk) {
    let context = try Sandbox(Desk.self).container.newContext()
    let desk = Desk(context: context)
    desk.title = "d"
    try context.save()
    return (context, desk)
  }

  private func names(_ desk: Desk) -> [String] { desk.changedValues().keys.sorted() }

  @Test("T1 Those that were set to something else since the last save have changed, and no others")
  func changed() throws {
    let (context, desk) = try desk()
    desk.tool = "pen"
    desk.pair = Pair(left: 1)
    #expect(names(desk) == ["pair", "tool"] && desk.changedValues()["pair"] as? Pair == Pair(left: 1))
    try context.save()
    #expect(names(desk).isEmpty)
    desk.zoom = 2
    #expect(names(desk) == ["zoom"] && desk.hasChanges && !desk.hasPersistentChangedValues)
    desk.zoom = 1
    #expect(names(desk).isEmpty && desk.isUpdated)
    desk.tool = nil
    #expect(names(desk) == ["tool"])
    desk.tool = "pen"
    #expect(names(desk).isEmpty)
    desk.zoom = 3
    context.rollback()
    #expect(names(desk).isEmpty)
    desk.tool = "brush"
    #expect(names(desk) == ["tool"])
  }

  @Test("T1 A default that was only read has not changed, and one that is set to itself has not either")
  func defaults() throws {
    let (_, desk) = try desk()
    desk.zoom = 2
    #expect(desk.pair == Pair() && names(desk) == ["zoom"])
    desk.pair = Pair()
    #expect(names(desk) == ["zoom"])
    desk.pair.left = 5
    #expect(names(desk) == ["pair", "zoom"])
  }

  @Test("T4 Instances are compared by identity; what cannot be compared counts as changed when it is set")
  func anything() throws {
    let (context, desk) = try desk()
    let tool = Tool()
    (desk.held, desk.opaque) = (tool, Opaque())
    #expect(names(desk) == ["held", "opaque"])
    try context.save()
    desk.held = tool
    #expect(names(desk).isEmpty)
    desk.held = Tool()
    desk.opaque = Opaque()
    #expect(names(desk) == ["held", "opaque"])
  }

  @Test("T1 An accessor by hand changes one between will and did; without them it is no change")
  func byHand() throws {
    let (context, desk) = try desk()
    desk.willChangeValue(forKey: "zoom")
    desk.setPrimitiveValue(4.0, forKey: "zoom")
    desk.didChangeValue(forKey: "zoom")
    desk.setPrimitiveValue("pen", forKey: "tool")
    #expect(names(desk) == ["zoom"] && desk.zoom == 4 && desk.tool == "pen")
    context.rollback()
    #expect(desk.zoom == 1)
  }

  @Test("T1 What has changed in the current event has none of them")
  func event() throws {
    let (_, desk) = try desk()
    desk.zoom = 2
    desk.title = "other"
    #expect(desk.changedValuesForCurrentEvent().keys.sorted() == ["title"])
  }
}
