public import PerdurePredicates

/// An ordered index over attributes and to-one relationships of an entity and its subentities.
///
/// An element is a property, or a function of text:
///
/// | element | serves |
/// |---|---|
/// | `name` | comparisons of the value, and orders |
/// | `canonical:(name)` | `name ==[cd] 'x'`, `name BEGINSWITH[cd] 'x'`, and comparisons of `canonical:(name)` |
/// | `lowercase:(name)`, `uppercase:(name)` | comparisons of the same function of the text |
///
/// Elements in front serve by themselves too: an index of `town` and `name` finds a town, a name in
/// a town, and the names of a town in their order, forwards and backwards.
///
/// In place of an index, an array of elements means an index named after them; in place of an
/// element, a text means:
///
///     indexes: [["town", .descending("born")], .init("loud", ["name"], where: "volume > 5")]
///
/// With a ``partialPredicate`` only the objects for which it holds are in the index. It serves
/// requests with the same condition, or a stricter one on the same attribute: an index where
/// `size > 5` serves `size == 7`.
public struct FetchIndexDescription: Sendable, Hashable {
  /// One property of an index and the direction in which it is ordered.
  public struct Element: Sendable, Hashable {
    /// The name of an attribute or a to-one relationship of the entity, the path of a part of a
    /// composite attribute, or a function of the text of one of these: `canonical:(name)`.
    public var propertyName: String
    /// Whether smaller values come first.
    public var isAscending: Bool

    /// Makes an element; ascending unless said otherwise.
    public init(_ propertyName: String, ascending isAscending: Bool = true) {
      self.propertyName = propertyName
      self.isAscending = isAscending
    }

    /// An element of which greater values come first.
    public static func descending(_ propertyName: String) -> Element {
      Element(propertyName, ascending: false)
    }
  }

  /// The name, unique among the indexes of the entity and its superentities.
  public var name: String
  /// The properties, most significant first; at least one.
  public var elements: [Element]

  /// The condition for objects in the index; nil for all, or if it cannot be read. It compares
  /// stored attributes of the entity, or `canonical:`, `lowercase:` or `uppercase:` of them, with
  /// values, and to-one relationships with nil.
  public var partialPredicate: FetchPredicate?
  /// The text of such a predicate that cannot be read. In a store's model a later version wrote it;
  /// in a program it is an error of the model.
  public internal(set) var unreadablePartialPredicate: String?

  /// Makes an index description.
  public init(_ name: String, _ elements: [Element], partialPredicate: FetchPredicate? = nil) {
    self.name = name
    self.elements = elements
    self.partialPredicate = partialPredicate
  }

  /// Makes a description of an index of the objects for which a predicate holds: `"volume > 5"`. A
  /// text that is no predicate is a problem of the model.
  public init(_ name: String, _ elements: [Element], where predicate: String) {
    self.init(name, elements)
    do {
      partialPredicate = try FetchPredicate(format: predicate)
    } catch {
      unreadablePartialPredicate = predicate
    }
  }

  /// The name of an index that is named after its elements.
  private static func name(of elements: [Element]) -> String {
    let names = elements.flatMap { element -> [Substring] in
      element.propertyName.split { ".:()".contains($0) } + (element.isAscending ? [] : ["descending"])
    }
    return "by_" + names.joined(separator: "_")
  }

  /// Makes an index over `elements`, named after them.
  public init(on elements: [Element]) { self.init(Self.name(of: elements), elements) }

  /// Makes an index over `propertyNames`, all ascending, named after them.
  public init(on propertyNames: String...) { self.init(on: propertyNames.map { Element($0) }) }
}

extension FetchIndexDescription: ExpressibleByArrayLiteral {
  /// Makes an index over elements, named after them.
  public init(arrayLiteral elements: Element...) { self.init(on: elements) }
}

extension FetchIndexDescription.Element: ExpressibleByStringLiteral {
  /// Makes an ascending element.
  public init(stringLiteral propertyName: String) { self.init(propertyName) }
}

extension FetchIndexDescription.Element {
  /// The function of text, if any, and its argument; nil where the element is neither.
  var parts: (function: TextFunction?, path: String)? { TextFunction.parse(propertyName) }
}
