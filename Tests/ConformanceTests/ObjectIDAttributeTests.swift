import Foundation
import Perdure
import PerdureTestSupport
import Testing

@Entity private final class Page: ManagedObject {
  var title: String
  @Attribute(.indexed) var lastSeen: ManagedObjectID?
  @Attribute(.transient) var origin: ManagedObjectID?
}

@Entity private final class Reader: ManagedObject {
  var name: String?
}

/// Behaviour A2 of Core Data (README.md): attributes of the type object id (type 2000).
@Suite("Attributes of the type object id")
struct ObjectIDAttributeTests {
  private func context() throws -> ManagedObjectContext {
    try Sandbox(Page.self, Reader.self).container.newContext()
  }

  private func page(_ title: String, _ id: ManagedObjectID?, _ context: ManagedObjectContext) -> Page {
    let page = Page(context: context)
    page.title = title
    page.lastSeen = id
    return page
  }

  private func titles(
    _ context: ManagedObjectContext, _ query: (EntityRef<Page>) -> FetchPredicate
  ) throws -> [String] {
    try context.fetch(FetchRequest<Page>(where: query)).map(\.title).sorted()
  }

  @Test("An id attribute keeps its value before and after a save, and in other contexts")
  func roundTrip() throws {
    let sandbox = try Sandbox(Page.self, Reader.self)
    let context = sandbox.container.newContext()
    let reader = Reader(context: context)
    let page = page("a", reader.objectID, context)
    #expect(page.lastSeen == reader.objectID)
    page.setValue(page.objectID, forKey: "lastSeen")
    #expect(page.value(forKey: "lastSeen") as? ManagedObjectID == page.objectID)
    page.setValue(reader, forKey: "lastSeen")
    #expect(page.lastSeen == reader.objectID)
    #expect(page.changedValues()["lastSeen"] as? ManagedObjectID == reader.objectID)
    page.origin = reader.objectID
    try context.save()
    #expect(page.lastSeen == reader.objectID && page.origin == reader.objectID)
    #expect(page.committedValues(forKeys: ["lastSeen"])["lastSeen"] as? ManagedObjectID == reader.objectID)
    let other = sandbox.container.newContext()
    let same = try #require(try other.fetch(FetchRequest<Page>()).first)
    #expect(same.lastSeen == reader.objectID && same.origin == nil)
    #expect("\(same)".contains("lastSeen = Reader/p\(reader.objectID.uri.split(separator: "p").last ?? "")"))
    let id = try #require(same.lastSeen)
    #expect(try other.existingObject(with: id) is Reader)
    same.lastSeen = nil
    #expect(same.lastSeen == nil)
    try other.save()
    #expect(try titles(sandbox.container.newContext()) { $0.lastSeen == nil } == ["a"])
  }

  @Test(
    "The id of a new object can be saved in an attribute before the object is saved")
  func newObjects() throws {
    let sandbox = try Sandbox(Page.self, Reader.self)
    let context = sandbox.container.newContext()
    let readers = sandbox.container.newContext()
    let (reader, never) = (Reader(context: readers), Reader(context: readers))
    _ = (page("a", reader.objectID, context), page("b", never.objectID, context))
    try context.save()
    readers.delete(never)
    try readers.save()
    let other = sandbox.container.newContext()
    let pages = try other.fetch(FetchRequest<Page>()).sorted { $0.title < $1.title }
    #expect(pages.map(\.lastSeen) == [reader.objectID, never.objectID])
    #expect(try other.existingObject(with: #require(pages[0].lastSeen)) is Reader)
    #expect(throws: PerdureError.self) { try other.existingObject(with: #require(pages[1].lastSeen)) }
  }

  @Test("An id attribute keeps its value when the object of the id is deleted")
  func deleted() throws {
    let context = try context()
    let reader = Reader(context: context)
    let page = page("a", reader.objectID, context)
    try context.save()
    let id = reader.objectID
    context.delete(reader)
    try context.save()
    #expect(page.lastSeen == id && !page.isUpdated)
    #expect(throws: PerdureError.self) { try context.existingObject(with: id) }
    page.title = "b"
    try context.save()
    #expect(page.lastSeen == id)
  }

