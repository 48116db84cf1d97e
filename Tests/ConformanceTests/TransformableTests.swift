import Foundation
import Perdure
import PerdureTestSupport
import Synchronization
import Testing

private struct Preferences: CodableAttributeValue, Equatable {
  var theme = "light"
  var sizes: [Double] = []
  var refuses: Bool?

  enum CodingKeys: CodingKey { case theme, sizes, refuses }

  init(theme: String = "light", sizes: [Double] = [], refuses: Bool? = nil) {
    self.theme = theme
    self.sizes = sizes
    self.refuses = refuses
  }

  func encode(to encoder: any Encoder) throws {
    if refuses == true { throw Refusal() }
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(theme, forKey: .theme)
    try container.encode(sizes, forKey: .sizes)
  }
}

private struct Refusal: Error {}

/// A class that is not an attribute type and not Codable.
private final class Colour: Equatable {
  var red: UInt8
  init(red: UInt8) { self.red = red }
  static func == (left: Colour, right: Colour) -> Bool { left.red == right.red }
}

private struct ColourTransformer: ValueTransformer {
  func data(from value: Any) throws -> Data {
    guard let colour = value as? Colour, colour.red != 13 else { throw Refusal() }
    return Data([colour.red])
  }

  func value(from data: Data) throws -> Any {
    guard data.count == 1 else { throw Refusal() }
    return Colour(red: data[data.startIndex])
  }
}

@Entity private final class Account: ManagedObject {
  var name: String?
  var preferences: Preferences = Preferences(theme: "dark")
  var draft: Preferences?
  @Attribute(.transformed(by: "TransformableTests.colour")) var colour: Colour?
}

/// An object with a reference to an account and copies of the account's colour.
@Entity private final class Card: ManagedObject {
  var account: Account?
  @Attribute(.transient) var sketch: Preferences?
  @Attribute(.transformed(by: "TransformableTests.colour"), derived: "account.colour") var colour: Colour?
  @Attribute(.transformed(by: "TransformableTests.colour"), derived: "account.colour")
  private(set) var same: Colour?
}

/// A type without equality, whose values can be compared only by their bytes.
private struct Tone { var pitch: UInt8 = 0 }

private struct ToneTransformer: ValueTransformer {
  func data(from value: Any) throws -> Data {
    guard let tone = value as? Tone else { throw Refusal() }
    return Data([tone.pitch])
  }

  func value(from data: Data) throws -> Any { Tone(pitch: data.first ?? 0) }
}

@Entity private final class Song: ManagedObject {
  @Attribute(.transformed(by: "TransformableTests.tone")) var tone: Tone?
  @Attribute(.transformed(by: "TransformableTests.tone")) var untyped: Any?
  var saveCount: Int64 = 0

  override class var validatedKeys: [String] { ["tone"] }

  override func validateValue(_ value: inout Any?, forKey key: String) throws {
    if let tone = value as? Tone, tone.pitch > 9 { value = Tone(pitch: 9) }
  }
}

/// Makes different bytes for the same value each time, as keyed archives do.
private final class VaryingTransformer: ValueTransformer {
  private let count = Atomic(UInt8(0))

  func data(from value: Any) throws -> Data {
    let number = count.wrappingAdd(1, ordering: .relaxed).newValue
    switch value {
    case let texts as [String]: return Data([number, 0] + Array(texts.joined(separator: ",").utf8))
    case let table as [String: Any]: return Data([number, 1] + Array("\(table["k"] ?? "")".utf8))
    default: throw Refusal()
    }
  }

  func value(from data: Data) throws -> Any {
    let text = String(decoding: data.dropFirst(2), as: UTF8.self)
    if data[data.startIndex + 1] == 1 { return ["k": text, "list": [1, 2.5, Date.distantPast] as [Any]] }
    return text.split(separator: ",").map(String.init)
  }
}

@Entity private final class Parcel: ManagedObject {
  @Attribute(.transformed(by: "TransformableTests.varying")) var tags: [String]?
  @Attribute(.transformed(by: "TransformableTests.varying")) var table: [String: Any]?

  override class var validatedKeys: [String] { ["tags", "table"] }

  override func validateValue(_ value: inout Any?, forKey key: String) throws {
    // Replaces a text by an equal one that has the accent as a separate scalar.
    if value as? [String] == ["\u{E9}"] { value = ["e\u{301}"] }
    if (value as? [String: Any])?["k"] as? String == "old" { value = ["k": "new"] as [String: Any] }
  }
}

@Entity private final class Folder: ManagedObject {
  var name: String?
  var draft: Preferences?
  var preferences: Preferences?
  @Relationship(inverse: "folder") var sheets: OrderedToMany<Sheet>
}

@Entity private final class Sheet: ManagedObject {
  var note: Preferences?
  @Relationship(inverse: "sheets") var folder: Folder?
}

