import Foundation
import Perdure
import PerdureTestSupport
import Testing

private enum Level: Int16, AttributeValue, CaseIterable { case low = 1, high }

private struct Note: CodableAttributeValue, Equatable {
  var words: [String] = []
}

@Composite private struct Mark: Equatable {
  var code: Int?
  var level: Level?
  var note: Note?
}

@Composite private struct Address: Equatable {
  var city: String
  var country: String = "FR"
  var mark: Mark?
}

@Composite private struct Home: Equatable {
  var mark: Mark?
  var last: Address?
  var floor: Int = 2
}

@Entity private final class Shop: ManagedObject {
  @Attribute(.composite) var address: Address?
  @Attribute(.composite) var second: Address? = nil
  @Attribute(.composite) var third: Address? = Address(city: "A")
  @Attribute(.composite) var home: Home
  @Attribute(.composite) var mark: Mark?
}

@Entity private class House: ManagedObject {
  @Attribute(.composite) var home: Home?
  var number: Int = 1
}

@Entity private final class Tower: House {
  @Attribute(.composite) var mark: Mark?
  var height: Int = 2
}

/// A type whose content names an element that its description does not have.
private struct Odd: CompositeAttributeValue {
  var from = 0

  static var compositeElements: [PropertyDescription] { [.int64("from"), .int64("to")] }
  static var compositeNames: [AnyKeyPath: String] { [\Odd.from: "from"] }
  init(from: Int) { self.from = from }
  init(compositeContent content: CompositeContent) { from = content["from"] ?? 0 }
  var compositeContent: CompositeContent {
    var content = CompositeContent()
    content["form"] = from
    return content
  }
}

@Entity private final class Oddity: ManagedObject {
  @Attribute(.composite) var odd: Odd?
}

/// Transforms a text to its reversed bytes.
private struct Backwards: ValueTransformer {
  static let name = "Backwards in a composite"
  struct NoText: Error {}

  func data(from value: Any) throws -> Data {
    guard let text = value as? String else { throw NoText() }
    return Data(text.utf8.reversed())
  }
  func value(from data: Data) throws -> Any { String(decoding: data.reversed(), as: UTF8.self) }
}

private struct Sign: CompositeAttributeValue {
  var bytes: Data?

  static var compositeElements: [PropertyDescription] {
    [.attribute(AttributeDescription("text", .transformable, valueTransformerName: Backwards.name))]
  }
  static var compositeNames: [AnyKeyPath: String] { [\Sign.bytes: "text"] }
  init(bytes: Data?) { self.bytes = bytes }
  init(compositeContent content: CompositeContent) { bytes = content["text"] }
  var compositeContent: CompositeContent {
    var content = CompositeContent()
    content["text"] = bytes
    return content
  }
}

/// Behaviour A7 of Core Data (README.md): stored values that a struct cannot read, and initial
/// values.
@Suite("Structs of composite attributes and stored values")
struct CompositeVersionTests {
  private func context() throws -> ManagedObjectContext { try Sandbox(Shop.self).container.newContext() }

  private func bytes(_ shop: Shop, _ path: String) throws -> Value? {
    try TypedSnapshot(shop).contents[path]?.value
  }

  @Test("An optional composite without an initial value is nil and requires no elements")
  func beginning() throws {
    let context = try context()
    let shop = Shop(context: context)
    #expect(shop.address == nil && shop.second == nil && shop.third == Address(city: "A"))
    #expect(shop.home == Home(mark: nil, last: nil, floor: 2))
    try context.save()
    #expect(shop.address == nil && shop.second == nil && shop.third?.country == "FR")
  }