  @Test("A save rejects ids of other stores and ids of unknown entities")
  func strangers() throws {
    let context = try context()
    let stranger = Reader(context: try self.context()).objectID
    let page = page("a", stranger, context)
    #expect(page.lastSeen == stranger)
    #expect(refusals(context) == ["1550 lastSeen"])
    #expect(try titles(context) { $0.lastSeen == nil } == ["a"])
    let unknown = try #require(
      ManagedObjectID(uri: page.objectID.uri.replacingOccurrences(of: "/Page/", with: "/Nobody/")))
    page.lastSeen = unknown
    #expect(refusals(context) == ["1550 lastSeen"])
    var value: Any? = unknown
    #expect(throws: PerdureError.self) { try page.validateValue(&value, forKey: "lastSeen") }
    page.lastSeen = page.objectID
    #expect(refusals(context) == [])
    page.lastSeen = stranger
    #expect(refusals(context) == ["1550 lastSeen"])
    context.rollback()
    #expect(page.lastSeen == page.objectID)
  }

  @Test("Predicates compare ids by ==, IN and nil, before and after a save")
  func predicates() throws {
    let context = try context()
    let (first, second) = (Reader(context: context), Reader(context: context))
    for (title, id) in [("a", first.objectID), ("b", second.objectID), ("c", first.objectID), ("d", nil)] {
      _ = page(title, id, context)
    }
    for _ in 0..<2 {
      #expect(try titles(context) { $0.lastSeen == first.objectID } == ["a", "c"])
      #expect(try titles(context) { $0.lastSeen != first.objectID } == ["b", "d"])
      #expect(try titles(context) { $0.lastSeen == nil } == ["d"])
      #expect(try titles(context) { $0.lastSeen != nil } == ["a", "b", "c"])
      let among = try FetchPredicate(format: "lastSeen IN %@", [second.objectID, first.objectID])
      #expect(try context.count(for: FetchRequest<Page>(predicate: among)) == 3)
      let same = try FetchPredicate(format: "lastSeen == %@", second)
      #expect(try context.fetch(FetchRequest<Page>(predicate: same)).map(\.title) == ["b"])
      try context.save()
    }
    let request = FetchRequest<Page> { $0.lastSeen == first.objectID }
    #expect(try context.explain(request).contains("lastSeen"))
    let stranger = Reader(context: try self.context()).objectID
    #expect(throws: FetchError.self) { try titles(context) { $0.lastSeen == stranger } }
    #expect(throws: FetchError.self) {
      try context.fetch(FetchRequest<Page>(predicate: FetchPredicate(format: "lastSeen == 'x'")))
    }
  }

  @Test("A sort descriptor on ids sorts by entity and then by order of insertion, with nil first")
  func orders() throws {
    let context = try context()
    let readers = (0..<3).map { _ in Reader(context: context) }
    for (title, number) in [("c", 2), ("a", 0), ("b", 1)] {
      _ = page(title, readers[number].objectID, context)
    }
    _ = page("-", nil, context)
    for _ in 0..<2 {
      let up = FetchRequest<Page>(sortDescriptors: [FetchOrder(\Page.lastSeen)])
      #expect(try context.fetch(up).map(\.title) == ["-", "a", "b", "c"])
      try context.save()
    }
  }

  @Test("Snapshots contain ids as values, and their JSON restores the ids")
  func snapshots() throws {
    let context = try context()
    let reader = Reader(context: context)
    let page = page("a", reader.objectID, context)
    let snapshot = try page.snapshot()
    #expect(snapshot["lastSeen"]?.value == .objectID(reader.objectID.uri))
    #expect(try TypedSnapshot(page).lastSeen == reader.objectID)
    let text = try JSONEncoder().encode(snapshot)
    #expect(try JSONDecoder().decode(ObjectSnapshot.self, from: text) == snapshot)
    let broken = String(decoding: text, as: UTF8.self).replacingOccurrences(of: "Reader", with: "")
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(ObjectSnapshot.self, from: Data(broken.utf8))
    }
  }

  @Test("An id attribute can be required, indexed and constrained like other attributes")
  func byDescription() throws {
    let model = try ManagedObjectModel([
      EntityDescription(
        "Mark", properties: [.objectID("target", optional: false), .int64("n")],
        indexes: [FetchIndexDescription(on: "n", "target")], uniquenessConstraints: [["target"]])
    ])
    let context = try Sandbox(model).container.newContext()
    let (first, second) = (
      context.insertNewObject(forEntityName: "Mark"), context.insertNewObject(forEntityName: "Mark")
    )
    first["target"] = second.objectID
    #expect(refusals(context) == ["1570 target"])
    second["target"] = second.objectID
    #expect(throws: PerdureError.self) { try context.save() }
    second["target"] = first.objectID
    try context.save()
    #expect(throws: ModelError.self) {
      try ManagedObjectModel([
        EntityDescription("E", properties: [.attribute("a", .objectID, rules: [.minimumLength(1)])])
      ])
    }
  }
}
