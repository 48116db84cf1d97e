import Perdure
import PerdureTestSupport
import Testing

@Entity private final class Entry: ManagedObject {
  var text: String?
}

@Entity private final class Author: ManagedObject {
  var name: String?
}

/// Behaviour M8 of Core Data (README.md).
@Suite("Configurations of stores")
struct ConfigurationTests {
  private func container(_ configuration: String?, at path: String) throws -> PersistentContainer {
    let model = try ManagedObjectModel(
      [EntityDescription(from: Entry.self), EntityDescription(from: Author.self)],
      configurations: ["Log": ["Entry"], "People": ["Author"]])
    var description = PersistentStoreDescription(path: path)
    description.configuration = configuration
    let container = PersistentContainer(
      name: "C", model: model, classes: [Entry.self, Author.self], description: description)
    try container.loadPersistentStores()
    return container
  }

  @Test("M8 A store contains only the entities of its configuration, and fetches of others fail")
  func subset() throws {
    let directory = try TemporaryDirectory()
    let container = try container("Log", at: directory.file("log.perdure"))
    let context = container.newContext()
    Entry(context: context).text = "t"
    try context.save()
    #expect(try context.fetch(FetchRequest<Entry>()).count == 1)
    #expect(container.managedObjectModel.entities.count == 2)
    let error = #expect(throws: FetchError.self) { try context.fetch(FetchRequest<Author>()) }
    #expect(error?.code == .unknownEntity)
    try container.close()
  }

  @Test("M8 A store accepts an extended configuration and rejects a smaller or different configuration")
  func growth() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("log.perdure")
    let first = try container("Log", at: path)
    let context = first.newContext()
    Entry(context: context).text = "t"
    try context.save()
    try first.close()
    let other = #expect(throws: PerdureError.self) { try container("People", at: path) }
    #expect(other?.code == .incompatibleModel)
    let all = try container(nil, at: path)
    let whole = all.newContext()
    Author(context: whole).name = "a"
    try whole.save()
    #expect(try whole.fetch(FetchRequest<Entry>()).map(\.text) == ["t"])
    try all.close()
    let smaller = #expect(throws: PerdureError.self) { try container("Log", at: path) }
    #expect(smaller?.code == .incompatibleModel)
  }

  @Test("M8 The error for an unknown configuration lists the configurations of the model")
  func unknown() throws {
    let directory = try TemporaryDirectory()
    let error = #expect(throws: PerdureError.self) { try container("Logs", at: directory.file("x.perdure")) }
    #expect(error?.code == .incompatibleSchema)
    #expect(error?.description.contains("no configuration \"Logs\". It has \"Log\", \"People\".") == true)
  }
}
