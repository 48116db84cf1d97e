// Values as keyed archives, as Core Data keeps transformable attributes that name no transformer of their own. In a module
// by itself, because archives take all of Foundation, and Perdure does without.
//
//   K1. Nothing is given to Foundation that may stop the program there: elsewhere than on Apple's systems, archiving what is
//       no archivable object does, and so does unarchiving a class that is not allowed. What is archived is looked at
//       before, and so are the classes that an archive names.

public import Foundation
public import Perdure

/// A transformer that keeps values as keyed archives with secure coding.
///
///     KeyedArchiveTransformer.register()
///     @Attribute(.transformed(by: KeyedArchiveTransformer.name)) var tags: [String]?
///
/// Values are property lists of Swift (texts, numbers, truth values, dates, data, arrays, dictionaries and sets of these),
/// URLs, UUIDs, null, and objects of classes that are given to it.
public struct KeyedArchiveTransformer: ValueTransformer {
  /// The name under which Core Data knows such a transformer.
  public static let name = "NSSecureUnarchiveFromData"

  /// What Core Data allows at the top of an archive and within.
  private static let standardClasses: [AnyClass] = [
    NSArray.self, NSDictionary.self, NSSet.self, NSString.self, NSNumber.self, NSDate.self, NSData.self,
    NSURL.self,
    NSUUID.self, NSNull.self,
  ]

  private let classNames: Set<String>

  /// Makes a transformer.
  ///
  /// - Parameter classes: Other classes than those of Foundation whose objects archives may have, also by subclasses.
  public init(allowing classes: [any (NSObject & NSSecureCoding).Type] = []) {
    let all = Self.standardClasses + classes.map { $0 as AnyClass }
    classNames = Set(all.map { NSStringFromClass($0) })
  }

  /// Makes such a transformer known under its name, before a container opens its store.
  public static func register(allowing classes: [any (NSObject & NSSecureCoding).Type] = []) {
    ValueTransformers.register(KeyedArchiveTransformer(allowing: classes), named: name)
  }

  /// The archive of a value.
  ///
  /// - Throws: `KeyedArchiveError` for a value that is, or has in it, what cannot be archived; what archiving throws.
  public func data(from value: Any) throws -> Data {
    if let wrong = Self.notArchivable(value) {
      throw KeyedArchiveError(
        "A \(wrong) cannot be archived; take values of property lists, or objects with NSSecureCoding.")
    }
    let data = try NSKeyedArchiver.archivedData(withRootObject: value, requiringSecureCoding: true)
    try checkClasses(of: data)
    return data
  }

  /// The value that was archived.
  ///
  /// - Throws: `KeyedArchiveError` for an archive with other classes than those that are allowed; what unarchiving throws.
  public func value(from data: Data) throws -> Any {
    let names = try checkClasses(of: data)
    let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
    unarchiver.requiresSecureCoding = true
    unarchiver.decodingFailurePolicy = .setErrorAndReturn
    defer { unarchiver.finishDecoding() }
    let classes = Self.standardClasses + names.compactMap { NSClassFromString($0) }
    let value = unarchiver.decodeObject(of: classes, forKey: NSKeyedArchiveRootObjectKey)
    if let error = unarchiver.error { throw error }
    guard let value else { throw KeyedArchiveError("The archive has no value.") }
    return value
  }

  /// The names of the classes that an archive has objects of, each allowed or a subclass of one that is (K1).
  @discardableResult
  private func checkClasses(of data: Data) throws -> Set<String> {
    let list = try PropertyListSerialization.propertyList(from: data, format: nil)
    guard let archive = list as? [String: Any], let objects = archive["$objects"] as? [Any] else {
      throw KeyedArchiveError("The bytes are no keyed archive.")
    }
    var names: Set<String> = []
    for case let object as [String: Any] in objects {
      guard let name = object["$classname"] as? String else { continue }
      let line = object["$classes"] as? [String] ?? [name]
      guard line.contains(where: classNames.contains) else {
        throw KeyedArchiveError("The archive has a \(name): allow its class where the transformer is made.")
      }
      names.insert(name)
    }
    return names
  }

  /// The type of what stands in the way of archiving a value; nil if nothing does.
  private static func notArchivable(_ value: Any) -> String? {
    switch value {
    case is String, is Bool, is any BinaryInteger, is any BinaryFloatingPoint, is Date, is Data, is URL,
      is UUID:
      return nil
    case let array as [Any]: return array.lazy.compactMap(notArchivable).first
    case let set as Set<AnyHashable>: return set.lazy.compactMap { notArchivable($0.base) }.first
    case let table as [AnyHashable: Any]:
      return table.lazy.compactMap { notArchivable($0.key.base) ?? notArchivable($0.value) }.first
    case is any NSObject & NSSecureCoding: return nil
    default: return "\(type(of: value))"
    }
  }
}

/// Why a value cannot be archived, or an archive not be read.
public struct KeyedArchiveError: Error, CustomStringConvertible {
  /// What is wrong, and what to do.
  public let description: String

  init(_ description: String) { self.description = description }
}
