// Decodes archives of plain values without Foundation's unarchiver. Except on Apple platforms, the
// unarchiver traps, or accesses memory outside the archive, on bytes that no archiver has written.
// Examples are an object that references itself, a dictionary with more keys than values, and a
// string without characters.
//
//   PA1. Every reference refers to an object of the archive, and never to an object that contains
//        the reference.
//   PA2. Each use of a shared object is counted, and the total is limited in proportion to the
//        number of bytes. So comparing or describing the result takes time proportional to the
//        archive.

import Foundation

/// Reads the objects of one archive.
struct PlainArchive {
  /// The archived class names of the objects that it reads.
  static let classNames: Set<String> = [
    "NSArray", "NSMutableArray", "NSDictionary", "NSMutableDictionary", "NSSet", "NSMutableSet", "NSString",
    "NSMutableString", "NSDate", "NSData", "NSMutableData", "NSURL", "NSUUID", "NSNull",
  ]

  private static let depthMax = 256
  private static let sharingMax = 64

  private typealias Made = (value: Any, weight: Int)

  private let objects: [PropertyListItem]
  private let weightMax: Int
  private var read: [Int: Made] = [:]
  private var open: Set<Int> = []

  /// - Parameter byteCount: The length of the archive.
  init(_ objects: [PropertyListItem], byteCount: Int) {
    self.objects = objects
    weightMax = byteCount * Self.sharingMax
  }

  /// The value that a reference refers to; nil for the null object.
  mutating func value(_ reference: PropertyListItem?) throws(KeyedArchiveError) -> Any? {
    try object(reference)?.value
  }

  /// The name of an object's class; nil if the item is not an object.
  static func className(
    of table: [String: PropertyListItem], in objects: [PropertyListItem]
  ) -> String? {
    guard case .reference(let place)? = table["$class"], objects.indices.contains(place),
      case .table(let described) = objects[place], case .text(let name)? = described["$classname"]
    else { return nil }
    return name
  }

  private mutating func object(_ reference: PropertyListItem?) throws(KeyedArchiveError) -> Made? {
    guard case .reference(let place)? = reference, objects.indices.contains(place) else {
      throw KeyedArchiveError("The archive has a reference to an absent object.")
    }
    if case .text("$null") = objects[place] { return nil }
    if let known = read[place] { return known }
    guard open.insert(place).inserted, open.count <= Self.depthMax else {
      throw KeyedArchiveError(
        "The objects of the archive form a cycle, or are nested too deeply.")
    }
    let made = try make(objects[place])
    open.remove(place)
    try check(made.weight)
    read[place] = made
    return made
  }

  private mutating func make(_ object: PropertyListItem) throws(KeyedArchiveError) -> Made {
    switch object {
    case .text(let text): return (text, 1)
    case .number(let number): return (number, 1)
    case .data(let data): return (data, 1)
    case .list, .reference: throw damaged("value")
    case .table(let table):
      guard let name = Self.className(of: table, in: objects) else { throw damaged("object") }
      if let collection = try collection(name, table) { return collection }
      return (try single(name, table), 1)
    }
  }

  private mutating func single(
    _ name: String, _ table: [String: PropertyListItem]
  ) throws(KeyedArchiveError) -> Any {
    switch (name, table["NS.string"] ?? table["NS.data"] ?? table["NS.time"] ?? table["NS.uuidbytes"]) {
    case ("NSString", .text(let text)): return text
    case ("NSMutableString", .text(let text)): return NSMutableString(string: text)
    case ("NSData", .data(let data)): return data
    case ("NSMutableData", .data(let data)): return NSMutableData(data: data)
    case ("NSDate", .number(let time)): return Date(timeIntervalSinceReferenceDate: time.doubleValue)
    case ("NSUUID", .data(let bytes)) where bytes.count == MemoryLayout<uuid_t>.size:
      return NSUUID(uuidBytes: Array(bytes)) as UUID
    case ("NSNull", _): return NSNull()
    case ("NSURL", _):
      let base = try value(table["NS.base"])
      if let text = try value(table["NS.relative"]) as? String, base == nil || base is URL,
        let url = URL(string: text, relativeTo: base as? URL)
      {
        return url
      }
    default: break
    }
    throw damaged(name)
  }

  /// Reads an array, a set or a dictionary; nil for an object of another class.
  private mutating func collection(
    _ name: String, _ table: [String: PropertyListItem]
  ) throws(KeyedArchiveError) -> Made? {
    guard ["Array", "Set", "Dictionary"].contains(where: name.hasSuffix) else { return nil }
    let (elements, weight) = try elements(table["NS.objects"], name)
    switch name {
    case "NSArray": return (NSArray(array: elements), weight)
    case "NSMutableArray": return (NSMutableArray(array: elements), weight)
    case "NSSet": return (NSSet(array: elements), weight)
    case "NSMutableSet": return (NSMutableSet(array: elements), weight)
    default: break
    }
    let (keys, keyWeight) = try self.elements(table["NS.keys"], name)
    guard keys.count == elements.count else { throw damaged(name) }
    var result: [AnyHashable: Any] = [:]
    for (key, element) in zip(keys, elements) {
      guard let key = key as? AnyHashable else { throw damaged(name) }
      result[key] = element
    }
    let isMutable = name == "NSMutableDictionary"
    let value = isMutable ? NSMutableDictionary(dictionary: result) : NSDictionary(dictionary: result)
    return (value, weight + keyWeight)
  }

  private mutating func elements(
    _ references: PropertyListItem?, _ name: String
  ) throws(KeyedArchiveError) -> (values: [Any], weight: Int) {
    guard case .list(let references)? = references else { throw damaged(name) }
    var (values, weight): ([Any], Int) = ([], 1)
    for reference in references {
      guard let object = try object(reference) else { throw damaged(name) }
      values.append(object.value)
      weight += object.weight
      // Check after each addition, so that the sum cannot overflow.
      try check(weight)
    }
    return (values, weight)
  }

  /// Enforces PA2.
  private func check(_ weight: Int) throws(KeyedArchiveError) {
    guard weight <= weightMax else {
      throw KeyedArchiveError("The archive contains the same objects too many times.")
    }
  }

  private func damaged(_ what: String) -> KeyedArchiveError {
    KeyedArchiveError("The archive has a damaged \(what): a part is absent or has another type.")
  }
}
