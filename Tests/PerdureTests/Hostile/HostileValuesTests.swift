import Foundation
import Perdure
import PerdureModel
import PerdureTestSupport
import Testing

@Suite("Extreme values")
struct HostileValuesTests {
  final class Note: ManagedObject {
    override class var entityDescription: EntityDescription {
      EntityDescription(
        "Note",
        properties: [
          .string("text"), .binary("data"), .double("number"), .decimal("exact"), .date("moment"),
          .uri("link"), .string("tag"),
        ],
        indexes: [
          .init(on: "text"), .init(on: "data"), .init(on: "number"), .init(on: "exact"), .init(on: "moment"),
          .init(on: "link"), .init("tag_text", [.init("tag"), .init("text", ascending: false)]),
        ])
    }
    override class var _propertyNamesByKeyPath: [AnyKeyPath: String] {
      [\Note.text: "text", \Note.data: "data", \Note.number: "number", \Note.moment: "moment"]
    }

    var text: String? {
      get { _get(0) }
      set { _set(0, newValue) }
    }
    var data: Data? {
      get { _get(1) }
      set { _set(1, newValue) }
    }
    var number: Double? {
      get { _get(2) }
      set { _set(2, newValue) }
    }
    var exact: Decimal? {
      get { _get(3) }
      set { _set(3, newValue) }
    }
    var moment: Date? {
      get { _get(4) }
      set { _set(4, newValue) }
    }
    var link: URL? {
      get { _get(5) }
      set { _set(5, newValue) }
    }
    var tag: String? {
      get { _get(6) }
      set { _set(6, newValue) }
    }
  }

  private func container() throws -> PersistentContainer {
    let container = PersistentContainer(
      name: "Notes", model: try ManagedObjectModel([Note.entityDescription]), classes: [Note.self],
      description: .inMemory)
    try container.loadPersistentStores()
    return container
  }

  private func request(_ format: String, _ arguments: (any PredicateArgument)?...) throws -> FetchRequest<
    Note
  > {
    FetchRequest(predicate: try FetchPredicate(format: format, argumentArray: arguments))
  }

  @Test("Empty and huge texts and data are read back unchanged, even from blob files")
  func sizes() throws {
    let container = try container()
    let context = container.newContext()
    let long = String(repeating: "ä\u{0}日", count: 400_000)
    let bytes = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    let texts = ["", "\u{0}", "\u{0}\u{0}", "\u{FFFF}", long]
    let notes = texts.map { text in
      let note = Note(context: context)
      note.text = text
      note.data = text.isEmpty ? Data() : bytes
      return note
    }
    try context.save()
    let reader = container.newContext()
    for (note, text) in zip(notes, texts) {
      let copy = try #require(try reader.existingObject(with: note.objectID) as? Note)
      #expect(copy.text == text)
      #expect(copy.data == (text.isEmpty ? Data() : bytes))
    }
    #expect(try reader.count(for: request("text == ''")) == 1)
    #expect(try reader.count(for: request("text == %@", "\u{0}")) == 1)
    #expect(try reader.count(for: request("data == %@", Data())) == 1)
    notes[4].text = nil
    notes[4].data = bytes + [1]
    notes[3].data = nil
    try context.save()
    #expect(notes[4].data?.count == 3_000_001)
    #expect((try reader.existingObject(with: notes[4].objectID) as? Note)?.text == long)
    reader.refreshAllObjects()
    #expect((try reader.existingObject(with: notes[4].objectID) as? Note)?.text == nil)
  }

  @Test("Texts longer than an index key are found by equality, by prefix and by range")
  func longKeys() throws {
    let container = try container()
    let context = container.newContext()
    let stem = String(repeating: "x", count: 70_000)
    for (ending, tag) in [("a", "t"), ("b", "t"), ("c", "u")] {
      let note = Note(context: context)
      note.text = stem + ending
      note.data = Data((stem + ending).utf8)
      note.tag = tag
    }
    Note(context: context).text = "short"
    for _ in 0..<2 {
      #expect(try context.count(for: request("text == %@", stem + "b")) == 1)
      #expect(try context.count(for: request("data == %@", Data((stem + "b").utf8))) == 1)
      #expect(try context.count(for: request("text != %@", stem + "b")) == 3)
      #expect(try context.count(for: request("text > %@", stem + "a")) == 2)
      #expect(try context.count(for: request("text <= %@", stem + "a")) == 2)
      #expect(try context.count(for: request("text BEGINSWITH %@", stem)) == 3)
      #expect(try context.count(for: request("text BETWEEN {%@, %@}", stem + "b", stem + "z")) == 2)
      #expect(try context.count(for: request("text IN {%@, 'short'}", stem + "c")) == 2)
      #expect(try context.count(for: request("text > 'short'")) == 3)
      #expect(try context.count(for: request("tag == 't' AND text == %@", stem + "a")) == 1)
      #expect(try context.count(for: request("tag == 't' AND text > %@", stem + "a")) == 1)
      #expect(try context.count(for: request("tag == %@", stem)) == 0)
      try context.save()
    }
  }

