import Foundation
import Perdure
import PerdureTestSupport
import Testing

private struct Colour: Equatable { var red = 0 }

@Entity private final class Sketch: ManagedObject {
  var title: String?
  @Attribute(.transient) var zoom: Double = 1
  @Attribute(.transient, .length(1...3)) var tool: String?
  @Attribute(.transient) var colour: Colour?
  @Attribute(.transient) var notes: [String] = ["new"]
  @Attribute(.transient) var partner: Sketch?
  @Relationship(inverse: "sketches") var folder: Folder?
}

@Entity private final class Folder: ManagedObject {
  @Relationship(inverse: "folder", deleteRule: .cascade) var sketches: ToMany<Sketch>
  @Attribute(.transient) var mark: Colour = Colour(red: 7)
}

/// Behaviours T1 to T5 of Core Data (README.md).
@Suite("Transient attributes")
struct TransientAttributeTests {
  private func stored(_ context: ManagedObjectContext) throws -> Sketch {
    let sketch = Sketch(context: context)
    sketch.title = "s"
    try context.save()
    return sketch
  }

  private func context() throws -> ManagedObjectContext {
    try Sandbox(Sketch.self, Folder.self).container.newContext()
  }

  @Test("T1 Transient attributes have values of any type, and their defaults until a value is set")
  func values() throws {
    let context = try context()
    let sketch = try stored(context)
    #expect(sketch.zoom == 1 && sketch.tool == nil && sketch.colour == nil && sketch.notes == ["new"])
    sketch.zoom = 2
    sketch.tool = "pen"
    sketch.colour = Colour(red: 3)
    sketch.notes.append("more")
    sketch.partner = sketch
    #expect(sketch.zoom == 2 && sketch.tool == "pen" && sketch.colour == Colour(red: 3))
    #expect(sketch.notes == ["new", "more"] && sketch.partner === sketch)
    sketch.partner = nil
    sketch.colour = nil
    #expect(sketch.colour == nil && sketch.partner == nil)
  }

  @Test("T1 Setting a transient attribute marks the object as updated, and a save writes nothing")
  func updated() throws {
    let sandbox = try Sandbox(Sketch.self, Folder.self)
    let context = sandbox.container.newContext()
    let sketch = try stored(context)
    #expect(!sketch.isUpdated && !context.hasChanges)
    let other = sandbox.container.newContext()
    let copy = try #require(try other.fetch(FetchRequest<Sketch>()).first)
    copy.title = "other"
    try other.save()
    sketch.zoom = 3
    #expect(sketch.isUpdated && context.hasChanges && context.updatedObjects == [sketch])
    // Meanwhile, another context has written the row. A save that writes nothing causes no
    // conflict.
    try context.save()
    #expect(!sketch.hasChanges && sketch.zoom == 3)
    context.refresh(sketch, mergeChanges: true)
    #expect(sketch.title == "other" && sketch.zoom == 3)
  }

  @Test("T1 Rules of transient attributes are checked by a save")
  func rules() throws {
    let context = try context()
    let sketch = try stored(context)
    sketch.tool = "brush"
    #expect(refusals(context) == ["1660 tool"])
    #expect(sketch.tool == "brush" && sketch.isUpdated)
    sketch.tool = "pen"
    #expect(refusals(context) == [])
  }

  @Test("T1 A required transient attribute must have a value")
  func required() throws {
    let model = try ManagedObjectModel([
      EntityDescription(
        "E", properties: [.string("a"), .transient("t", optional: false), .transient("n", .int16)])
    ])
    let context = try Sandbox(model).container.newContext()
    let object = context.insertNewObject(forEntityName: "E")
    #expect(refusals(context) == ["1570 t"])
    object["t"] = ["anything": 1]
    object["n"] = 7
    #expect(refusals(context) == [])
    #expect(object["t"] as? [String: Int] == ["anything": 1] && object["n"] as? Int16 == 7)
    object["t"] = nil
    #expect(refusals(context) == ["1570 t"])
  }

  @Test("T2 A refresh without merging discards values, and a merging refresh keeps values")
  func refreshes() throws {
    let context = try context()
    let sketch = try stored(context)
    sketch.zoom = 2
    sketch.title = "t"
    context.refresh(sketch, mergeChanges: true)
    #expect(sketch.zoom == 2 && sketch.title == "t")
    context.refresh(sketch, mergeChanges: false)
    #expect(sketch.zoom == 1 && sketch.title == "s" && !sketch.hasChanges)
    sketch.zoom = 2
    context.refreshAllObjects()
    #expect(sketch.zoom == 2 && sketch.isUpdated)
    try context.save()
    #expect(sketch.zoom == 2)
    context.refreshAllObjects()
    #expect(sketch.zoom == 1)
  }