@Entity private final class Plain: ManagedObject {
  var draft: Preferences?
}

/// Behaviours A6 and T1 of Core Data (README.md): transformable attributes (type 1800), with
/// registered transformers and with Codable.
@Suite("Transformable attributes")
struct TransformableTests {
  private func container() throws -> PersistentContainer {
    ValueTransformers.register(ColourTransformer(), named: "TransformableTests.colour")
    return try Sandbox(Account.self, Card.self).container
  }

  private func names(_ context: ManagedObjectContext, _ format: String, _ arguments: any PredicateArgument...)
    throws -> [String]
  {
    let predicate = try FetchPredicate(format: format, argumentArray: arguments)
    return try context.fetch(FetchRequest<Account>(predicate: predicate)).compactMap(\.name).sorted()
  }

  @Test("A Codable type is stored as JSON and read by type and by name")
  func codable() throws {
    let container = try container()
    let context = container.newContext()
    let account = Account(context: context)
    #expect(account.preferences.theme == "dark" && account.draft == nil)
    account.preferences.sizes = [1, .infinity]
    account.draft = Preferences(theme: "é")
    #expect(account.value(forKey: "preferences") as? Preferences == account.preferences)
    #expect(account.changedValues()["draft"] as? Preferences == Preferences(theme: "é"))
    try context.save()
    let same = try #require(try container.newContext().fetch(FetchRequest<Account>()).first)
    #expect(same.preferences == Preferences(theme: "dark", sizes: [1, .infinity]))
    #expect(same.value(forKey: "draft") as? Preferences == Preferences(theme: "é"))
    same.setValue(nil, forKey: "draft")
    same.setValue(Preferences(theme: "b"), forKey: "preferences")
    #expect(same.draft == nil && same.value(forKey: "draft") == nil && same.preferences.theme == "b")
  }

  @Test("A transformer with a registered name converts values of any type to bytes and back")
  func registered() throws {
    let container = try container()
    let context = container.newContext()
    let account = Account(context: context)
    #expect(account.colour == nil)
    account.colour = Colour(red: 7)
    #expect(account.colour == Colour(red: 7))
    account.setValue(Colour(red: 8), forKey: "colour")
    try context.save()
    let same = try #require(try container.newContext().fetch(FetchRequest<Account>()).first)
    #expect(same.colour == Colour(red: 8) && same.value(forKey: "colour") as? Colour == Colour(red: 8))
    #expect(same.committedValues(forKeys: ["colour"])["colour"] as? Colour == Colour(red: 8))
    #expect(try same.snapshot()["colour"]?.value == .data(Data([8])))
    #expect(ValueTransformers.names.contains("TransformableTests.colour"))
  }

  @Test("An attribute of the type Any reads as nil without a value, and otherwise as its value")
  func untyped() throws {
    ValueTransformers.register(ToneTransformer(), named: "TransformableTests.tone")
    let container = try Sandbox(Song.self).container
    let context = container.newContext()
    let song = Song(context: context)
    #expect(song.untyped == nil)
    try context.save()
    let fetched = try #require(try container.newContext().fetch(FetchRequest<Song>()).first)
    #expect(fetched.untyped == nil)
    fetched.untyped = Tone(pitch: 4)
    let value = try #require(fetched.untyped)
    #expect(type(of: value) == Tone.self && (value as? Tone)?.pitch == 4)
    fetched.untyped = nil
    #expect(fetched.untyped == nil)
  }

  @Test("A change inside an attribute's object is not noticed until the attribute is set again")
  func inPlace() throws {
    let container = try container()
    let context = container.newContext()
    let account = Account(context: context)
    let colour = Colour(red: 1)
    account.colour = colour
    try context.save()
    colour.red = 2
    account.colour?.red = 3
    account.colour.map { $0.red = 4 }
    #expect(account.colour == Colour(red: 1) && !account.isUpdated && !context.hasChanges)
    let read = try #require(account.colour)
    read.red = 5
    #expect(!account.isUpdated && !context.hasChanges && account.colour == Colour(red: 1))
    account.colour = read
    try context.save()
    #expect(try container.newContext().fetch(FetchRequest<Account>()).map(\.colour) == [Colour(red: 5)])
  }

  @Test("A value that the transformer cannot convert reads as nil, and the save throws the error")
  func refused() throws {
    let context = try container().newContext()
    let account = Account(context: context)
    account.colour = Colour(red: 13)
    account.draft = Preferences(refuses: true)
    #expect(account.colour == nil && account.draft == nil)
    #expect(refusals(context) == ["1550 draft", "1550 colour"])
    #expect(try names(context, "draft == nil").isEmpty)
    account.setValue("no colour", forKey: "colour")
    account.draft = nil
    let error = try #require(throws: PerdureError.self) { try context.save() }
    #expect(error.message.contains("Refusal"))
    account.colour = nil
    try context.save()
  }

