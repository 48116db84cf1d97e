import Foundation
import GeneratedCodeModels
import Perdure
import PerdureModelCode
import Testing

@Suite("Generated classes")
struct GeneratedClassTests {
  /// - Parameter model: The generated model, or the model from which the code was generated.
  private func container(_ model: ManagedObjectModel, _ classes: [ManagedObject.Type]) throws
    -> PersistentContainer
  {
    ValueTransformers.register(StampTransformer(), named: "StampTransformer")
    ValueTransformers.register(CutTransformer(), named: "CutTransformer")
    let container = PersistentContainer(
      name: "Generated", model: model, classes: classes, description: .inMemory)
    try container.loadPersistentStores()
    return container
  }

  @Test("An object of each class with accessors is stored and read", arguments: [true, false])
  func accessors(withGeneratedModel: Bool) throws {
    let model = try withGeneratedModel ? LibraryModel.managedObjectModel() : LibraryModelSource.model()
    let container = try container(model, LibraryModel.classes)
    try fillLibrary(container.newContext())
    let context = container.newContext()
    let book = try #require(try context.fetch(FetchRequest<LibraryBook>()).first)
    #expect(book.title == "Fables" && book.pages == 620 && book.price == 12.5 && book.`default`)
    #expect(book.`in` == "abc" && book.weight == 0.25 && book.loans == -3 && book.cover == Data([1, 2, 255]))
    #expect(book.keywords == ["a", "b"] && book.stamp == Stamp(number: 7) && book.cache == nil)
    #expect(book.place == Place(room: "attic", position: Position(x: 1, y: 2)))
    #expect(book.authors.map(\.name) == ["Ada", "Grace"] && book.authorCount == 2)
    #expect(book.shelf?.label == "top" && book.shelf?.books.count == 1)
    #expect(book.namesakes.isEmpty && book.site == URL(string: "https://example.org"))
    #expect(try context.fetch(FetchRequest<Note>()).map(\.text) == ["read it"])
    let request = LibraryBook.fetchRequest { $0.pages > 500 && $0.default == true }
    #expect(try context.count(for: request) == 1)
  }

  private func fillLibrary(_ context: ManagedObjectContext) throws {
    let book = LibraryBook(context: context)
    (book.title, book.pages, book.default, book.in) = ("Fables", 620, true, "abc")
    (book.keywords, book.stamp, book.cache) = (["a", "b"], Stamp(number: 7), [1: "one"])
    (book.site, book.openings) = (URL(string: "https://example.org"), 3)
    book.place = Place(room: "attic", position: Position(x: 1, y: 2))
    let authors = ["Grace", "Ada"].map { name in
      let author = Author(context: context)
      author.name = name
      return author
    }
    book.addToAuthors(authors)
    book.removeFromAuthors(at: 0)
    book.addToAuthors(authors[0])
    let shelf = Shelf(context: context)
    #expect(shelf.label == "new")
    shelf.label = "top"
    shelf.addToBooks(book)
    Note(context: context).text = "read it"
    #expect(book.cache == [1: "one"])
    try context.save()
  }