  @Test("Extreme numbers and dates are stored, found, sorted and printed")
  func extremes() throws {
    let container = try container()
    let context = container.newContext()
    let numbers: [Double] = [
      .nan, -.infinity, -.greatestFiniteMagnitude, -0.0, .leastNonzeroMagnitude, .greatestFiniteMagnitude,
      .infinity,
    ]
    let decimals: [Decimal] = [
      .nan, -.greatestFiniteMagnitude, 0, .leastNonzeroMagnitude, .greatestFiniteMagnitude,
      Decimal(sign: .plus, exponent: 127, significand: 9),
      Decimal(sign: .minus, exponent: -127, significand: 9),
    ]
    for (position, number) in numbers.enumerated() {
      let note = Note(context: context)
      note.number = number
      note.exact = decimals[position]
      note.moment = Date(timeIntervalSinceReferenceDate: number)
      note.tag = "\(position)"
    }
    try context.save()
    for note in try context.fetch(Note.fetchRequest()) where note.tag == "0" {
      note.moment = Date(timeIntervalSinceReferenceDate: .nan)
      #expect(!note.hasPersistentChangedValues, "The value equals the earlier value.")
    }
    let reader = container.newContext()
    let byNumber = try reader.fetch(FetchRequest<Note>(sortDescriptors: [FetchOrder("number")]))
    #expect(byNumber.map { $0.tag ?? "" } == ["0", "1", "2", "3", "4", "5", "6"])
    let byMoment = try reader.fetch(FetchRequest<Note>(sortDescriptors: [FetchOrder("moment")]))
    #expect(byMoment.count == 7)
    let byDecimal = try reader.fetch(FetchRequest<Note>(sortDescriptors: [FetchOrder("exact")]))
    #expect(byDecimal.map(\.exact).first == .some(.nan))
    for number in numbers {
      #expect(try reader.count(for: request("number == %@", number)) == 1, "\(number)")
      let date = Date(timeIntervalSinceReferenceDate: number)
      #expect(try reader.count(for: request("moment == %@", date)) == 1, "\(number)")
      let predicate = try FetchPredicate(format: "moment >= %@ AND number < %@", date, number)
      #expect(
        try FetchPredicate(format: predicate.predicateFormat).predicateFormat == predicate.predicateFormat)
      _ = try reader.fetch(FetchRequest<Note>(predicate: predicate))
    }
    for decimal in decimals {
      #expect(try reader.count(for: request("exact == %@", decimal)) == 1, "\(decimal)")
    }
    _ = try reader.fetch(try request("exact * exact > 1 OR exact + number > 2 OR number / 0 == nil"))
  }

  @Test("Equal values in different forms violate a uniqueness constraint, and nil never violates one")
  func uniqueness() throws {
    let entity = EntityDescription(
      "Value",
      properties: [.double("double"), .float("float"), .decimal("decimal"), .string("text"), .date("date")],
      uniquenessConstraints: [["double"], ["float"], ["decimal"], ["text"], ["date"]])
    let container = PersistentContainer(
      name: "Values", model: try ManagedObjectModel([entity]), description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let pairs: [(key: String, first: Any, second: Any)] = [
      ("double", Double.nan, -Double.nan), ("double", 0.0, -0.0), ("float", Float.infinity, Float.infinity),
      ("decimal", Decimal.nan, Decimal.nan), ("text", "e\u{301}", "\u{E9}"), ("text", "", ""),
      ("text", "\u{212B}", "A\u{30A}"), ("text", "\u{0}", "\u{0}"),
      ("date", Date.distantFuture, Date.distantFuture),
      ("decimal", Decimal(10), Decimal(sign: .plus, exponent: 1, significand: 1)),
    ]
    for (key, first, second) in pairs {
      for _ in 0..<2 { context.insertNewObject(forEntityName: "Value")[key] = nil }
      context.insertNewObject(forEntityName: "Value")[key] = first
      try context.save()
      context.insertNewObject(forEntityName: "Value")[key] = second
      let error = #expect(throws: PerdureError.self, "\(key) \(first)") { try context.save() }
      #expect(error?.code == .constraintConflict)
      context.rollback()
    }
    try expectWhole(container)
  }

  @Test("Dates outside the range of the calendar are printed as seconds")
  func inspectedDates() throws {
    let directory = try TemporaryDirectory()
    let container = PersistentContainer(
      name: "Notes", model: try ManagedObjectModel([Note.entityDescription]), classes: [Note.self],
      at: directory.file("Notes.perdure"))
    try container.loadPersistentStores()
    let context = container.newContext()
    for seconds in [0, .nan, .infinity, -.infinity, 1e300, -1e16] {
      Note(context: context).moment = Date(timeIntervalSinceReferenceDate: seconds)
    }
    try context.save()
    try container.close()
    var texts: [InspectedObject.Property] = []
    try StoreInspection(at: directory.file("Notes.perdure")).forEachObject(of: "Note") { note in
      texts += note.properties.filter { $0.name == "moment" }.map(\.value)
      return true
    }
    let expected = ["2001-01-01T00:00:00Z", "nan s", "inf s", "-inf s", "1e+300 s", "-1e+16 s"]
    #expect(texts == expected.map { .text($0) })
  }

  @Test("URLs of every form keep their absolute string and are found by it")
  func links() throws {
    let container = try container()
    let context = container.newContext()
    let links = [
      URL(string: "https://example.org/a%20b?c=d#e"), URL(fileURLWithPath: "/with space/ü"),
      URL(string: "mailto:a@b"), URL(string: "relative/path", relativeTo: URL(string: "https://h/")),
      URL(string: "x:"), URL(string: "//host/only"), URL(string: "?q"), URL(string: "#f"),
      URL(fileURLWithPath: ""), URL(string: "http://[::1]:80/"), URL(string: "https://b\u{FC}cher.example/"),
    ].compactMap { $0 }
    let notes = links.map { link in
      let note = Note(context: context)
      note.link = link
      return note
    }
    try context.save()
    let reader = container.newContext()
    for (note, link) in zip(notes, links) {
      let copy = try #require(try reader.existingObject(with: note.objectID) as? Note)
      #expect(copy.link?.absoluteString == link.absoluteString)
      #expect(try reader.count(for: request("link == %@", link)) >= 1, "\(link)")
    }
  }
}
