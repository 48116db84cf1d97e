public import PerdureModel
public import PerdurePredicates

/// A Swift type whose variables are the elements of a composite attribute.
///
///     @Composite struct Address {
///       var street: String?
///       var city: String = ""
///     }
///
///     @Entity final class Shop: ManagedObject {
///       @Attribute(.composite) var address: Address?
///     }
///
/// Fetches, indexes and errors refer to the elements by their paths: `address.street`. If no
/// element has a value, the composite is absent: an optional variable then reads as nil, even if it
/// was set to a composite. Changing an element through the variable
/// (`shop.address?.street = "Rue A"`) sets the whole composite.
///
/// `@Composite` writes these members, which a type may also implement itself:
///
///     struct Span: CompositeAttributeValue {
///       var from = 0, to = 0
///       static var compositeElements: [PropertyDescription] { [.int64("from"), .int64("to")] }
///       static var compositeNames: [AnyKeyPath: String] { [\Span.from: "from", \Span.to: "to"] }
///       init(compositeContent content: CompositeContent) {
///         (from, to) = (content["from"] ?? 0, content["to"] ?? 0)
///       }
///       var compositeContent: CompositeContent {
///         var content = CompositeContent()
///         content["from"] = from
///         content["to"] = to
///         return content
///       }
///     }
public protocol CompositeAttributeValue {
  /// The elements, in order: attributes and composites.
  static var compositeElements: [PropertyDescription] { get }
  /// The names of the elements, by the key paths of their variables.
  static var compositeNames: [AnyKeyPath: String] { get }
  /// Makes the value from the stored elements. An element without a value is missing. Any element
  /// can be missing: the object may be unsaved, or another version of the program may have saved
  /// it.
  init(compositeContent content: CompositeContent)
  /// The elements that an object stores for this value.
  var compositeContent: CompositeContent { get }
}

/// The values of a composite attribute's elements.
public struct CompositeContent: Sendable, Hashable {
  /// The existing values, by path within the composite.
  public internal(set) var values: [String: Value] = [:]

  /// The type that reads stored elements, and has initial values for absent ones. Nil for content
  /// that a program made. Comparisons and hashes ignore this property.
  var reader: Any.Type?

  /// Makes content without values.
  public init() {}

  /// Whether both have the same values.
  public static func == (left: CompositeContent, right: CompositeContent) -> Bool {
    left.values == right.values
  }

  /// Hashes the elements.
  public func hash(into hasher: inout Hasher) { hasher.combine(values) }

  /// Whether no element has a value.
  public var isEmpty: Bool { values.isEmpty }

  /// The value of an element; nil if it has no value of this type.
  public subscript<T: AttributeValue>(name: String) -> T? {
    get { values[name].flatMap(T.init(attributeValue:)) }
    set {
      let value = newValue?.predicateValue ?? .null
      values[name] = value.isNull ? nil : value
    }
  }

  /// The value of an element that is a composite; nil if each of its elements is nil.
  public subscript<C: CompositeAttributeValue>(name: String) -> C? {
    get {
      var inner = CompositeContent()
      for (path, value) in values where path.hasPrefix("\(name).") {
        inner.values[String(path.dropFirst(name.count + 1))] = value
      }
      return inner.isEmpty ? nil : C(reading: inner)
    }
    set {
      values = values.filter { !$0.key.hasPrefix("\(name).") }
      for (path, value) in newValue?.compositeContent.values ?? [:] { values["\(name).\(path)"] = value }
    }
  }

  /// The values as nested dictionaries. A composite attribute can be set to this form.
  var dictionary: [String: Any?] {
    var result: [String: Any?] = [:]
    var inner: [String: CompositeContent] = [:]
    for (path, value) in values {
      let parts = path.split(separator: ".", maxSplits: 1).map(String.init)
      if parts.count == 1 {
        result.updateValue(value, forKey: path)
      } else {
        inner[parts[0], default: CompositeContent()].values[parts[1]] = value
      }
    }
    for (name, content) in inner { result[name] = content.dictionary }
    return result
  }
}
