import Foundation
import Perdure
import PerdureTestSupport
import Testing

private enum Size: Int16, AttributeValue, CaseIterable { case small = 1, large = 2 }

private enum Level: String, AttributeValue, CaseIterable { case low, high }

private struct Options: CodableAttributeValue, Equatable { var zoom = 1 }

private struct Flags: CodableAttributeValue { var bold = true }

/// A class that only a registered transformer can store.
private final class Ink {
  let red: UInt8
  init(red: UInt8) { self.red = red }
}

private struct InkTransformer: ValueTransformer {
  private struct Refusal: Error {}

  /// Refuses an ink with the red value 13.
  func data(from value: Any) throws -> Data {
    guard let ink = value as? Ink, ink.red != 13 else { throw Refusal() }
    return Data([ink.red])
  }

  func value(from data: Data) throws -> Any {
    guard data.count == 1 else { throw Refusal() }
    return Ink(red: data[data.startIndex])
  }
}

@Composite private struct Spot: Equatable {
  var code: Int32?
  var city: String?
  var size: Size?
}

@Composite private struct Mark: Equatable { var city: String? }

@Composite private struct Word: Equatable { var text: String? }

@Entity private final class Parcel: ManagedObject {
  var size: Size?
  var level: Level?
  var sender: ManagedObjectID?
  var options: Options?
  var numbers: [Int]?
  @Attribute(.transformed(by: "KeyedSpecialValueTests.ink")) var ink: Ink?
  @Attribute(.composite) var spot: Spot?
}

@Entity private final class Sender: ManagedObject {
  var name: String?
}

/// An object and its context. Some values of the table, such as ids, need them.
private struct Post {
  let context: ManagedObjectContext
  let sender: Sender
  let stranger: Sender

  init() throws {
    ValueTransformers.register(InkTransformer(), named: "KeyedSpecialValueTests.ink")
    context = try Sandbox(Parcel.self, Sender.self).container.newContext()
    sender = Sender(context: context)
    try context.save()
    let other = try Sandbox(Parcel.self, Sender.self).container.newContext()
    stranger = Sender(context: other)
    try other.save()
  }

  func shown(_ value: Any?) -> String {
    switch value {
    case nil: "-"
    case let id as ManagedObjectID: id == sender.objectID ? "sender" : "stranger"
    case let options as Options: "zoom\(options.zoom)"
    case let numbers as [Int]: numbers.map(String.init).joined(separator: "+")
    case let ink as Ink: "red\(ink.red)"
    case let elements as [String: Any?]:
      ["code", "city", "size"].map { shown(elements[$0] ?? nil) }.joined(separator: "/")
    case .some(let value): "\(value)"
    }
  }
}

@Suite("Values of special types that are set by name")
struct KeyedSpecialValueTests {
  private static let keys = [
    "size", "level", "sender", "options", "numbers", "ink", "spot", "spot.code", "spot.city", "spot.size",
  ]

