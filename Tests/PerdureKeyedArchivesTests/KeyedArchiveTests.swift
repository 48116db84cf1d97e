import Foundation
import Perdure
import PerdureKeyedArchives
import Testing

@Entity private final class Note: ManagedObject {
  @Attribute(.transformed(by: KeyedArchiveTransformer.name)) var tags: [String]?
  @Attribute(.transformed(by: KeyedArchiveTransformer.name)) var marks: [String: Int]?
}

private struct Unknown {}

@Suite("Transformable attributes as keyed archives")
struct KeyedArchiveTests {
  @Test("Values are kept as archives under Core Data's name, and read as what they were")
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

  @Test("Every kind of value that an archive may have comes back")
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

  @Test("A class is what it is in this program, whatever the archive says of its superclasses")
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

  @Test("What cannot be archived, and an archive of classes that are not allowed, are errors")
  func refused() throws {
    let transformer = KeyedArchiveTransformer()
    #expect(throws: KeyedArchiveError.self) { try transformer.data(from: Unknown()) }
    #expect(throws: KeyedArchiveError.self) { try transformer.data(from: Float16(1)) }
    #expect(throws: KeyedArchiveError.self) { try transformer.data(from: ["a": [Unknown()]]) }
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