  @Test("Setting one element does not change stored values that the struct cannot read")
  func unknownValues() throws {
    let context = try context()
    let shop = Shop(context: context)
    let stored = Value.data(Data(#"{"more": 1, "words": ["a"]}"#.utf8))
    shop.mark = Mark(code: 1, level: .low, note: Note(words: ["b"]))
    shop.setValue(7 as Int16, forKey: "mark.level")
    shop.setValue(stored, forKey: "mark.note")
    try context.save()
    #expect(shop.mark == Mark(code: 1, level: nil, note: Note(words: ["a"])))
    shop.mark?.code = 2
    #expect(shop.value(forKey: "mark.level") as? Int16 == 7)
    #expect(try bytes(shop, "mark.note") == stored)
    shop.mark?.level = .high
    shop.mark?.note?.words = ["c"]
    #expect(shop.value(forKey: "mark.level") as? Int16 == 2)
    #expect(shop.mark == Mark(code: 2, level: .high, note: Note(words: ["c"])))
    #expect(try bytes(shop, "mark.note") != stored)
  }

  @Test("Setting an unreadable element to the value that is read from it keeps the stored value")
  func shownValues() throws {
    let context = try context()
    let shop = Shop(context: context)
    shop.mark = Mark(code: 1)
    shop.setValue(7 as Int16, forKey: "mark.level")
    shop.mark?.level = nil
    #expect(shop.value(forKey: "mark.level") as? Int16 == 7 && shop.mark?.level == nil)
    shop.setValue(nil, forKey: "mark.level")
    #expect(shop.value(forKey: "mark.level") == nil)
  }

  @Test("Setting a composite to its own value marks the object as updated, but changes no values")
  func sameValue() throws {
    let context = try context()
    let shop = Shop(context: context)
    shop.address = Address(city: "A", mark: Mark(code: 1))
    shop.mark = Mark(code: 1, level: .low, note: Note(words: []))
    try context.save()
    shop.mark = shop.mark
    #expect(context.updatedObjects == [shop] && shop.changedValues().isEmpty)
    try context.save()
    shop.address = shop.address
    #expect(context.updatedObjects == [shop] && shop.changedValues().isEmpty)
    try context.save()
    #expect(shop.address == Address(city: "A", mark: Mark(code: 1)) && shop.mark?.level == .low)
  }

  @Test("When a composite is removed, its unreadable elements are removed too")
  func goingAlong() throws {
    let context = try context()
    let shop = Shop(context: context)
    shop.mark = Mark(code: 1)
    shop.home.mark = Mark(code: 1)
    for path in ["mark.level", "home.mark.level"] { shop.setValue(7 as Int16, forKey: path) }
    shop.home.floor = 3
    #expect(shop.value(forKey: "home.mark.level") as? Int16 == 7)
    shop.home.mark = nil
    #expect(shop.value(forKey: "home.mark.level") == nil && shop.home.mark == nil && shop.home.floor == 3)
    shop.mark = nil
    #expect(shop.value(forKey: "mark.level") == nil && shop.mark == nil)
  }

  @Test("Composites of a class and of its superclass are independent")
  func inheritance() throws {
    let context = try Sandbox(House.self, Tower.self).container.newContext()
    let tower = Tower(context: context)
    tower.mark = Mark(code: 5)
    tower.home = Home(mark: Mark(code: 6), floor: 7)
    #expect(tower.number == 1 && tower.height == 2)
    (tower.number, tower.height) = (3, 4)
    try context.save()
    let request = FetchRequest<Tower> { $0.mark.code == 5 && $0.home.mark.code == 6 && $0.height == 4 }
    #expect(try context.count(for: request) == 1)
    tower.home = nil
    #expect(tower.mark == Mark(code: 5) && tower.home == nil && (tower.number, tower.height) == (3, 4))
  }

  @Test("A whole composite can be neither indexed nor unique")
  func wholeKeys() throws {
    func problems(_ indexes: [FetchIndexDescription], _ unique: [[String]]) throws -> [String] {
      let entity = EntityDescription(
        "E", properties: [.composite("c", [.string("a")])], indexes: indexes, uniquenessConstraints: unique)
      let error = try #require(throws: ModelError.self) { try ManagedObjectModel([entity]) }
      return error.problems.map { "\($0)" }
    }
    #expect(try problems([FetchIndexDescription(on: "c")], []).count == 1)
    #expect(try problems([], [["c"]]).count == 1)
  }

  @Test("Setting a struct also stores the values that it has for absent elements")
  func zeros() throws {
    let context = try context()
    let shop = Shop(context: context)
    shop.setValue(nil, forKey: "home")
    #expect(shop.home.floor == 0)
    shop.home = Home(floor: 0)
    #expect(shop.value(forKey: "home.floor") as? Int == 0)
  }

  @Test("By name, an element of a Codable type has the same value as in the struct")
  func codableElements() throws {
    let context = try context()
    let shop = Shop(context: context)
    shop.mark = Mark(note: Note(words: ["a"]))
    shop.home.mark = Mark(note: Note(words: ["b"]))
    #expect(shop.value(forKey: "mark.note") as? Note == Note(words: ["a"]))
    #expect(shop.value(forKeyPath: "home.mark.note") as? Note == Note(words: ["b"]))
    let mark = shop.value(forKey: "mark")
    #expect((mark as? [String: Any?])?["note"] as? Note == Note(words: ["a"]))
    #expect(shop.value(forKey: "address.mark.note") == nil)
    shop.setValue(mark, forKey: "home.mark")
    #expect(shop.home.mark == Mark(note: Note(words: ["a"])))
    shop.setValue(Data([1]), forKey: "mark.note")
    #expect(shop.value(forKey: "mark.note") == nil)
  }

  @Test("Setting a composite struct by name stores its bytes without calling the transformer")
  func transformedElements() throws {
    ValueTransformers.register(Backwards(), named: Backwards.name)
    let model = try ManagedObjectModel([
      EntityDescription("S", properties: [.composite("sign", Sign.compositeElements)])
    ])
    let context = try Sandbox(model).container.newContext()
    let object = context.insertNewObject(forEntityName: "S")
    object["sign"] = Sign(bytes: Data("ba".utf8))
    try context.save()
    #expect(object["sign.text"] as? String == "ab")
    object["sign"] = ["text": "cd"]
    try context.save()
    #expect(object["sign.text"] as? String == "cd")
  }

  @Test("A sort descriptor with a key path through a composite sorts by the element")
  func keyPaths() throws {
    let context = try Sandbox(Shop.self).container.newContext()
    for floor in [2, 1, 3] { Shop(context: context).home.floor = floor }
    let request = FetchRequest<Shop>(sortDescriptors: [FetchOrder(\Shop.home.floor, ascending: false)])
    for _ in 0..<2 {
      #expect(try context.fetch(request).map(\.home.floor) == [3, 2, 1])
      try context.save()
    }
  }

  #if os(Linux) || os(macOS)
    @Test("A snapshot that includes a whole composite by name stops the program")
    func wholes() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        _ = try Shop(context: Sandbox(Shop.self).container.newContext()).snapshot(including: ["mark"])
      }
      let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
      #expect(said.contains("Shop.mark is a composite attribute"), "\(said)")
    }

    @Test("A composite value with an unknown element stops the program with a message")
    func misspelt() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        Oddity(context: try Sandbox(Oddity.self).container.newContext()).odd = Odd(from: 1)
      }
      let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
      #expect(
        said.contains(
          "The compositeContent of a value for Oddity.odd names \"form\", which is not an element"), "\(said)"
      )
    }
  #endif
}