  /// Each row has values with the same content: Swift values, and instances of Foundation's
  /// classes. It also has the result of setting each attribute of `keys` to any of these values.
  ///
  /// | result | meaning |
  /// |---|---|
  /// | a value | both setters accept the value, and the attribute shows this |
  /// | `.` | the throwing setter throws; the other one changes nothing, and the save throws the error |
  /// | `?9` | the throwing setter throws; the other one stores 9, which the property's type does not know |
  /// | `~` | the throwing setter throws; the other one accepts the value, and the save refuses it |
  /// | `!` | both setters accept the value, and the save refuses it |
  private func rows(_ post: Post) -> [(values: [Any], held: String)] {
    [
      ([1], "1 . . . . ~ . 1 . 1"),
      ([2 as Int8, NSNumber(value: 2)], "2 . . . . ~ . 2 . 2"),
      ([9, NSNumber(value: 9)], "?9 . . . . ~ . 9 . ?9"),
      ([70000, NSNumber(value: 70000)], ". . . . . ~ . 70000 . ."),
      ([1.0], "1 . . . . ~ . 1 . 1"),
      ([1.5, NSNumber(value: 1.5)], ". . . . . ~ . . . ."),
      ([true, NSNumber(value: true)], "1 . . . . ~ . 1 . 1"),
      ([Decimal(2), NSDecimalNumber(value: 2)], "2 . . . . ~ . 2 . 2"),
      (["low", NSString(string: "low")], ". low . . . ~ . . low ."),
      (["x", NSString(string: "x")], ". ?x . . . ~ . . x ."),
      (["low+".prefix(3)], ". low . . . ~ . . low ."),
      ([Size.large], "2 . . . . ~ . 2 . 2"),
      ([Optional<Size>.some(.small) as Any], "1 . . . . ~ . 1 . 1"),
      ([Level.high], ". high . . . ~ . . high ."),
      ([post.sender.objectID], ". . sender . . ~ . . . ."),
      ([post.sender], ". . sender . . ~ . . . ."),
      ([post.stranger.objectID], ". . ! . . ~ . . . ."),
      (
        [URL(string: post.sender.objectID.uri)!, NSURL(string: post.sender.objectID.uri)!],
        ". . . . . ~ . . . ."
      ),
      ([Options(zoom: 3)], ". . . zoom3 . ~ . . . ."),
      ([Data(#"{"zoom":4}"#.utf8), NSData(data: Data(#"{"zoom":4}"#.utf8))], ". . . zoom4 . ~ . . . ."),
      ([Flags()], ". . . ?- . ~ . . . ."),
      ([Data("[6,7]".utf8), NSData(data: Data("[6,7]".utf8))], ". . . ?- 6+7 ~ . . . ."),
      ([Data([7]), NSData(data: Data([7]))], ". . . ?- . ~ . . . ."),
      ([[1, 2], NSArray(array: [1, 2])], ". . . . 1+2 ~ . . . ."),
      ([[1.0, 2.0]], ". . . . 1+2 ~ . . . ."),
      ([[1.5]], ". . . . . ~ . . . ."),
      ([["a"], NSArray(array: ["a"])], ". . . . . ~ . . . ."),
      ([[1, 2] as [Any]], ". . . . 1+2 ~ . . . ."),
      ([[] as [Int]], ". . . .  ~ . . . ."),
      ([Set([1])], ". . . . . ~ . . . ."),
      ([Ink(red: 7)], ". . . . . red7 . . . ."),
      ([Ink(red: 13)], ". . . . . ~ . . . ."),
      ([Spot(code: 1, city: "c", size: .large)], ". . . . . ~ 1/c/2 . . ."),
      ([Mark(city: "m")], ". . . . . ~ -/m/- . . ."),
      ([Word(text: "w")], ". . . . . ~ . . . ."),
      ([["code": 1, "city": "c"] as [String: Any]], ". . . . . ~ 1/c/- . . ."),
      ([["code": NSNumber(value: 3), "city": NSNull()] as [String: Any]], ". . . . . ~ 3/-/- . . ."),
      ([["size": 2], ["size": NSNumber(value: 2)]], ". . . . . ~ -/-/2 . . ."),
      ([["size": 9]], ". . . . . ~ ?-/-/9 . . ."),
      ([["code": "x"], ["code": NSString(string: "x")]], ". . . . . ~ . . . ."),
      ([["town": "c"]], ". . . . . ~ . . . ."),
      (
        [["city": "c"], ["city": NSString(string: "c")], NSDictionary(dictionary: ["city": "c"])],
        ". . . . . ~ -/c/- . . ."
      ),
      ([NSDictionary(dictionary: [1: "c"])], ". . . . . ~ . . . ."),
      ([NSNull()], "- - - - - - - - - -"),
      ([Optional<Size>.none as Any], "- - - - - - - - - -"),
      ([NSObject()], ". . . . . ~ . . . ."),
      ([(1, 2)], ". . . . . ~ . . . ."),
      ([Int.self], ". . . . . ~ . . . ."),
      ([{ 1 } as () -> Int], ". . . . . ~ . . . ."),
    ]
  }

  /// A parcel in which every attribute except `sender` has a value.
  private func parcel(_ context: ManagedObjectContext) -> Parcel {
    let parcel = Parcel(context: context)
    (parcel.size, parcel.level, parcel.options) = (.small, .low, Options(zoom: 8))
    (parcel.numbers, parcel.ink) = ([8], Ink(red: 8))
    parcel.spot = Spot(code: 8, city: "8", size: .small)
    return parcel
  }

  @Test("The throwing setter and setValue accept or reject each value as the table says")
  func everyPair() throws {
    let post = try Post()
    for (values, held) in rows(post) {
      let results = held.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
      #expect(results.count == Self.keys.count, "\(values)")
      for value in values {
        for (key, expected) in zip(Self.keys, results) { try check(value, for: key, expected, post) }
      }
    }
  }

  private func check(_ value: Any, for key: String, _ expected: String, _ post: Post) throws {
    let place: Comment = "\(type(of: value)) \(value), for \(key)"
    let (checked, plain) = (parcel(post.context), parcel(post.context))
    let before = post.shown(checked[key])
    let isRefused = [".", "?", "~"].contains { expected.hasPrefix($0) }
    do throws(PerdureError) {
      try checked.setCheckedValue(value, forKey: key)
      #expect(!isRefused, place)
      if expected != "!" { #expect(post.shown(checked[key]) == expected, place) }
    } catch {
      #expect(isRefused && error.code == .validation, "\(place): \(error)")
      let properties = error.details.map(\.property)
      #expect(properties.count == 1 && properties[0].hasPrefix(key), "\(place): \(error)")
      #expect(post.shown(checked[key]) == before, place)
    }
    if expected == "!" {
      #expect(refusals(post.context) == ["1550 \(key)"], place)
      post.context.delete(checked)
    }
    plain.setValue(value, forKey: key)
    switch expected {
    case ".": #expect(post.shown(plain[key]) == before, place)
    case "!", "~": break
    default:
      #expect(post.shown(plain[key]) == String(expected.drop { $0 == "?" }), place)
    }
    let reported = refusals(post.context)
    if [".", "~", "!"].contains(expected) {
      #expect(reported.count == 1 && reported[0].hasPrefix("1550 \(key)"), "\(place): \(reported)")
    } else {
      #expect(reported.isEmpty, "\(place): \(reported)")
    }
    post.context.rollback()
  }

  @Test("Values that were set by name are read back after a save, and an unknown raw value stays stored")
  func readBack() throws {
    let post = try Post()
    let parcel = Parcel(context: post.context)
    for (key, value) in [
      ("size", 2), ("level", "x"), ("sender", post.sender), ("options", Options(zoom: 3)),
      ("numbers", [1, 2]),
      ("ink", Ink(red: 7)), ("spot", Spot(code: 1)), ("spot.city", "c"), ("spot.size", 9),
    ] as [(String, Any)] {
      parcel.setValue(value, forKey: key)
    }
    try post.context.save()
    post.context.reset()
    let stored = try #require(try post.context.fetch(FetchRequest<Parcel>()).first)
    let shown = Self.keys.map { post.shown(stored[$0]) }
    #expect(shown == ["2", "x", "sender", "zoom3", "1+2", "red7", "1/c/9", "1", "c", "9"])
    #expect(stored.size == .large && stored.level == nil && stored.spot?.size == nil)
  }
}
