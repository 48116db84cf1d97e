import Foundation
import Perdure
import PerdureKeyedArchives
import Testing

@Entity private final class Note: ManagedObject {
  @Attribute(.transformed(by: KeyedArchiveTransformer.name)) var tags: [String]?
  @Attribute(.transformed(by: KeyedArchiveTransformer.name)) var marks: [String: Int]?
}

private struct Unknown {}

/// Functions that create archives with nested arrays or changed objects.
private enum Archive {
  /// An archive of a text in `depth` nested arrays. Each array contains its inner array `times`
  /// times.
  static func nested(_ depth: Int, times: Int = 1) throws -> Data {
    func reference(_ place: Int) -> String { "<dict><key>CF$UID</key><integer>\(place)</integer></dict>" }
    let lists = (1...depth).map { place in
      let elements = String(repeating: reference(place + 1), count: times)
      return
        "<dict><key>$class</key>\(reference(depth + 2))<key>NS.objects</key><array>\(elements)</array></dict>"
    }
    let text = """
      <plist version="1.0"><dict><key>$top</key><dict><key>root</key>\(reference(1))</dict><key>$objects</key><array>
      <string>$null</string>\(lists.joined())<string>a</string>
      <dict><key>$classname</key><string>NSArray</string></dict></array></dict></plist>
      """
    let list = try PropertyListSerialization.propertyList(from: Data(text.utf8), format: nil)
    return try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
  }

  /// An archive whose list of objects was edited by `change`.
  static func changed(
    _ value: Any, _ change: (inout [Any]) throws -> Void
  ) throws -> Data {
    let good = try NSKeyedArchiver.archivedData(withRootObject: value, requiringSecureCoding: true)
    var archive = try #require(
      PropertyListSerialization.propertyList(from: good, format: nil) as? [String: Any])
    var objects = try #require(archive["$objects"] as? [Any])
    try change(&objects)
    archive["$objects"] = objects
    return try PropertyListSerialization.data(fromPropertyList: archive, format: .binary, options: 0)
  }

  /// An archive in which `entries` replaces or removes entries of the archived object. The first
  /// argument of `entries` is the reference to that object.
  static func changed(_ value: Any, _ entries: (Any, [Any]) -> [String: Any?]) throws -> Data {
    let good = try NSKeyedArchiver.archivedData(withRootObject: value, requiringSecureCoding: true)
    let archive = try #require(
      PropertyListSerialization.propertyList(from: good, format: nil) as? [String: Any])
    let root = try #require((archive["$top"] as? [String: Any])?[NSKeyedArchiveRootObjectKey])
    return try changed(value) { objects in
      var table = try #require(objects[1] as? [String: Any])
      for (key, entry) in entries(root, objects) { table[key] = entry }
      objects[1] = table
    }
  }
}

