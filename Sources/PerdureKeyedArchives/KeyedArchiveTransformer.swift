// Values as keyed archives, as Core Data keeps transformable attributes that name no transformer of
// their own. In a module by itself, because archives take all of Foundation, and Perdure does
// without.
//
//   KA1. Except on Apple's systems, Foundation stops the program when it archives an object that
//        cannot be archived, or unarchives a class that is not allowed. So the objects are checked
//        before archiving, and the classes that an archive names before unarchiving. Each counts as
//        it is in this program, whatever superclasses the archive states.
//   KA2. Only allowed classes are passed to Foundation. It accepts the subclasses of an allowed
//        class without being asked.
//   KA3. Archives of plain values are not read by Foundation at all (PlainArchive). Those with
//        objects of classes that the program has allowed are: only these classes know how.

public import Foundation
public import Perdure

/// A transformer that keeps values as keyed archives with secure coding.
///
///     KeyedArchiveTransformer.register()
///     @Attribute(.transformed(by: KeyedArchiveTransformer.name)) var tags: [String]?
///
/// Values are property lists of Swift (texts, numbers, truth values, dates, data, arrays,
/// dictionaries and sets of these), URLs, UUIDs, null, and objects of the allowed classes.
/// Subclasses of Foundation's own classes for these values, except the mutable ones, must be
/// allowed like any other.
public struct KeyedArchiveTransformer: ValueTransformer {
  /// The name under which Core Data knows such a transformer.
  public static let name = "NSSecureUnarchiveFromData"

  /// What Core Data allows at the top of an archive and within.
  private static let standardClasses: [AnyClass] = [
    NSArray.self, NSDictionary.self, NSSet.self, NSString.self, NSNumber.self, NSDate.self, NSData.self,
    NSURL.self, NSUUID.self, NSNull.self,
  ]
  /// Further classes that archives of such values have.
  private static let mutableClasses: [AnyClass] = [
    NSMutableArray.self, NSMutableDictionary.self, NSMutableSet.self, NSMutableString.self,
    NSMutableData.self,
  ]

  /// The program's allowed classes.
  private let given: [AnyClass]

  /// Makes a transformer.
  ///
  /// - Parameter classes: Other classes than those of Foundation whose objects archives may have,
  ///   also by subclasses.
  public init(allowing classes: [any (NSObject & NSSecureCoding).Type] = []) {
    given = classes.map { $0 as AnyClass }
  }

  /// Registers such a transformer under its name, before a container opens its store.
  public static func register(allowing classes: [any (NSObject & NSSecureCoding).Type] = []) {
    ValueTransformers.register(KeyedArchiveTransformer(allowing: classes), named: name)
  }

  /// The archive of a value.
  ///
  /// - Throws: `KeyedArchiveError` for a value that cannot be archived, or contains such a value;
  ///   the errors of archiving.
  public func data(from value: Any) throws -> Data {
    if let wrong = notArchivable(value) {
      throw KeyedArchiveError(
        "A \(wrong) cannot be archived; take values of property lists, or objects with NSSecureCoding.")
    }
    let data = try NSKeyedArchiver.archivedData(withRootObject: value, requiringSecureCoding: true)
    _ = try objects(of: data)
    return data
  }

  /// The value that was archived.
  ///
  /// With allowed classes, use it only for archives that an archiver wrote. For forged bytes with
  /// objects of these classes, Foundation may stop the program, except on Apple's systems.
  ///
  /// - Throws: `KeyedArchiveError` for an archive with other classes than those that are allowed,
  ///   and for one that is damaged; what unarchiving throws.
  public func value(from data: Data) throws -> Any {
    let (root, objects, isPlain) = try objects(of: data)
    if isPlain {
      var archive = PlainArchive(objects, byteCount: data.count)
      guard let value = try archive.value(root) else { throw KeyedArchiveError("The archive has no value.") }
      return value
    }
    let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
    unarchiver.requiresSecureCoding = true
    unarchiver.decodingFailurePolicy = .setErrorAndReturn
    defer { unarchiver.finishDecoding() }
    let value = unarchiver.decodeObject(of: Self.standardClasses + given, forKey: NSKeyedArchiveRootObjectKey)
    if let error = unarchiver.error { throw error }
    guard let value else { throw KeyedArchiveError("The archive has no value.") }
    return value
  }

  /// The objects of an archive, the reference to the one that was archived, and whether all are
  /// plain values. Refuses an archive that names a class which is neither allowed nor a subclass of
  /// an allowed one (KA1). Hints at replacements for missing classes are for programs of other
  /// versions.
  private func objects(
    of data: Data
  ) throws -> (root: PropertyListItem?, objects: [PropertyListItem], isPlain: Bool) {
    guard case .table(let archive) = try BinaryPropertyList.root(of: data),
      case .list(let objects)? = archive["$objects"], case .table(let top)? = archive["$top"]
    else { throw KeyedArchiveError("The bytes are no keyed archive.") }
    var isPlain = true
    for case .table(let object) in objects {
      if object["$class"] != nil, PlainArchive.className(of: object, in: objects) == nil {
        throw KeyedArchiveError("The archive has an object without a class.")
      }
      guard case .text(let name)? = object["$classname"] else { continue }
      if PlainArchive.classNames.contains(name) { continue }
      guard object["$classhints"] == nil, let named = NSClassFromString(name), isGiven(named) else {
        throw KeyedArchiveError("The archive has a \(name): allow its class where the transformer is made.")
      }
      isPlain = false
    }
    return (top[NSKeyedArchiveRootObjectKey], objects, isPlain)
  }

  private func isGiven(_ named: AnyClass) -> Bool {
    var current: AnyClass? = named
    while let type = current {
      if given.contains(where: { $0 == type }) { return true }
      current = _getSuperclass(type)
    }
    return false
  }

  /// The type that prevents archiving a value; nil if none does.
  private func notArchivable(_ value: Any) -> String? {
    if type(of: value) is NSObject.Type, let object = value as? NSObject {
      let known = Self.standardClasses + Self.mutableClasses
      let type: AnyClass = object.classForCoder
      if !known.contains(where: { $0 == type }), !isGiven(type) { return "\(type)" }
    }
    #if !canImport(Darwin)
      // Foundation archives none: it never comes to an end.
      if value is NSDecimalNumber { return "NSDecimalNumber" }
    #endif
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
public struct KeyedArchiveError: LocalizedError, CustomStringConvertible {
  /// What is wrong, and what to do.
  public let description: String
  /// The description.
  public var errorDescription: String? { description }

  init(_ description: String) { self.description = description }
}