  @Test("The function of a request template has a parameter for each variable")
  func templates() throws {
    let container = try container(LibraryModel.managedObjectModel(), LibraryModel.classes)
    let context = container.newContext()
    try fillLibrary(context)
    let model = container.managedObjectModel
    let long = try LibraryModel.Requests.longBooks(least: 600, start: "Fab", in: model)
    #expect(try context.fetch(long).map(\.title) == ["Fables"])
    let ada = try #require(
      try context.fetch(LibraryModel.Requests.all(in: model)).first { $0.name == "Ada" })
    let hers = try LibraryModel.Requests.byAuthor(author: ada, counts: [620], in: model)
    #expect(try context.count(for: hers) == 1)
  }

  @Test("The function of a request template takes nil for a value that can be absent")
  func templatesWithNil() throws {
    let container = try container(LibraryModel.managedObjectModel(), LibraryModel.classes)
    let context = container.newContext()
    try fillLibrary(context)
    let model = container.managedObjectModel
    let lost = LibraryBook(context: context)
    lost.price = nil
    let shelf = try #require(try context.fetch(FetchRequest<Shelf>()).first)
    let placed = LibraryModel.Requests.placed
    #expect(try context.fetch(placed(1, nil, nil, model)) == [lost])
    #expect(try context.fetch(placed(1, 12.5, shelf, model)).map(\.title) == ["Fables"])
    #expect(try context.count(for: placed(1, nil, shelf, model)) == 0)
  }

  @Test("An object of each class with macros is stored and read")
  func macros() throws {
    let container = try container(StudioModel.managedObjectModel(), StudioModel.classes)
    let context = container.newContext()
    let person = Person(context: context, name: "Agnes")
    let film = MotionPicture(context: context, director: person)
    (film.title, film.minutes, film.repeat, film.cut) = ("Vagabond", 105, false, Cut(scenes: 9))
    film.size = FrameSize(width: 1660, height: 1000)
    film.format?.stock = "Fuji"
    film.addToCast(person)
    try context.save()
    let read = try #require(
      try container.newContext().fetch(
        StudioModel.Requests.short(most: 120, in: container.managedObjectModel)
      ).first)
    #expect(read.title == "Vagabond" && read.minutes == 105 && !read.repeat && read.cut == Cut(scenes: 9))
    #expect(read.size == FrameSize(width: 1660, height: 1000) && read.budget == 100 && read.made != nil)
    #expect(
      read.cast.map(\.name) == ["Agnes"] && read.director?.directedCount == 1 && read.namesakes.count == 1)
  }

  @Test("With macros, an optional composite begins with the defaults of its elements, and can become nil")
  func elementDefaults() throws {
    let container = try container(StudioModel.managedObjectModel(), StudioModel.classes)
    let context = container.newContext()
    let film = MotionPicture(context: context, director: Person(context: context, name: "Agnes"))
    (film.title, film.size) = ("Vagabond", FrameSize(width: 1660, height: 1000))
    #expect(film.format?.rate == 24 && film.format?.chosen != nil && film.format?.crop == nil)
    #expect(film.format?.sound == FilmFormatSound(channels: 2) && film["format.stock"] == nil)
    // The composite has values, so its required element needs one too.
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.details.map(\.property) == ["format.stock"])
    film.format?.stock = "Fuji"
    try context.save()
    let read = try #require(try container.newContext().fetch(FetchRequest<MotionPicture>()).first)
    #expect(read.format == film.format && read.format?.rate == 24)
    film.format = nil
    try context.save()
    #expect(film.format == nil)
  }

  @Test("With the types of Xcode, absent numbers read as 0, and dates are seconds")
  func xcodeTypes() throws {
    let container = try container(DepotModel.managedObjectModel(), DepotModel.classes)
    let context = container.newContext()
    let crate = Crate(context: context)
    #expect(crate.count == 0 && crate.weight == 0 && !crate.isOpen && crate.checked == 0)
    #expect(crate.label == nil && crate.emptied == nil && crate.limit == nil && crate.code == nil)
    #expect(crate.floor == 1)
    crate.filled = 700_000_000.5
    #expect(throws: PerdureError.self) { try context.save() }
    (crate.label, crate.code) = ("A", UUID())
    try context.save()
    let read = try #require(try container.newContext().fetch(FetchRequest<Crate>()).first)
    #expect(read.label == "A" && read.code == crate.code && read.filled == 700_000_000.5)
    #expect(read["filled"] as? Date == Date(timeIntervalSinceReferenceDate: 700_000_000.5))
    #expect(read["count"] == nil && read.count == 0 && read["checked"] == nil && read.checked == 0)
  }

  @Test("Properties whose names are Swift keywords keep their values")
  func swiftWords() throws {
    let context = try container(LibraryModel.managedObjectModel(), LibraryModel.classes).newContext()
    let words = Words(context: context)
    for word in LibraryModelSource.swiftWords { words.setValue("\(word)!", forKey: word) }
    (words.default, words.in, words.`Any`) = ("d", "i", "a")
    try context.save()
    #expect(words.switch == "switch!" && words.value(forKey: "default") as? String == "d")
  }
}
