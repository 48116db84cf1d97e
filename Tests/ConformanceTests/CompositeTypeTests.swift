import Foundation
import Perdure
import PerdureTestSupport
import Testing

private enum Level: Int16, AttributeValue, CaseIterable { case low = 1, high }

private struct Note: CodableAttributeValue, Equatable {
  var words: [String] = []
}

/// A composite with rules and with an element of each type.
@Composite private struct Details: Equatable {
  @Attribute(.length(2...5), .pattern("[a-z]+")) var code: String?
  @Attribute(.minimum(1)) var level: Level?
  var note: Note?
  var price: Decimal?
  var seen: Date?
  var mark: UUID?
  var bytes: Data?
  var page: URL?
  var weight: Double?
  var share: Float?
  var isOld: Bool?
  var other: ManagedObjectID?
  @Attribute(originalName: "contakt") var contact: Contact = Contact()
  var `class`: Int?
  var isEmpty: Bool { code == nil }
  static let none = Details()
}

/// A composite without required elements.
@Composite private struct Contact: Equatable {
  var phone: String?
  var mail: String?
  var content: String?
}

/// A composite with handwritten code instead of the expansion of `@Composite`.
private struct Span: CompositeAttributeValue, Equatable {
  var from: Int
  var to: Int

  static var compositeElements: [PropertyDescription] {
    [.int64("from", optional: false), .int64("to", optional: false)]
  }
  static var compositeNames: [AnyKeyPath: String] { [\Span.from: "from", \Span.to: "to"] }
  init(from: Int, to: Int) { (self.from, self.to) = (from, to) }
  init(compositeContent content: CompositeContent) {
    self.init(from: content["from"] ?? 0, to: content["to"] ?? 0)
  }
  var compositeContent: CompositeContent {
    var content = CompositeContent()
    content["from"] = from
    content["to"] = to
    return content
  }
}

@Entity(unique: [["name", "details.code"]]) private final class Ware: ManagedObject {
  var name: String = ""
  @Attribute(.composite) var details: Details?
  @Attribute(.composite) var contact: Contact
  @Attribute(.composite, originalName: "range") var span: Span?
  var last: Int?

  override class var validatedKeys: [String] { ["span"] }

  override func validateValue(_ value: inout Any?, forKey key: String) throws {
    try super.validateValue(&value, forKey: key)
    guard let span = value as? [String: Any?], let from = span["from"] as? Int,
      let to = span["to"] as? Int
    else { return }
    if to < from { value = ["from": to, "to": from] }
  }
}

/// Behaviour A7 of Core Data (README.md): composite attributes as structs.
@Suite("Structs of composite attributes")
struct CompositeTypeTests {
  private func context() throws -> ManagedObjectContext { try Sandbox(Ware.self).container.newContext() }

