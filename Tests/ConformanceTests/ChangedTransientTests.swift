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

/// Behaviours T1, T3 and T4 of Core Data (README.md): changes of transient attributes.
@Suite("Changes of transient attributes")
struct ChangedTransientTests {
  private func desk() throws -> (ManagedObjectContext, Desk) {
    let context = try Sandbox(Desk.self).container.newContext()
    let desk = Desk(context: context)
    desk.title = "d"
    try context.save()
    return (context, desk)
  }

  private func names(_ desk: Desk) -> [String] { desk.changedValues().keys.sorted() }

  @Test("T1 changedValues lists transient attributes that differ from the last save")
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

  @Test("T1 Reading a default, or setting an attribute to its default, is not a change")
  func defaults() throws {
    let (_, desk) = try desk()
    desk.zoom = 2
    #expect(desk.pair == Pair() && names(desk) == ["zoom"])
    desk.pair = Pair()
    #expect(names(desk) == ["zoom"])
    desk.pair.left = 5
    #expect(names(desk) == ["pair", "zoom"])
  }

  @Test(
    "T4 Instances compare by identity, and setting a value of a type without equality is a change")
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

  @Test("T1 A manual accessor records a change only between willChangeValue and didChangeValue")
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

  @Test("T1 changedValuesForCurrentEvent has transient attributes with their values before the event")
  func event() throws {
    let (context, desk) = try desk()
    func event() -> [String: Any?] { desk.changedValuesForCurrentEvent() }
    #expect(event().isEmpty)
    let tool = Tool()
    (desk.zoom, desk.held, desk.tool) = (2, tool, nil)
    #expect(event().keys.sorted() == ["held", "zoom"])
    #expect(event()["zoom"] as? Double == 1 && event()["held"].map { $0 == nil } == true)
    desk.title = "other"
    #expect(event().keys.sorted() == ["held", "title", "zoom"] && event()["title"] as? String == "d")
    context.processPendingChanges()
    #expect(event().isEmpty && names(desk) == ["held", "title", "zoom"])
    (desk.zoom, desk.held) = (3, nil)
    #expect(event().keys.sorted() == ["held", "zoom"])
    #expect(event()["zoom"] as? Double == 2 && event()["held"] as? Tool === tool)
    (desk.zoom, desk.held) = (2, tool)
    #expect(event().isEmpty)
    desk.zoom = 4
    try context.save()
    #expect(event().isEmpty && names(desk).isEmpty)
    desk.zoom = 5
    #expect(event()["zoom"] as? Double == 4)
    context.rollback()
    #expect(event().isEmpty && desk.zoom == 4)
  }

  @Test("T3 Values that are retained for an event are released at the end of the event")
  func released() throws {
    final class Witness {
      let ends: () -> Void
      init(_ ends: @escaping () -> Void) { self.ends = ends }
      deinit { ends() }
    }
    let model = try ManagedObjectModel([
      EntityDescription("E", properties: [.string("a"), .transient("t"), .transient("u")])
    ])
    let context = try Sandbox(model).container.newContext()
    let object = context.insertNewObject(forEntityName: "E")
    var ended = 0
    object["t"] = Witness { [unowned object] in
      ended += 1
      object["u"] = ended
      _ = object.changedValuesForCurrentEvent()
    }
    try context.save()
    object["t"] = nil
    try context.save()
    #expect(ended == 1 && object["u"] as? Int == 1 && context.hasChanges)
    object["t"] = Witness { [unowned object] in
      ended += 1
      object["u"] = ended
    }
    context.processPendingChanges()
    object["t"] = nil
    #expect(ended == 1 && object.changedValuesForCurrentEvent()["t"] as? Witness != nil)
    context.processPendingChanges()
    #expect(ended == 2 && object["u"] as? Int == 2)
    #expect(object.changedValuesForCurrentEvent().keys.sorted() == ["u"])
  }
}
