import Foundation
import Perdure
import PerdureLog

/// Compares a store with the state after a save.
struct AlbumCheck {
  let context: ManagedObjectContext
  /// The number of the last save that the store has.
  private(set) var last = 0
  private(set) var problems: [String] = []

  init(context: ManagedObjectContext) { self.context = context }

  mutating func run() throws {
    last = try AlbumWriter.lastNumber(context)
    let albums = try context.fetch(Album.fetchRequest()).sorted { $0.number < $1.number }
    expect(albums.map(\.number) == Array(max(1, last - 2)..<last + 1), "albums \(albums.map(\.number))")
    for album in albums {
      try check(album, AlbumContent(number: album.number, isChanged: album.number < last))
    }
    let pages = try context.fetch(Page.fetchRequest())
    expect(pages.count == albums.count * AlbumContent.pageCount, "\(pages.count) pages")
    for page in pages { try check(page) }
    try checkLabels(albums.count)
  }

  /// Verifies the graph and the files of a store that is not open.
  mutating func verify(_ path: String) throws {
    let inspection = try StoreInspection(at: path)
    let graph = try inspection.verifyGraph()
    expect(graph.isClean, "\(graph)")
    let engine = try inspection.engine.verify()
    expect(engine.isClean, "\(engine)")
  }

  private mutating func check(_ album: Album, _ content: AlbumContent) throws {
    let place = "album \(album.number)"
    expect(album.title == content.title, "\(place): title \(album.title)")
    expect(album.cover == content.cover, "\(place): cover of \(album.cover?.count ?? -1) bytes")
    expect(album.story == content.story, "\(place): story of \(album.story?.utf8.count ?? -1) bytes")
    expect(album.pages.map(\.code) == content.codes, "\(place): order \(album.pages.map(\.code))")
    expect(album.pageCount == AlbumContent.pageCount, "\(place): count \(album.pageCount)")
    expect(album.words == album.pages.reduce(0) { $0 + $1.words }, "\(place): \(album.words) words")
    expect(Set(album.pages.map(\.words)).count == AlbumContent.pageCount, "\(place): words of pages")
    expect(album.pages.allSatisfy { $0.album === album }, "\(place): the other ends")
    expect(try found(Album.self, "title", album.title) == [album], "\(place): index of titles")
    expect(try found(Album.self, "pageCount", album.pageCount).contains(album), "\(place): index of counts")
  }

  private mutating func check(_ page: Page) throws {
    let place = "page \(page.code)"
    expect(page.albumTitle == page.album?.title, "\(place): \(page.albumTitle ?? "no title")")
    expect(try found(Page.self, "code", page.code) == [page], "\(place): unique code")
    expect(page.album?.pages.contains(page) == true, "\(place): album")
    let names = page.labels.map(\.name)
    expect(names == [AlbumContent.labelNames[page.words % 5]], "\(place): labels \(names)")
  }

  private mutating func checkLabels(_ albumCount: Int) throws {
    let labels = try context.fetch(Label.fetchRequest())
    expect(labels.count == (last == 0 ? 0 : AlbumContent.labelNames.count), "\(labels.count) labels")
    for label in labels {
      let count = albumCount * AlbumContent.pageCount / AlbumContent.labelNames.count
      expect(label.pageCount == count && label.pages.count == count, "label \(label.name)")
      expect(label.pages.allSatisfy { $0.labels.contains(label) }, "label \(label.name): the other ends")
    }
  }

  /// Returns the objects with a value, found with an index. Expects that a scan finds the same
  /// objects.
  private mutating func found<T: ManagedObject>(
    _ type: T.Type, _ key: String, _ value: any PredicateArgument
  ) throws -> [T] {
    func fetch(_ format: String) throws -> [T] {
      try context.fetch(FetchRequest<T>(predicate: FetchPredicate(format: format, value)))
    }
    let found = try fetch("\(key) == %@")
    let isSame = try Set(found) == Set(fetch("noindex(\(key)) == %@"))
    expect(isSame, "a scan for \(key) \(value) finds other objects")
    return found
  }

  private mutating func expect(_ holds: Bool, _ problem: @autoclosure () -> String) {
    if !holds { problems.append(problem()) }
  }
}
