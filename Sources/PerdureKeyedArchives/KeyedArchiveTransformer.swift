// Values as keyed archives, as Core Data keeps transformable attributes that name no transformer of their own. In a module
// by itself, because archives take all of Foundation, and Perdure does without.
//
//   K1. Elsewhere than on Apple's systems, Foundation stops the program where it is to archive what is no archivable object,
//       or to unarchive a class that is not allowed. So what is archived is looked at before, and so are the classes that
//       an archive names: each by what it is in this program, whatever the archive says of its superclasses.
//   K2. Foundation is told of no class that was not allowed. It takes the subclasses of an allowed one by itself.

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

  private let allowed: [AnyClass]

  /// Makes a transformer.
  ///
  /// - Parameter classes: Other classes than those of Foundation whose objects archives may have, also by subclasses.
  public init(allowing classes: [any (NSObject & NSSecureCoding).Type] = []) {
    allowed = Self.standardClasses + classes.map { $0 as AnyClass }
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
  /// For archives that were written by an archiver: of bytes that only look like one, Foundation elsewhere than on Apple's
  /// systems may stop the program.
  ///
  /// - Throws: `KeyedArchiveError` for an archive with other classes than those that are allowed; what unarchiving throws.
  public func value(from data: Data) throws -> Any {
    try checkClasses(of: data)
    let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
    unarchiver.requiresSecureCoding = true
    unarchiver.decodingFailurePolicy = .setErrorAndReturn
    defer { unarchiver.finishDecoding() }
    let value = unarchiver.decodeObject(of: allowed, forKey: NSKeyedArchiveRootObjectKey)
    if let error = unarchiver.error { throw error }
    guard let value else { throw KeyedArchiveError("The archive has no value.") }
    return value
  }

  /// Refuses an archive that names a class which is neither allowed nor a subclass of one that is (K1). Hints at other
  /// classes, to be taken where this program has not the one that is named, are for programs of other ages.
  private func checkClasses(of data: Data) throws {
    let list = try PropertyListSerialization.propertyList(from: data, format: nil)
    guard let archive = list as? [String: Any], let objects = archive["$objects"] as? [Any] else {
      throw KeyedArchiveError("The bytes are no keyed archive.")
    }
    for case let object as [String: Any] in objects {
      guard let name = object["$classname"] as? String else { continue }
      guard object["$classhints"] == nil, let named = NSClassFromString(name), isAllowed(named) else {
        throw KeyedArchiveError("The archive has a \(name): allow its class where the transformer is made.")
      }
    }
  }

  private func isAllowed(_ named: AnyClass) -> Bool {
    var current: AnyClass? = named
    while let type = current {
      if allowed.contains(where: { $0 == type }) { return true }
      current = _getSuperclass(type)
    }
    return false
  }

  /// The type of what stands in the way of archiving a value; nil if nothing does.
  private static func notArchivable(_ value: Any) -> String? {
    switch value {
    case is String, is Bool, is Int, is Int8, is Int16, is Int32, is Int64, is UInt, is UInt8, is UInt16,
      is UInt32, is UInt64, is Float, is Double, is Date, is Data, is URL, is UUID:
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