@Suite("Transformable attributes as keyed archives")
struct KeyedArchiveTests {
  @Test("The transformer has Core Data's name, and stored values are read unchanged")
  func attributes() throws {
    KeyedArchiveTransformer.register()
    #expect(ValueTransformers.names.contains("NSSecureUnarchiveFromData"))
    let container = try PersistentContainer(name: "Notes", classes: [Note.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let note = Note(context: context)
    (note.tags, note.marks) = (["a", "é"], ["x": 1])
    try context.save()
    let same = try #require(try container.newContext().fetch(FetchRequest<Note>()).first)
    #expect(same.tags == ["a", "é"] && same.marks == ["x": 1])
    same.setValue(Unknown(), forKey: "tags")
    #expect(same.tags == nil)
  }

  @Test("Archived values of every supported type are read unchanged")
  func kinds() throws {
    let transformer = KeyedArchiveTransformer()
    func same<T: Equatable>(_ value: T) throws -> Bool {
      try transformer.value(from: transformer.data(from: value)) as? T == value
    }
    #expect(try same("text") && same(5) && same(1.5) && same(true) && same(Set(["a"])))
    #expect(try same(Date(timeIntervalSinceReferenceDate: 1.25)) && same(Data([1, 2])) && same(UUID()))
    #expect(try same([1, 2]) && same(["k": ["v", "w"]]))
    #expect(try same(#require(URL(string: "https://example.org/a?b"))))
    #expect(try transformer.value(from: transformer.data(from: NSNull())) is NSNull)
  }

  @Test("Invalid archives throw errors, and archives with a changed byte never crash the program")
  func damaged() throws {
    let list = [try #require(URL(string: "https://example.org")), UUID(), Date()] as [Any]
    for data in [
      try Archive.changed([1]) { root, _ in ["NS.objects": [root]] },
      try Archive.changed([1]) { _, _ in ["NS.objects": nil] },
      try Archive.changed([1]) { _, _ in ["NS.objects": [1]] },
      try Archive.changed([1]) { root, _ in ["$class": root] },
      try Archive.changed([1]) { _, _ in ["$class": "NSArray"] },
      try Archive.changed(["a": "b"]) { _, _ in ["NS.objects": []] },
      try Archive.changed(["a": "b"]) { root, _ in ["NS.keys": [root]] },
      try Archive.changed([1]) { $0[$0.count - 1] = "NSArray" },
      try Archive.changed([1]) { $0.removeLast() },
      try Archive.changed([UUID()]) { objects in
        let named = try #require((objects[2] as? [String: Any])?["$class"])
        objects[2] = ["$class": named]
      },
      try Archive.changed(UUID()) { _, _ in ["NS.uuidbytes": Data([1])] },
      try Archive.changed(Date()) { _, _ in ["NS.time": "now"] },
      try Archive.changed([1]) { $0[$0.count - 1] = ["$classname": "NSString", "$classes": ["NSString"]] },
      try Archive.changed([1]) { $0[$0.count - 1] = ["$classname": "NSCountedSet", "$classes": ["NSSet"]] },
    ] {
      #expect(throws: KeyedArchiveError.self) { try KeyedArchiveTransformer().value(from: data) }
    }
    let table = ["k": list, "l": [["m", true], [2.5, Data([7])]]] as [String: Any]
    for value in [table, Set(["a", "b"])] as [Any] {
      let good = try KeyedArchiveTransformer().data(from: value)
      for (place, byte) in good.enumerated() {
        var bad = good
        bad[place] = place.isMultiple(of: 2) ? byte &+ 1 : byte ^ 0x40
        _ = try? KeyedArchiveTransformer().value(from: bad)
      }
    }
  }

  @Test("Archives with nesting that is too deep, or with too many references, throw errors")
  func tooMuch() throws {
    let transformer = KeyedArchiveTransformer()
    #expect(try transformer.value(from: Archive.nested(100)) is NSArray)
    for data in [try Archive.nested(300), try Archive.nested(40, times: 2)] {
      #expect(throws: KeyedArchiveError.self) { try transformer.value(from: data) }
    }
    let numbers = Array(0..<2000)
    #expect(try transformer.value(from: transformer.data(from: numbers)) as? [Int] == numbers)
    let table = [[["a": [["b"]]]]]
    let same = try transformer.value(from: transformer.data(from: table))
    #expect(same as? [[[String: [[String]]]]] == table)
  }

  @Test("Mutable values and relative URLs keep their types")
  func mutable() throws {
    let transformer = KeyedArchiveTransformer()
    func read(_ value: Any) throws -> Any { try transformer.value(from: transformer.data(from: value)) }
    #expect(try read(NSMutableArray(array: ["a"])) is NSMutableArray)
    #expect(try read(NSMutableDictionary(dictionary: ["a": 1])) is NSMutableDictionary)
    #expect(try read(NSMutableSet(array: [1])) is NSMutableSet)
    #expect(try (read(NSMutableData(data: Data([1]))) as? Data) == Data([1]))
    let base = try #require(URL(string: "https://example.org/a"))
    let url = try #require(NSURL(string: "b?c", relativeTo: base))
    let same = try read(url) as? URL
    #expect(same?.absoluteString == "https://example.org/b?c" && same?.baseURL == base)
  }

  @Test("Superclasses and class hints that an archive states are ignored")
  func pretended() throws {
    let foreign = try NSKeyedArchiver.archivedData(
      withRootObject: NSCharacterSet(charactersIn: "a"), requiringSecureCoding: true)
    for (key, value) in [
      ("$classes", ["NSCharacterSet", "NSString", "NSObject"]), ("$classhints", ["NSString"]),
    ] {
      var archive = try #require(
        PropertyListSerialization.propertyList(from: foreign, format: nil) as? [String: Any])
      var objects = try #require(archive["$objects"] as? [Any])
      for (position, object) in objects.enumerated() {
        guard var named = object as? [String: Any], named["$classname"] != nil else { continue }
        named[key] = value
        objects[position] = named
      }
      archive["$objects"] = objects
      let data = try PropertyListSerialization.data(fromPropertyList: archive, format: .binary, options: 0)
      #expect(throws: KeyedArchiveError.self) { try KeyedArchiveTransformer().value(from: data) }
    }
  }

  @Test("Values that cannot be archived, and archives of classes that are not allowed, throw errors")
  func refused() throws {
    let transformer = KeyedArchiveTransformer()
    #expect(throws: KeyedArchiveError.self) { try transformer.data(from: Unknown()) }
    #expect(throws: KeyedArchiveError.self) { try transformer.data(from: Float16(1)) }
    #expect(throws: KeyedArchiveError.self) { try transformer.data(from: ["a": [Unknown()]]) }
    #expect(throws: KeyedArchiveError.self) { try transformer.data(from: NSArray(array: [Unknown()])) }
    #expect(throws: KeyedArchiveError.self) { try transformer.data(from: [NSDecimalNumber(value: 1)]) }
    #expect(throws: KeyedArchiveError.self) { try transformer.data(from: NSCountedSet(array: ["a"])) }
    #expect(throws: KeyedArchiveError.self) { try transformer.data(from: NSCharacterSet(charactersIn: "a")) }
    let foreign = try NSKeyedArchiver.archivedData(
      withRootObject: NSCharacterSet(charactersIn: "a"), requiringSecureCoding: true)
    #expect(throws: KeyedArchiveError.self) { try transformer.value(from: foreign) }
    let allowing = KeyedArchiveTransformer(allowing: [NSCharacterSet.self])
    #expect(try allowing.value(from: foreign) is NSCharacterSet)
    for bytes in [Data(), Data([1, 2, 3]), Data("<plist/>".utf8)] {
      #expect(throws: (any Error).self) { try transformer.value(from: bytes) }
    }
    let list = try PropertyListSerialization.data(fromPropertyList: ["a": 1], format: .binary, options: 0)
    #expect(throws: KeyedArchiveError.self) { try transformer.value(from: list) }
  }
}
