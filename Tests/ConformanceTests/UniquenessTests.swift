import Foundation
import Perdure
import PerdureTestSupport
import Testing

/// Behaviours M11, C11 and C12 of Core Data (README.md): uniqueness constraints.
@Suite("Uniqueness constraints of models")
struct UniquenessTests {
  /// A person has a unique number, and a name that is unique in a town. A member also has a unique
  /// badge, and a nickname that is unique among the members of a town.
  private static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel([
      EntityDescription(
        "Someone", properties: [.int64("number"), .string("name"), .string("town"), .string("nick")],
        uniquenessConstraints: [["number"], ["name", "town"]]),
      EntityDescription("Guest", superentity: "Someone", properties: [.date("until")]),
      EntityDescription(
        "Member", superentity: "Someone", properties: [.uuid("badge")],
        uniquenessConstraints: [["badge"], ["town", "nick"]]),
    ])
  }

  private func container() throws -> PersistentContainer { try Sandbox(Self.model()).container }

  /// The violated constraints of a save: the attributes of each constraint, the objects that share
  /// the values, and the values.
  private func refusal(
    _ context: ManagedObjectContext
  ) throws -> [(constraint: [String], objects: Set<ManagedObjectID>, values: [Value])] {
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .constraintConflict && error?.code.rawValue == 133_021)
    return try #require(error).conflicts.compactMap { conflict in
      guard case .duplicate(let constraint, let existing) = conflict.kind else { return nil }
      return (constraint, [existing, conflict.objectID], conflict.values)
    }
  }

  @discardableResult private func make(
    _ entity: String, _ context: ManagedObjectContext, _ values: [String: Any]
  ) -> ManagedObject {
    let object = context.insertNewObject(forEntityName: entity)
    for (key, value) in values { object[key] = value }
    return object
  }

  @discardableResult private func make(
    _ context: ManagedObjectContext, _ values: [String: Any]
  ) -> ManagedObject {
    make("Someone", context, values)
  }

  @Test("C11 Only a save checks constraints, and its error 133021 names both objects")
  func oneContext() throws {
    let context = try container().newContext()
    let pair = [make(context, ["number": 7]), make(context, ["number": 7])]
    #expect(try context.fetch(FetchRequest<ManagedObject>(entityName: "Someone")).count == 2)
    try context.validate()
    let found = try refusal(context)
    #expect(!found.isEmpty)
    for report in found {
      #expect(report.constraint == ["number"] && report.values == [.integer(7)])
      #expect(report.objects == Set(pair.map(\.objectID)))
    }
    #expect(context.insertedObjects.count == 2)
    pair[1]["number"] = 8
    try context.save()
  }

  @Test("C12 The error names the stored object, whichever context saved it")
  func store() throws {
    let container = try container()
    let first = container.newContext()
    let saved = make(first, ["number": 7])
    try first.save()
    let second = container.newContext()
    let late = make(second, ["number": 7])
    #expect(try refusal(second).first?.objects == [saved.objectID, late.objectID])
    second.rollback()
    let changed = make(second, ["number": 8])
    try second.save()
    changed["number"] = 7
    #expect(try refusal(second).first?.objects == [saved.objectID, changed.objectID])
  }

  @Test("M11 A constraint over several attributes does not apply to objects with a nil value")
  func severalAttributes() throws {
    let context = try container().newContext()
    make(context, ["name": "Ada", "town": "Rome"])
    make(context, ["name": "Ada", "town": "Oslo"])
    make(context, ["name": "Bob", "town": "Rome"])
    for _ in 0..<2 { make(context, ["name": "Ada"]) }
    for _ in 0..<2 { make(context, ["town": "Rome"]) }
    for _ in 0..<2 { make(context, [:]) }
    try context.save()
    make(context, ["name": "Ada", "town": "Rome"])
    let found = try refusal(context)
    #expect(found.map(\.constraint) == [["name", "town"]])
    #expect(found.first?.values == [.string("Ada"), .string("Rome")])
  }

  @Test("M11 A constraint includes all subentities of its entity")
  func inherited() throws {
    let context = try container().newContext()
    let three = ["Someone", "Guest", "Member"].map { make($0, context, ["number": 1]) }
    #expect(try refusal(context).allSatisfy { $0.constraint == ["number"] })
    for (number, object) in three.enumerated() { object["number"] = number }
    try context.save()
    let guest = make("Guest", context, ["number": 2])
    #expect(try refusal(context).first?.objects == [three[2].objectID, guest.objectID])
  }

  @Test("M11 A subentity may add constraints, even over inherited attributes")
  func extended() throws {
    let context = try container().newContext()
    let badge = UUID()
    let first = make("Member", context, ["badge": badge, "number": 1, "town": "Rome", "nick": "A"])
    try context.save()
    let second = make("Member", context, ["badge": badge, "number": 2, "town": "Rome", "nick": "B"])
    let found = try refusal(context)
    #expect(found.map(\.constraint) == [["badge"]])
    #expect(found.first?.objects == [first.objectID, second.objectID])
    #expect(found.first?.values == [.uuid(badge)])
    (second["badge"], second["nick"]) = (UUID(), "A")
    let inherited = try refusal(context)
    #expect(inherited.map(\.constraint) == [["town", "nick"]])
    #expect(inherited.first?.objects == [first.objectID, second.objectID])
    #expect(inherited.first?.values == [.string("Rome"), .string("A")])
    second["nick"] = "B"
    // A subentity's additional constraint does not apply to other entities: these objects have the
    // town and the nickname of the first member.
    for (number, entity) in ["Guest", "Guest", "Someone", "Someone"].enumerated() {
      make(entity, context, ["number": 3 + number, "town": "Rome", "nick": "A"])
    }
    try context.save()
  }

  @Test("M11 Every violated constraint of a hierarchy is reported with both objects")
  func several() throws {
    let context = try container().newContext()
    let badge = UUID()
    let values: [String: Any] = [
      "number": 1, "name": "Ada", "town": "Rome", "nick": "A", "badge": badge,
    ]
    let pair = [make("Member", context, values), make("Member", context, values)]
    let found = try refusal(context)
    #expect(
      Set(found.map(\.constraint)) == [["number"], ["name", "town"], ["badge"], ["town", "nick"]])
    for report in found { #expect(report.objects == Set(pair.map(\.objectID))) }
  }

  @Test("C11 One save can exchange values, and reuse the values of a deleted object")
  func exchange() throws {
    let context = try container().newContext()
    let (first, second) = (make(context, ["number": 1]), make("Guest", context, ["number": 2]))
    try context.save()
    (first["number"], second["number"]) = (2, 1)
    try context.save()
    context.delete(first)
    make("Member", context, ["number": 2])
    try context.save()
  }

  @Test("M11 A constraint over properties other than stored attributes is a model error")
  func modelErrors() throws {
    for name in ["friend", "friends", "count", "passing", "missing"] {
      let error = #expect(throws: ModelError.self) {
        _ = try ManagedObjectModel([
          EntityDescription(
            "Someone",
            properties: [
              .string("name"), .transient("passing", .string), .derived("count", "friends.@count"),
              .toOne("friend", "Someone", inverse: "friends"),
              .toMany("friends", "Someone", inverse: "friend"),
            ], uniquenessConstraints: [["name", name]])
        ])
      }
      let problem = try #require(error?.problems.first { $0.rule == .constraintProperty })
      #expect(problem.entity == "Someone" && problem.message.contains("\"\(name)\""))
      #expect(!problem.remedy.isEmpty)
    }
  }

  @Test("M11 Constraints are part of the version hash, and changed constraints fail with 134100")
  func versionHash() throws {
    let model = try Self.model()
    var entities = model.entities
    entities[0].uniquenessConstraints = [["number"]]
    let other = try ManagedObjectModel(entities)
    #expect(model.versionHash != other.versionHash)
    let directory = try TemporaryDirectory()
    func open(_ model: ManagedObjectModel) throws -> PersistentContainer {
      let container = PersistentContainer(
        name: "People", model: model, description: .init(path: directory.file("people.perdure")))
      try container.loadPersistentStores()
      return container
    }
    try open(model).close()
    let error = #expect(throws: PerdureError.self) { _ = try open(other) }
    #expect(error?.code == .incompatibleModel && error?.code.rawValue == 134_100)
    #expect((error?.cause as? ModelError)?.differences.map(\.kind) == [.constraintsChanged])
  }
}