  @Test("Elements have every type of attributes and keep their values after a save")
  func types() throws {
    let sandbox = try Sandbox(Ware.self)
    let context = sandbox.container.newContext()
    let (ware, other) = (Ware(context: context), Ware(context: context))
    other.name = "other"
    try context.save()
    var details = Details()
    #expect(details.isEmpty && details == Details.none)
    details.code = "abc"
    details.level = .high
    details.note = Note(words: ["a", "b"])
    details.price = Decimal(string: "12345678901234567890.05")
    details.seen = Date(timeIntervalSinceReferenceDate: 5.5)
    details.mark = UUID()
    details.bytes = Data([1, 2])
    details.page = URL(string: "https://example.org/x")
    (details.weight, details.share, details.isOld, details.class) = (1.5, 0.25, true, 3)
    details.other = other.objectID
    (details.contact.mail, details.contact.content) = ("m", "c")
    ware.details = details
    (ware.span, ware.last) = (Span(from: 1, to: 2), 9)
    #expect(ware.details == details && ware.last == 9)
    try context.save()
    let found = try #require(
      try sandbox.container.newContext().fetch(FetchRequest<Ware> { $0.details.level == .high }).first)
    #expect(found.details == details && found.span == Span(from: 1, to: 2) && found.last == 9)
    #expect(found.value(forKeyPath: "details.contact.mail") as? String == "m")
    #expect(try TypedSnapshot(found).details == details)
    found.setValue(details, forKey: "details")
    #expect(found.details == details && found.changedValues().isEmpty)
  }

  @Test(
    "Elements have rules, and errors name the whole path, even in validateValue")
  func rules() throws {
    let context = try context()
    let ware = Ware(context: context)
    ware.details = Details(code: "A", level: .low)
    #expect(refusals(context) == ["1670 details.code", "1680 details.code"])
    ware.details?.code = "abcdef"
    #expect(refusals(context) == ["1660 details.code"])
    var value: Any? = ["code": "abcdef"] as [String: Any]
    let tooLong = try #require(throws: PerdureError.self) {
      try ware.validateValue(&value, forKey: "details")
    }
    #expect(tooLong.details.map(\.property) == ["details.code"])
    value = ["from": 3] as [String: Any]
    let missing = try #require(throws: PerdureError.self) { try ware.validateValue(&value, forKey: "span") }
    #expect(missing.details.map { "\($0.code.rawValue) \($0.property)" } == ["1570 span.to"])
    let unfit: [(Any, String)] = [
      ("x", "span"), (["too": 1], "span"),
      (Contact(phone: "1"), "span"), (["from": "x", "to": 2] as [String: Any], "span.from"),
    ]
    for (other, path) in unfit {
      value = other
      let error = try #require(throws: PerdureError.self) { try ware.validateValue(&value, forKey: "span") }
      #expect(error.details.map { "\($0.code.rawValue) \($0.property)" } == ["1550 \(path)"])
    }
    value = nil
    try ware.validateValue(&value, forKey: "span")
    ware.details?.code = "abcde"
    #expect(refusals(context) == [])
  }

  @Test("validateValue may replace the value of a composite")
  func replacing() throws {
    let context = try context()
    let ware = Ware(context: context)
    ware.span = Span(from: 5, to: 2)
    try context.save()
    #expect(ware.span == Span(from: 2, to: 5))
  }

  @Test("A composite without required elements needs no value, even if its variable is not optional")
  func empty() throws {
    let context = try context()
    let ware = Ware(context: context)
    ware.contact = Contact()
    try context.save()
    #expect(ware.contact == Contact() && ware.value(forKey: "contact") == nil)
    ware.contact.phone = "1"
    ware.details = Details(contact: Contact(phone: "2"))
    try context.save()
    #expect(ware.contact.phone == "1" && ware.details?.contact == Contact(phone: "2"))
    let request = FetchRequest<Ware> { $0.details.contact.phone == "2" && $0.contact != nil }
    #expect(try context.fetch(request) == [ware])
  }

  @Test("A uniqueness constraint may combine elements of composites with attributes")
  func uniqueness() throws {
    let context = try context()
    for (name, code) in [("a", "xx"), ("a", "yy"), ("b", "xx"), ("a", nil), ("a", nil)] {
      let ware = Ware(context: context)
      ware.name = name
      ware.details = code.map { Details(code: $0) }
    }
    try context.save()
    let again = Ware(context: context)
    (again.name, again.details) = ("a", Details(code: "yy"))
    let error = try #require(throws: PerdureError.self) { try context.save() }
    #expect(error.code == .constraintConflict && "\(error)".contains("details.code"), "\(error)")
  }

  @Test("The description of an entity contains the declarations of its composite structs")
  func description() throws {
    let properties = Ware.entityDescription.properties
    guard case .composite(let details) = properties[1], case .composite(let contact) = properties[2],
      case .composite(let span) = properties[3]
    else { return #expect(Bool(false), "\(properties)") }
    #expect(details.isOptional && contact.isOptional && span.isOptional)
    #expect(span.renamingIdentifier == "range" && span.elements == Span.compositeElements)
    #expect(details.elements.map(\.name).suffix(2) == ["contact", "class"])
    #expect(details.elements[12].renamingIdentifier == "contakt")
    guard case .attribute(let code) = details.elements[0] else { return #expect(Bool(false)) }
    #expect(code.rules == [.minimumLength(2), .maximumLength(5), .pattern("[a-z]+")])
    #expect(Ware.entityDescription.uniquenessConstraints == [["name", "details.code"]])
  }
}