  @Test("A transient value that cannot be encoded reads as nil, and the save throws an error")
  func refusedTransient() throws {
    let context = try container().newContext()
    let card = Card(context: context)
    card.sketch = Preferences(theme: "light")
    #expect(card.sketch == Preferences(theme: "light"))
    try context.save()
    card.sketch = Preferences(refuses: true)
    #expect(card.sketch == nil && card.value(forKey: "sketch") == nil && card.isUpdated)
    #expect(refusals(context) == ["1550 sketch"])
    card.setPrimitiveValue(Preferences(refuses: true), forKey: "sketch")
    #expect(refusals(context) == ["1550 sketch"])
    context.rollback()
    #expect(card.sketch == Preferences(theme: "light"))
  }

  @Test("A derived copy of a transformed attribute has the transformed value")
  func copy() throws {
    let container = try container()
    let context = container.newContext()
    let card = Card(context: context)
    #expect(card.colour == nil)
    card.account = Account(context: context)
    card.account?.colour = Colour(red: 9)
    #expect(card.colour == Colour(red: 9) && card.same == Colour(red: 9))
    try context.save()
    let same = try #require(try container.newContext().fetch(FetchRequest<Card>()).first)
    #expect(same.colour == Colour(red: 9) && same.value(forKey: "colour") as? Colour == Colour(red: 9))
  }

  @Test("Bytes that cannot be decoded can be replaced, and a container without classes reads them as data")
  func unreadable() throws {
    let model = try ManagedObjectModel([
      EntityDescription(
        "Account",
        properties: [
          .string("name"),
          .attribute("preferences", .transformable, optional: false, default: .data(Data([1]))),
          .attribute("draft", .transformable),
          .attribute(
            AttributeDescription(
              "colour", .transformable, valueTransformerName: "TransformableTests.colour")),
        ])
    ])
    ValueTransformers.register(ColourTransformer(), named: "TransformableTests.colour")
    let context = try Sandbox(model, Account.self).container.newContext()
    let account = Account(context: context)
    account.setValue(Preferences(theme: "x"), forKey: "preferences")
    #expect(account.preferences.theme == "x")
    let plain = try Sandbox(model).container.newContext().insertNewObject(forEntityName: "Account")
    #expect(plain["preferences"] as? Data == Data([1]))
    plain["draft"] = Data([0])
    #expect(plain["draft"] as? Data == Data([0]))
  }

  @Test("Without a class, a transformer for a Codable type converts values that are set by name")
  func byName() throws {
    ValueTransformers.register(CodableTransformer(Preferences.self), named: "TransformableTests.preferences")
    let model = try ManagedObjectModel([
      EntityDescription(
        "E",
        properties: [
          .attribute(
            AttributeDescription(
              "p", .transformable, valueTransformerName: "TransformableTests.preferences"))
        ])
    ])
    let context = try Sandbox(model).container.newContext()
    let object = context.insertNewObject(forEntityName: "E")
    object["p"] = Preferences(theme: "t")
    try context.save()
    #expect(object["p"] as? Preferences == Preferences(theme: "t"))
    object["p"] = 5
    #expect(object["p"] == nil && refusals(context) == ["1550 p"])
  }

