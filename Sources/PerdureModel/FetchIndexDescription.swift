public import PerdurePredicates

/// An ordered index over attributes and to-one relationships of an entity and its subentities.
public struct FetchIndexDescription: Sendable, Hashable {
  /// One property of an index and the direction in which it is ordered.
  public struct Element: Sendable, Hashable {
    /// The name of an attribute or a to-one relationship of the entity, or the path of a part of a composite attribute.
    public var propertyName: String
    /// Whether smaller values come first.
    public var isAscending: Bool

    /// Makes an element; ascending unless said otherwise.
    public init(_ propertyName: String, ascending isAscending: Bool = true) {
      self.propertyName = propertyName
      self.isAscending = isAscending
    }
  }

  /// The name, unique among the indexes of the entity and its superentities.
  public var name: String
  /// The properties, most significant first; at least one.
  public var elements: [Element]

  /// Which objects a request has to be about for the index to serve it; nil for all.
  public var partialPredicate: FetchPredicate?
  /// The text of such a predicate that a store's model has and this version cannot read, because a later one wrote it.
  /// The model of a program has none.
  public internal(set) var unreadablePartialPredicate: String?

  /// Makes an index description.
  public init(_ name: String, _ elements: [Element], partialPredicate: FetchPredicate? = nil) {
    self.name = name
    self.elements = elements
    self.partialPredicate = partialPredicate
  }

  /// Makes an index over `propertyNames`, all ascending, named after them.
  public init(on propertyNames: String...) {
    self.init("by_" + propertyNames.joined(separator: "_"), propertyNames.map { Element($0) })
  }
}
