import Perdure
import PerdureTestSupport
import Testing

/// The same objects in one store, and distributed over two stores. Each fetch must have the same
/// result in both cases, with any pending changes.
@Suite("Random comparison of one store and two stores")
struct SpreadRandomTests {
  @Test(
    "Fetches of two stores and of one store have the same results, also in child contexts",
    arguments: [false, true])
  func random(inChildren: Bool) throws {
    var random = SeededGenerator.forTest("entities in several stores")
    for _ in 0..<4 {
      var worlds = try Worlds(SeededGenerator(seed: random.next()), inChildren: inChildren)
      for _ in 0..<50 {
        try worlds.step()
        try worlds.compare()
      }
    }
  }
}

/// Two containers to which the same operations are applied.
private struct Worlds {
  private let containers: [PersistentContainer]
  private var contexts: [ManagedObjectContext]
  /// The parents of the contexts; none if they are not children.
  private let parents: [ManagedObjectContext]
  private var random: SeededGenerator
  /// The objects of each world. In the second world, they are grouped by store. Equal objects have
  /// the same positions in both worlds.
  private var authors: [[[LibraryAuthor]]] = [[[], []], [[], []]]
  private var books: [[[LibraryBook]]] = [[[], []], [[], []]]
  private var made = 0
  private var trace: [String] = []

  init(_ random: SeededGenerator, inChildren: Bool) throws {
    containers = [try Library.container("Books"), try Library.container("Books", "Archive")]
    let made = containers.map { $0.newContext() }
    parents = inChildren ? made : []
    contexts = inChildren ? made.map { $0.newChildContext() } : made
    self.random = random
  }

  mutating func step() throws {
    let store = random.pick([0, 1])
    let (author, book) = (random.pick(0..<8), random.pick(0..<8))
    let name = random.pick(["a", "b", "c", "d"])
    let pages = Int64(random.pick(0..<4))
    let choice = random.pick(0..<100)
    trace.append("\(choice) store \(store) author \(author) book \(book) name \(name) pages \(pages)")
    if choice < 30 { made += 1 }
    for world in containers.indices {
      let (authors, books) = (authors[world][store], books[world][store])
      switch choice {
      case 0..<10: try insertAuthor(world, store, name)
      case 10..<30: try insertBook(world, store, pages, author)
      case 30..<45: if author < authors.count { authors[author].name = name }
      case 45..<60: if book < books.count { books[book].pages = pages }
      case 60..<75:
        if book < books.count { books[book].author = author < authors.count ? authors[author] : nil }
      case 75..<80:
        guard book < books.count else { continue }
        contexts[world].delete(books[book])
        self.books[world][store].remove(at: book)
      case 80..<83: contexts[world].refreshAllObjects()
      case 83..<90 where !parents.isEmpty: try parents[world].save()
      default: try contexts[world].save()
      }
    }
  }

  private mutating func insertAuthor(_ world: Int, _ store: Int, _ name: String) throws {
    let author = contexts[world].author(name)
    if world == 1 { try contexts[world].assign(author, to: containers[world].persistentStores[store]) }
    authors[world][store].append(author)
  }

  private mutating func insertBook(_ world: Int, _ store: Int, _ pages: Int64, _ author: Int) throws {
    let book = contexts[world].book("t\(made)", pages: pages)
    if world == 1 { try contexts[world].assign(book, to: containers[world].persistentStores[store]) }
    if author < authors[world][store].count { book.author = authors[world][store][author] }
    books[world][store].append(book)
  }

  mutating func compare() throws {
    var request = FetchRequest<LibraryBook>()
    let format = random.pick([
      "", "pages > 1", "author.name == 'b'", "author == nil OR pages == 2", "author.books.@count > 1",
      "title > 't2' AND author.name != 'c'",
    ])
    if !format.isEmpty { request.predicate = try FetchPredicate(format: format) }
    // Titles are unique, so that every order is determined.
    let paths = random.pick([
      [], ["pages"], ["author.name"], ["author.name", "pages"], ["author.books.@count"],
    ])
    request.sortDescriptors = paths.map { FetchOrder($0, ascending: random.chance(50)) }
    request.sortDescriptors.append(FetchOrder("title", ascending: random.chance(50)))
    (request.fetchLimit, request.fetchOffset) = (random.pick([0, 1, 2, 5]), random.pick([0, 0, 1, 3]))
    request.includesPendingChanges = random.chance(80)
    let said = "\(format), \(paths), \(request.fetchLimit) from \(request.fetchOffset)\n"
    let counts = try contexts.map { try $0.count(for: request) }
    #expect(counts[0] == counts[1], "\(said)\(trace.joined(separator: "\n"))")
    // Titles of objects with an unsaved deletion cannot be read.
    guard request.includesPendingChanges else { return }
    let found = try contexts.map { try $0.titles(request) }
    #expect(found[0] == found[1], "\(said)\(trace.joined(separator: "\n"))")
    let shown = try parents.map { try $0.titles(request) }
    #expect(shown.first == shown.last, "parents: \(said)\(trace.joined(separator: "\n"))")
  }
}
