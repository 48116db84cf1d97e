public import PerdurePredicates

/// An ordered index over attributes and to-one relationships of an entity and its subentities.
///
/// An element is a property, or a function of text:
///
/// | element | serves |
/// |---|---|
/// | `name` | comparisons of the value, and sorting by it |
/// | `canonical:(name)` | `name ==[cd] 'x'`, `name BEGINSWITH[cd] 'x'`, and comparisons of `canonical:(name)` |
/// | `lowercase:(name)`, `uppercase:(name)` | comparisons of the same function of the text |
///
/// A request can use the first elements of an index without the others. An index of `town` and
/// `name` finds all objects of a town, or those with a name in a town. It also returns the objects
/// of a town in the order of their names, ascending or descending.
///
/// An array literal of elements makes an index that is named after them. A string literal makes an
/// ascending element:
///
///     indexes: [["town", .descending("born")], .init("loud", ["name"], where: "volume > 5")]
///
/// With a ``partialPredicate``, the index contains only the objects that satisfy it. It serves
/// requests with the same condition, or with a stricter one on the same attribute. For example, an
/// index with the condition `size > 5` serves `size == 7`.
public struct FetchIndexDescription: Sendable, Hashable {
  /// One property of an index and the direction in which it is ordered.
  public struct Element: Sendable, Hashable {
    /// The indexed property: the name of an attribute or a to-one relationship, or the path of a
    /// part of a composite attribute. It can also be a function of the text of one of these, such
    /// as `canonical:(name)`.
    public var propertyName: String
    /// Whether smaller values come first.
    public var isAscending: Bool

    /// Makes an element, which is ascending by default.
    public init(_ propertyName: String, ascending isAscending: Bool = true) {
      self.propertyName = propertyName
      self.isAscending = isAscending
    }

    /// Makes a descending element: greater values come first.
    public static func descending(_ propertyName: String) -> Element {
      Element(propertyName, ascending: false)
    }
  }

  /// The name, unique among the indexes of the entity and its superentities.
  public var name: String
  /// The properties, most significant first; at least one.
  public var elements: [Element]

  /// The condition for objects in the index; nil for all objects, or if it cannot be read.
  ///
  /// It compares stored attributes of the entity, or `canonical:`, `lowercase:` or `uppercase:` of
  /// them, with values. It can also compare to-one relationships with nil.
  public var partialPredicate: FetchPredicate?
  /// The text of a partial predicate that cannot be read. In a stored model, a later version wrote
  /// it. In a program's model, it is an error.
  public internal(set) var unreadablePartialPredicate: String?

  /// Makes an index description.
  public init(_ name: String, _ elements: [Element], partialPredicate: FetchPredicate? = nil) {
    self.name = name
    self.elements = elements
    self.partialPredicate = partialPredicate
  }

  /// Makes an index of the objects that satisfy a predicate such as `"volume > 5"`.
  ///
  /// If the text is not a valid predicate, the model reports a problem.
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
  /// The function, if any, and its argument; nil if the element cannot be parsed.
  var parts: (function: TextFunction?, path: String)? { TextFunction.parse(propertyName) }
}
