// Stores values as keyed archives. Core Data does so for transformable attributes that name no
// transformer. This is a separate module, because keyed archives need all of Foundation. Perdure
// needs only FoundationEssentials.
//
//   KA1. Except on Apple platforms, Foundation traps when it archives an object that cannot be
//        archived, or unarchives a class that is not allowed. So this module checks objects before
//        archiving, and the class names of an archive before unarchiving. The check uses the
//        superclasses that a class has in this program, not those that the archive names.
//   KA2. Foundation receives only allowed classes. It accepts subclasses of an allowed class
//        without a further check.
//   KA3. `PlainArchive` reads archives of plain values; Foundation does not read them. Foundation
//        reads archives with objects of allowed classes, because only these classes can decode
//        them.

public import Foundation
public import Perdure

/// A transformer that stores values as keyed archives with secure coding.
///
///     KeyedArchiveTransformer.register()
///     @Attribute(.transformed(by: KeyedArchiveTransformer.name)) var tags: [String]?
///
/// A value is a Swift property list, a URL, a UUID, null, or an object of an allowed class. A
/// property list consists of strings, numbers, truth values, dates, data, arrays, dictionaries and
/// sets. The program must also allow subclasses of Foundation's classes for these values, except
/// the mutable subclasses.
public struct KeyedArchiveTransformer: ValueTransformer {
  /// The name that Core Data uses for this kind of transformer.
  public static let name = AttributeDescription.secureArchiveTransformerName

  /// The classes that Core Data allows at the top level of an archive and inside it.
  private static let standardClasses: [AnyClass] = [
    NSArray.self, NSDictionary.self, NSSet.self, NSString.self, NSNumber.self, NSDate.self, NSData.self,
    NSURL.self, NSUUID.self, NSNull.self,
  ]
  /// The mutable subclasses of these classes, which archives can contain too.
  private static let mutableClasses: [AnyClass] = [
    NSMutableArray.self, NSMutableDictionary.self, NSMutableSet.self, NSMutableString.self,
    NSMutableData.self,
  ]

  /// The classes that the program allows.
  private let given: [AnyClass]

  /// Makes a transformer.
  ///
  /// - Parameter classes: Classes outside Foundation. Archives may contain objects of these classes
  ///   and of their subclasses.
  public init(allowing classes: [any (NSObject & NSSecureCoding).Type] = []) {
    given = classes.map { $0 as AnyClass }
  }

  /// Registers a transformer under `name`. Call this before a container opens its store.
  public static func register(allowing classes: [any (NSObject & NSSecureCoding).Type] = []) {
    ValueTransformers.register(KeyedArchiveTransformer(allowing: classes), named: name)
  }

  /// The archive of a value.
  ///
  /// - Throws: `KeyedArchiveError` if the value, or a value inside it, cannot be archived. Also the
  ///   errors of `NSKeyedArchiver`.
  public func data(from value: Any) throws -> Data {
    if let problem = problem(ofArchiving: value) { throw KeyedArchiveError(problem) }
    let data = try NSKeyedArchiver.archivedData(withRootObject: value, requiringSecureCoding: true)
    _ = try objects(of: data)
    return data
  }

  /// The value in an archive.
  ///
  /// If you allow further classes, pass only archives that an archiver wrote. Except on Apple
  /// platforms, Foundation may trap on forged bytes with objects of these classes.
  ///
  /// - Throws: `KeyedArchiveError` if the archive is damaged or contains a class that is not
  ///   allowed. Also the errors of `NSKeyedUnarchiver`.
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

  /// The objects of an archive, the reference to its root object, and whether all objects are plain
  /// values.
  ///
  /// Rejects a class that is not plain, unless it or one of its superclasses is allowed (KA1). Also
  /// rejects such a class if the archive names replacements for it (`$classhints`), which are meant
  /// for other versions of a program.
  private func objects(
    of data: Data
  ) throws -> (root: PropertyListItem?, objects: [PropertyListItem], isPlain: Bool) {
    guard case .table(let archive) = try BinaryPropertyList.root(of: data),
      case .list(let objects)? = archive["$objects"], case .table(let top)? = archive["$top"]
    else { throw KeyedArchiveError("The bytes are not a keyed archive.") }
    var isPlain = true
    for case .table(let object) in objects {
      if object["$class"] != nil, PlainArchive.className(of: object, in: objects) == nil {
        throw KeyedArchiveError("The archive has an object without a class.")
      }
      guard case .text(let name)? = object["$classname"] else { continue }
      if PlainArchive.classNames.contains(name) { continue }
      guard object["$classhints"] == nil, let named = NSClassFromString(name), isGiven(named) else {
        throw KeyedArchiveError(
          "The archive has a \(name): list its class in KeyedArchiveTransformer.register(allowing:).")
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

  /// Why a value, or a value inside it, cannot be archived; nil if it can.
  private func problem(ofArchiving value: Any) -> String? {
    if type(of: value) is NSObject.Type, let object = value as? NSObject {
      let known = Self.standardClasses + Self.mutableClasses
      let type: AnyClass = object.classForCoder
      if !known.contains(where: { $0 == type }) {
        if !isGiven(type) { return Self.unlisted(type) }
        if !Self.isArchivable(type) {
          return "A \(String(reflecting: type)) cannot be archived: it is private or inside another type. "
            + "Declare it at the top level of a file."
        }
      }
    }
    #if !canImport(Darwin)
      // Foundation never finishes archiving an NSDecimalNumber.
      if value is NSDecimalNumber { return Self.unlisted(NSDecimalNumber.self) }
    #endif
    switch value {
    case is String, is Bool, is Int, is Int8, is Int16, is Int32, is Int64, is UInt, is UInt8, is UInt16,
      is UInt32, is UInt64, is Float, is Double, is Date, is Data, is URL, is UUID:
      return nil
    case let array as [Any]: return array.lazy.compactMap(problem(ofArchiving:)).first
    case let set as Set<AnyHashable>: return set.lazy.compactMap { problem(ofArchiving: $0.base) }.first
    case let table as [AnyHashable: Any]:
      return table.lazy.compactMap { problem(ofArchiving: $0.key.base) ?? problem(ofArchiving: $0.value) }
        .first
    case is any NSObject & NSSecureCoding: return nil
    default: return Self.unlisted(type(of: value))
    }
  }

  private static func unlisted(_ type: Any.Type) -> String {
    "A \(type) cannot be archived. Give values of property lists; or let its class conform to NSSecureCoding, and list it in "
      + "KeyedArchiveTransformer.register(allowing:)."
  }

  /// Whether Foundation can name the class in an archive. Except on Apple platforms, Foundation
  /// traps for other classes.
  private static func isArchivable(_ type: AnyClass) -> Bool {
    #if canImport(Darwin)
      true
    #else
      String(reflecting: type).split(separator: ".").count <= 2
    #endif
  }
}

/// The error of a value that cannot be archived, or of an archive that cannot be read.
public struct KeyedArchiveError: LocalizedError, CustomStringConvertible {
  /// The problem and the remedy.
  public let description: String
  /// The description.
  public var errorDescription: String? { description }

  init(_ description: String) { self.description = description }
}
