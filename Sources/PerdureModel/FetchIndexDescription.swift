/// An ordered index over attributes and to-one relationships of an entity and its subentities.
public struct FetchIndexDescription: Sendable, Hashable {
  /// One property of an index and the direction in which it is ordered.
  public struct Element: Sendable, Hashable {
    /// The name of an attribute or a to-one relationship of the entity.
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

  /// Makes an index description.
  public init(_ name: String, _ elements: [Element]) {
    self.name = name
    self.elements = elements
  }

  /// Makes an index over `propertyNames`, all ascending, named after them.
  public init(on propertyNames: String...) {
    self.init("by_" + propertyNames.joined(separator: "_"), propertyNames.map { Element($0) })
  }
}