  @Test("T2 A rollback restores the values of the last save, and a reset discards all values")
  func rollback() throws {
    let context = try context()
    let sketch = try stored(context)
    sketch.zoom = 2
    sketch.notes = ["kept"]
    try context.save()
    sketch.zoom = 3
    sketch.colour = Colour()
    sketch.notes = []
    context.rollback()
    #expect(sketch.zoom == 2 && sketch.colour == nil && sketch.notes == ["kept"] && !sketch.hasChanges)
    sketch.zoom = 4
    context.reset()
    #expect(sketch.managedObjectContext == nil && sketch.zoom == 1)
  }

  @Test("T2 Values are released with the instance")
  func instances() throws {
    final class Witness {}
    let model = try ManagedObjectModel([EntityDescription("E", properties: [.string("a"), .transient("t")])])
    let context = try Sandbox(model).container.newContext()
    weak var witness: Witness?
    let id: ManagedObjectID
    do {
      let object = context.insertNewObject(forEntityName: "E")
      let made = Witness()
      witness = made
      object["t"] = made
      id = object.objectID
      try context.save()
      #expect(object["t"] as? Witness === made)
    }
    #expect(witness == nil)
    #expect(context.object(with: id)["t"] == nil)
  }

  @Test("T2 An object that only a transient attribute retains is released with the attribute's owner")
  func chains() throws {
    let context = try context()
    var first: Sketch? = try stored(context)
    weak let second: Sketch? = {
      let second = Sketch(context: context)
      second.partner = Sketch(context: context)
      first?.partner = second
      return second
    }()
    try context.save()
    #expect(second != nil && first?.partner?.partner != nil)
    first = nil
    #expect(second == nil)
    #expect(context.registeredObjects.isEmpty)
  }

  @Test("T3 A fetch with a transient attribute in its predicate or sort descriptors throws an error")
  func fetches() throws {
    let sandbox = try Sandbox(Sketch.self, Folder.self)
    let context = sandbox.container.newContext()
    let sketch = try stored(context)
    let requests = [
      FetchRequest<Sketch>(predicate: try FetchPredicate(format: "zoom > 0")),
      FetchRequest<Sketch>(
        predicate: try FetchPredicate(
          format: "SUBQUERY(folder.sketches, $s, $s.tool == nil).@count > 0")),
      FetchRequest<Sketch>(sortDescriptors: [FetchOrder("colour")]),
    ]
    for request in requests {
      let error = #expect(throws: FetchError.self) { _ = try context.fetch(request) }
      #expect(error?.code == .transientAttribute, "\(String(describing: error))")
    }
    sketch.zoom = 5
    let all = try context.fetch(FetchRequest<Sketch>())
    #expect(all.filter { $0.zoom > 4 } == [sketch])
  }

  @Test("T4 A class can keep a copy of a transient value in a stored attribute")
  func shadow() throws {
    let context = try context()
    let sketch = try stored(context)
    sketch.colour = Colour(red: 9)
    sketch.title = sketch.colour.map { "\($0.red)" }
    try context.save()
    context.refresh(sketch, mergeChanges: false)
    #expect(sketch.colour == nil && sketch.title == "9")
  }

  @Test("A new object keeps its transient values until its insertion is rolled back")
  func inserted() throws {
    let context = try context()
    let sketch = Sketch(context: context)
    sketch.zoom = 8
    #expect(sketch.zoom == 8 && sketch.isInserted)
    context.rollback()
    #expect(sketch.managedObjectContext == nil && sketch.zoom == 1)
  }

  @Test("A transient value that is set after a saved deletion is not kept, and the next save refuses it")
  func gone() throws {
    let context = try context()
    let sketch = try stored(context)
    context.delete(sketch)
    try context.save()
    sketch.zoom = 8
    #expect(sketch.zoom == 1 && refusals(context) == ["133000 zoom"])
    #expect(refusals(context).isEmpty && !context.hasChanges)
  }

  /// Opens the store of folders and leaves, with these rules for the size of a leaf.
  private func folder(
    in directory: TemporaryDirectory, _ rules: [ValidationRule]
  ) throws -> PersistentContainer {
    let model = try ManagedObjectModel([
      EntityDescription("Folder", properties: [.toMany("leaves", "Leaf", inverse: "folder")]),
      EntityDescription(
        "Leaf",
        properties: [
          .toOne("folder", "Folder", inverse: "leaves"), .int64("size", rules: rules),
          .transient("mark", .string, optional: false), .transient("any", optional: false),
        ]),
    ])
    let container = PersistentContainer(name: "F", model: model, at: directory.file("f.perdure"))
    try container.loadPersistentStores()
    return container
  }

