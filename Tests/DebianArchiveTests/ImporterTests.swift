import DebianArchiveGraph
import Perdure
import Testing

@testable import DebianIndexReading

@Suite("Importing packages") struct ImporterTests {
  private func records(_ text: String) throws -> [PackageRecord] {
    stanzas(of: text).stanzas.compactMap { PackageRecord($0) { Issue.record("\($0)") } }
  }

  private func container() throws -> PersistentContainer {
    let container = try PersistentContainer(
      name: "Archive", classes: archiveClasses, description: .inMemory)
    try container.loadPersistentStores()
    return container
  }

  @Test(
    "If a later archive has a package whose name was virtual, dependencies on the name lead to the package")
  func virtualNameBecomesReal() throws {
    let container = try container()
    let first = try records(
      "Package: app\nVersion: 1\nDepends: editor\n\nPackage: vi\nVersion: 1\nProvides: editor\n\n")
    try ArchiveImporter(container, packageNames: ["app", "vi"]).importBatch(first)
    let second = try records("Package: editor\nVersion: 2\nDepends: app\n\n")
    try ArchiveImporter(container, packageNames: ["app", "vi", "editor"]).importBatch(first + second)

    let context = container.newContext()
    #expect(try context.count(for: FetchRequest<VirtualName>()) == 0)
    #expect(try context.count(for: FetchRequest<Package>()) == 3)
    let questions = ArchiveQuestions(context)
    #expect(try questions.reverseDependencies(of: "editor").map(\.name) == ["app"])
    #expect(try questions.closure(of: "app").map(\.name).sorted() == ["app", "editor", "vi"])
  }
}