  @Test("A container with an unregistered transformer does not open, and the error names that transformer")
  func unknown() throws {
    let model = try ManagedObjectModel([
      EntityDescription(
        "E",
        properties: [.attribute(AttributeDescription("a", .transformable, valueTransformerName: "nobody's"))])
    ])
    let error = try #require(throws: PerdureError.self) { try Sandbox(model) }
    #expect(
      error.code == .openFailed && error.message.contains("E.a") && error.message.contains("\"nobody's\""))
  }

  @Test("A predicate cannot compare the order of transformable values, on any path")
  func noOrder() throws {
    let context = try Sandbox(Folder.self, Sheet.self).container.newContext()
    let sheet = Sheet(context: context)
    sheet.note = Preferences(theme: "a")
    sheet.folder = Folder(context: context)
    try context.save()
    func found(_ format: String) throws -> Int {
      try context.fetch(FetchRequest<Folder>(predicate: try FetchPredicate(format: format))).count
    }
    for format in [
      "SUBQUERY(sheets, $c, $c.note < $c.folder.draft).@count > 0", "ANY sheets.note >= draft",
      "SELF['draft'] < draft",
      "sheets.@max.note == nil", "sheets.note.@min == nil",
      "TERNARY(name == 'a', draft, preferences) < draft",
      "draft BETWEEN {draft, preferences}", "sheets[FIRST].note < draft",
      "max({draft, preferences}) == draft",
      "(sheets.note UNION sheets.folder.draft)[0] > draft", "noindex(draft) < draft",
      "SUBQUERY(sheets.note, $n, SUBQUERY(sheets.note, $m, $m > $n).@count > 0).@count > 0",
      "SUBQUERY(sheets.note, $n, $n != nil)[FIRST] > draft",
    ] {
      let error = #expect(throws: FetchError.self, "\(format)") { try found(format) }
      #expect(error?.code == .typeMismatch, "\(format)")
    }
    #expect(
      try found("sheets.note.@count == 1 AND ANY sheets.note != draft AND sheets[FIRST].note != nil") == 1)
    #expect(try found("count(sheets.note) > 0 AND count({draft, preferences}) BETWEEN {0, 2}") == 1)
    let shadowed = "SUBQUERY(sheets.note, $n, SUBQUERY(sheets, $n, $n > nil).@count >= 0).@count > 0"
    #expect(try found(shadowed) == 1)
  }

  @Test("Predicates can compare whole transformable values, and compare them with nil")
  func predicates() throws {
    let context = try container().newContext()
    for (name, theme) in [("a", "x"), ("b", "y"), ("c", nil)] {
      let account = Account(context: context)
      account.name = name
      account.draft = theme.map { Preferences(theme: $0) }
      account.colour = theme == "x" ? Colour(red: 1) : nil
    }
    for _ in 0..<2 {
      #expect(try names(context, "draft == nil") == ["c"])
      #expect(try names(context, "draft == %@", Preferences(theme: "y")) == ["b"])
      #expect(
        try names(context, "draft IN %@", [Preferences(theme: "y"), Preferences(theme: "x")]) == ["a", "b"])
      #expect(try names(context, "colour == %@", Data([1])) == ["a"])
      #expect(
        try context.fetch(FetchRequest<Account> { $0.draft == Preferences(theme: "x") }).map(\.name) == ["a"])
      try context.save()
    }
    #expect(throws: FetchError.self) { try names(context, "draft < %@", Data([1])) }
    #expect(throws: FetchError.self) { try names(context, "draft BEGINSWITH 'a'") }
    #expect(throws: FetchError.self) {
      try context.fetch(FetchRequest<Account>(sortDescriptors: [FetchOrder("draft")]))
    }
    #expect(throws: ModelError.self) {
      try ManagedObjectModel([
        EntityDescription("E", properties: [.attribute("a", .transformable, rules: [.minimumLength(1)])])
      ])
    }
  }

  @Test("If a Codable attribute is set by name to an array of texts, only the next save fails")
  func texts() throws {
    let context = try Sandbox(Plain.self).container.newContext()
    Plain(context: context).setValue(["a", "b"], forKey: "draft")
    #expect(refusals(context) == ["1550 draft"])
    #expect(refusals(context).isEmpty)
  }

  @Test("If validation replaces a transformed value, the new value is saved, even if its type has no ==")
  func replaced() throws {
    ValueTransformers.register(ToneTransformer(), named: "TransformableTests.tone")
    let container = try Sandbox(Song.self).container
    let context = container.newContext()
    let song = Song(context: context)
    song.tone = Tone(pitch: 40)
    try context.save()
    #expect(song.tone?.pitch == 9)
    song.saveCount = 1
    try context.save()
    let other = container.newContext()
    #expect(try other.fetch(Song.fetchRequest()).first?.tone?.pitch == 9)
  }

  @Test("A save ends although a transformer makes different bytes for the same value each time")
  func varyingBytes() throws {
    ValueTransformers.register(VaryingTransformer(), named: "TransformableTests.varying")
    let container = try Sandbox(Parcel.self).container
    let context = container.newContext()
    let parcel = Parcel(context: context)
    (parcel.tags, parcel.table) = (["a", "b"], ["k": "v"])
    try context.save()
    let read = try #require(try container.newContext().fetch(Parcel.fetchRequest()).first)
    #expect(read.tags == ["a", "b"] && read.table?["k"] as? String == "v")
    // Validation replaces a text by an equal text with other scalars, and replaces one value of the
    // table.
    (parcel.tags, parcel.table) = (["\u{E9}"], ["k": "old"])
    try context.save()
    #expect(parcel.tags?.first?.unicodeScalars.count == 2 && parcel.table?["k"] as? String == "new")
  }

  @Test("A typed snapshot has the values, and its contents are equal after coding as JSON")
  func snapshots() throws {
    let account = Account(context: try container().newContext())
    account.draft = Preferences(theme: "s")
    let picture = try TypedSnapshot(account)
    #expect(picture.draft == Preferences(theme: "s") && picture.preferences.theme == "dark")
    let text = try JSONEncoder().encode(picture.contents)
    #expect(try JSONDecoder().decode(ObjectSnapshot.self, from: text) == picture.contents)
  }
}
