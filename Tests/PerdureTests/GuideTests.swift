// The examples of GUIDE.md. The lines between two marks, such as `// GUIDE 2` and `// end`, equal
// the code block with that number. Change the document and this file together. The examples run in
// their own process and folder, because their stores have relative paths.

import Foundation
import Perdure
import PerdureTestSupport
import Testing

private enum GuideExample {
  // GUIDE 1
  enum Form: String, AttributeValue, CaseIterable { case book, journal, recording }

  @Composite struct Place {
    var street: String?
    var city: String = ""
  }

  struct Marks: CodableAttributeValue {  // any Codable value, stored as its JSON
    var pages: [Int] = []
  }

  @Entity class Work: ManagedObject {
    @Attribute(.indexed, .length(1...200)) var title: String
    var form: Form = .book
    var price: Decimal?
    @Attribute(.minimum(0)) var copies: Int = 1
    @Attribute(.indexed, derived: "canonical:(title)") private(set) var plainTitle: String?
    @Relationship(inverse: "works") var author: Author?
    @Relationship(inverse: "works") var readers: ToMany<Reader>
  }

  @Entity final class Author: ManagedObject {
    @Attribute(.unique) var name: String
    @Relationship(inverse: "author", deleteRule: .cascade) var works: OrderedToMany<Work>
    @Attribute(.indexed, derived: "works.copies.@sum") private(set) var copies: Int
  }

  @Entity final class Reader: ManagedObject {
    var name: String
    var marks: Marks?
    @Attribute(.composite) var home: Place?
    @Attribute(.transient) var isGreeted: Bool = false
    @Relationship(inverse: "readers") var works: ToMany<Work>
    @Relationship(transient: true) var reads: Work?  // not stored: the link lasts as long as the context

    override func validateForInsert() throws {
      if home?.city.isEmpty == true { throw PerdureError.invalid(self, "home", "has no city") }
    }
  }
  // end

  static func run() async throws {
    // GUIDE 2
    let container = try PersistentContainer(
      name: "Library", classes: [Work.self, Author.self, Reader.self], at: "Library.perdure")
    try container.loadPersistentStores()
    let context = container.newContext()
    // end
    // GUIDE 3
    let ursula = Author(context: context)
    ursula.name = "Ursula"
    for title in ["The Dispossessed", "Rocannon’s World", "Élan"] {
      let work = Work(context: context)
      work.title = title
      work.price = 12.5
      ursula.works.append(work)  // also sets work.author
    }
    ursula.works.move(from: 1, to: 0)  // O(log n) at any position
    let reader = Reader(context: context)
    reader.name = "Ada"
    reader.home = Place(street: "Rue A", city: "Paris")
    reader.works.insert(ursula.works[0])
    reader.setValue("Ada L.", forKey: "name")  // sets a property by name
    try context.save()

    let plan = try context.plan(delete: ursula)  // changes nothing
    print("would go:", plan.deletedObjectIDs.count, plan.isDenied)
    context.delete(ursula)
    context.rollback()  // back to the last save
    print("copies:", ursula.copies, ursula.works.map(\.title))
    // end
    // GUIDE 4
    var request = Work.fetchRequest { $0.title.hasPrefix("The ") && $0.author.name == "Ursula" }
    request.sortDescriptors = [FetchOrder(\Work.title)]
    request.fetchLimit = 20
    request.prefetch { $0.readers }
    for work in try context.fetch(request) { print("found:", work.title, work.readers.count) }

    let plain = try context.fetch(Work.fetchRequest { $0.plainTitle == "elan" })
    let inParis = try context.count(for: Reader.fetchRequest { $0.home.city == "Paris" })
    print("plain:", plain.count, "Paris:", inParis)

    let before = context.statistics
    for work in try container.newContext().fetch(Work.fetchRequest()) { _ = work.author?.name }
    print("requests of another context count there:", context.statistics == before)
    // end
    // GUIDE 5
    let other = container.newContext()
    other.mergePolicy = .error.merging("copies", of: "Work", by: .sum)
    if let same = try other.existingObject(with: ursula.works[0].objectID) as? Work { same.copies += 2 }
    ursula.works[0].copies += 1
    try context.save()
    try other.save()  // adds both changes: 1 + 2
    context.refreshAllObjects()
    print("together:", ursula.works[0].copies)

    let draft = context.newChildContext()  // its saves go to `context`
    Reader(context: draft).name = "Grace"
    try draft.save()
    print("drafted:", context.insertedObjects.count)
    try context.save()

    let id = reader.objectID  // ids and snapshots are Sendable, objects are not
    let titles = try await container.performBackgroundTask { context in
      (try context.existingObject(with: id) as? Reader)?.works.map(\.title) ?? []
    }
    print("read:", titles)

    try other.setQueryGeneration(from: .current)  // pins this state
    try other.setQueryGeneration(from: nil)
    // end
    // GUIDE 6
    let picture = try reader.snapshot(including: ["works.author"])  // Sendable, Codable
    print("picture:", picture["home.city"]?.value ?? .null, try JSONEncoder().encode(picture).isEmpty)
    try container.close()

    try PersistentContainer.copyPersistentStore(at: "Library.perdure", to: "Copy.perdure")
    let inspection = try StoreInspection(at: "Copy.perdure")
    print("whole:", try inspection.verifyGraph().isClean)

    let looking = PersistentContainer(
      name: "Library", model: container.managedObjectModel, classes: [Work.self, Author.self, Reader.self],
      description: PersistentStoreDescription(path: "Library.perdure", isReadOnly: true))
    try looking.loadPersistentStores()
    print("authors:", try looking.newContext().count(for: Author.fetchRequest()))
    try looking.close()
    // end
  }
}

@Suite("The examples of GUIDE.md")
struct GuideTests {
  @Test("The examples run in order and print the expected lines")
  func run() async throws {
    let directory = try TemporaryDirectory()
    let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
      [path = directory.path as String] in
      #expect(FileManager.default.changeCurrentDirectoryPath(path))
      try await GuideExample.run()
    }
    let printed = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
    for line in [
      "would go: 4 false", "copies: 3 [\"Rocannon’s World\", \"The Dispossessed\", \"Élan\"]",
      "found: The Dispossessed 0", "plain: 1 Paris: 1", "requests of another context count there: true",
      "together: 4", "drafted: 1", "read: [\"Rocannon’s World\"]", "whole: true", "authors: 1",
    ] {
      #expect(printed.contains(line + "\n"), "\(line) in \(printed)")
    }
  }

  @Test("The code blocks of GUIDE.md equal the code in this file")
  func sameText() throws {
    let code = try DocumentedCode("GUIDE.md", in: #filePath)
    #expect(code.counts == (6, 6))
    for number in 1...6 { try code.expectSame(number) }
  }
}