  private func objects(_ entity: String, _ context: ManagedObjectContext) throws -> [ManagedObject] {
    try context.fetch(FetchRequest<ManagedObject>(entityName: entity))
  }

  @Test(
    "An object that a delete rule changes is validated in the same way with and without an instance",
    arguments: [false, true])
  func nullified(isRegistered: Bool) throws {
    let directory = try TemporaryDirectory()
    let before = try folder(in: directory, [])
    let making = before.newContext()
    let (top, leaf) = (
      making.insertNewObject(forEntityName: "Folder"), making.insertNewObject(forEntityName: "Leaf")
    )
    leaf["size"] = 7
    leaf["folder"] = top
    #expect(refusals(making) == ["1570 mark", "1570 any"])
    leaf["mark"] = "m"
    leaf["any"] = [1]
    try making.save()
    try before.close()
    let container = try folder(in: directory, [.maximum(5)])
    let context = container.newContext()
    context.delete(try #require(try objects("Folder", context).first))
    let held = isRegistered ? try objects("Leaf", context).first : nil
    #expect(refusals(context) == ["1610 size"])
    #expect(context.registeredObjects.contains { $0.entity.name == "Leaf" } == isRegistered)
    // Required transient attributes of fetched objects also do not prevent other changes.
    let leaves = try objects("Leaf", context)
    #expect(held == nil || leaves == [held])
    try #require(leaves.first)["size"] = 5
    #expect(refusals(context) == [])
    try container.close()
  }

  @Test("A required transient attribute is checked in new objects, and after transient changes")
  func requiredLater() throws {
    let model = try ManagedObjectModel([
      EntityDescription("E", properties: [.string("a"), .transient("t", optional: false), .transient("u")])
    ])
    let sandbox = try Sandbox(model)
    let making = sandbox.container.newContext()
    making.insertNewObject(forEntityName: "E")["t"] = 1
    try making.save()
    let context = sandbox.container.newContext()
    let object = try #require(try objects("E", context).first)
    object["a"] = "changed"
    #expect(refusals(context) == [])
    object["u"] = 1
    #expect(refusals(context) == ["1570 t"])
    object["t"] = 1
    #expect(refusals(context) == [])
  }

  @Test("In a read-only store, only transient changes can be saved")
  func readOnly() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/s.perdure"
    let writer = try PersistentContainer(
      name: "w", classes: [Sketch.self, Folder.self], description: .init(path: path))
    try writer.loadPersistentStores()
    _ = try stored(writer.newContext())
    let reader = try PersistentContainer(
      name: "r", classes: [Sketch.self, Folder.self], description: .init(path: path, isReadOnly: true))
    try reader.loadPersistentStores()
    let context = reader.newContext()
    let sketch = try #require(try context.fetch(FetchRequest<Sketch>()).first)
    sketch.zoom = 2
    sketch.tool = "brush"
    #expect(refusals(context) == ["1660 tool"])
    sketch.tool = nil
    try context.save()
    #expect(!context.hasChanges && sketch.zoom == 2)
    sketch.title = "x"
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .saveFailed)
    context.rollback()
    #expect(sketch.zoom == 2)
    try reader.close()
    try writer.close()
  }

  @Test("Models that differ only in transient attributes open the same store")
  func storage() throws {
    let directory = try TemporaryDirectory()
    let versions: [[PropertyDescription]] = [
      [.string("a"), .transient("t"), .int64("b")], [.string("a"), .int64("b")],
      [.transient("u", .string, default: "d"), .string("a"), .int64("b")],
    ]
    for (number, properties) in versions.enumerated() {
      let model = try ManagedObjectModel([EntityDescription("E", properties: properties)])
      let container = PersistentContainer(name: "E", model: model, at: directory.file("e.perdure"))
      try container.loadPersistentStores()
      let context = container.newContext()
      let request = FetchRequest<ManagedObject>(entityName: "E", sortDescriptors: [FetchOrder("b")])
      let found = try context.fetch(request)
      #expect(found.map { $0["b"] as? Int } == Array(0..<number))
      #expect(found.allSatisfy { $0["a"] as? String == "a" })
      let object = context.insertNewObject(forEntityName: "E")
      object["a"] = "a"
      object["b"] = number
      if number == 2 { object["u"] = "x" }
      try context.save()
      try container.close()
    }
  }
}
