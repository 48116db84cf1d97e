// Queries in Swift: `{ $0.salary > 1000 && $0.company.name == "Acme" }`.
//
// The closure runs once. Its argument is an `EntityRef`, which represents the object. A property of
// the `EntityRef` is a reference with a path. A comparison of references is a `FetchPredicate`, the
// same tree that a format string is parsed to. The tree does not contain the closure, so it can be
// printed, checked, planned and compiled.
//
// The types of references are not optional. A predicate is true or false, and a comparison with a
// missing value has the same result as in a format string. So each operator has one form for values
// and one for references, and literals type-check in time linear in the number of clauses.

public import PerdurePredicates

/// A class whose properties can be named in a query. Managed object classes conform; their
/// `@Entity` macro writes `_propertyNamesByKeyPath`.
public protocol QueryableObject: AnyObject {
  /// The names of the properties of this class and its superclasses, by key paths whose root type
  /// is this class.
  static var _propertyNamesByKeyPath: [AnyKeyPath: String] { get }
}

/// The type of a to-many property in a query.
public protocol QueryableCollection {
  /// The class of the objects at the other end.
  associatedtype QueryElement: QueryableObject
}

extension Set: QueryableCollection where Element: QueryableObject {
  /// The class of the elements.
  public typealias QueryElement = Element
}

/// Represents an object in a query: the fetched object, or an object at the end of a to-one path.
@dynamicMemberLookup
public struct EntityRef<Root: QueryableObject> {
  /// The expression of this reference.
  public let expression: FetchExpression
  /// The number of enclosing subqueries. The names of their variables contain this number, so the
  /// names differ.
  let depth: Int

  /// Makes a reference to the fetched object.
  public init() {
    self.init(.evaluatedObject, depth: 0)
  }

  init(_ expression: FetchExpression, depth: Int) {
    self.expression = expression
    self.depth = depth
  }

  /// An attribute.
  public subscript<V: PredicateArgument>(dynamicMember keyPath: KeyPath<Root, V>) -> PropertyRef<V> {
    PropertyRef(path(keyPath))
  }

  /// An optional attribute.
  public subscript<V: PredicateArgument>(dynamicMember keyPath: KeyPath<Root, V?>) -> PropertyRef<V> {
    PropertyRef(path(keyPath))
  }

  /// A to-one relationship.
  public subscript<V: QueryableObject>(dynamicMember keyPath: KeyPath<Root, V>) -> EntityRef<V> {
    EntityRef<V>(path(keyPath), depth: depth)
  }

  /// An optional to-one relationship.
  public subscript<V: QueryableObject>(dynamicMember keyPath: KeyPath<Root, V?>) -> EntityRef<V> {
    EntityRef<V>(path(keyPath), depth: depth)
  }

  /// A to-many relationship.
  public subscript<C: QueryableCollection>(
    dynamicMember keyPath: KeyPath<Root, C>
  ) -> ToManyRef<C.QueryElement> {
    ToManyRef(path(keyPath), depth: depth)
  }

  /// A composite attribute.
  public subscript<C: CompositeAttributeValue>(dynamicMember keyPath: KeyPath<Root, C>) -> CompositeRef<C> {
    CompositeRef(path(keyPath))
  }

  /// An optional composite attribute.
  public subscript<C: CompositeAttributeValue>(dynamicMember keyPath: KeyPath<Root, C?>) -> CompositeRef<C> {
    CompositeRef(path(keyPath))
  }

  /// The identity of the object, for comparisons with stored ids: `$0.objectID == id`.
  public var objectID: PropertyRef<ManagedObjectID> {
    PropertyRef(.path(from: expression, PropertyPath("objectID")))
  }

  func path(_ keyPath: AnyKeyPath) -> FetchExpression {
    .path(from: expression, PropertyPath(Root.propertyName(of: keyPath)))
  }
}

/// Represents a composite attribute in a query.
@dynamicMemberLookup
public struct CompositeRef<C: CompositeAttributeValue> {
  /// The expression of this reference.
  public let expression: FetchExpression

  init(_ expression: FetchExpression) {
    self.expression = expression
  }

  /// An element.
  public subscript<V: PredicateArgument>(dynamicMember keyPath: KeyPath<C, V>) -> PropertyRef<V> {
    PropertyRef(path(keyPath))
  }

  /// An optional element.
  public subscript<V: PredicateArgument>(dynamicMember keyPath: KeyPath<C, V?>) -> PropertyRef<V> {
    PropertyRef(path(keyPath))
  }

  /// An element that is a composite.
  public subscript<D: CompositeAttributeValue>(dynamicMember keyPath: KeyPath<C, D>) -> CompositeRef<D> {
    CompositeRef<D>(path(keyPath))
  }

  /// An optional element that is a composite.
  public subscript<D: CompositeAttributeValue>(dynamicMember keyPath: KeyPath<C, D?>) -> CompositeRef<D> {
    CompositeRef<D>(path(keyPath))
  }

  /// Whether no element has a value: write `== nil`.
  public static func == (left: Self, right: _OptionalNilComparisonType) -> FetchPredicate {
    .comparison(FetchComparison(left.expression, .equal, .constant(.null)))
  }

  /// Whether an element has a value: write `!= nil`.
  public static func != (left: Self, right: _OptionalNilComparisonType) -> FetchPredicate {
    .comparison(FetchComparison(left.expression, .notEqual, .constant(.null)))
  }

  private func path(_ keyPath: AnyKeyPath) -> FetchExpression {
    guard let name = C.compositeNames[keyPath] else { stop("\(keyPath) is not an element of \(C.self).") }
    return .path(from: expression, PropertyPath(name))
  }
}

/// Represents an attribute's value in a query, or a value that is computed from one.
public struct PropertyRef<V> {
  /// The expression of this reference.
  public let expression: FetchExpression

  init(_ expression: FetchExpression) {
    self.expression = expression
  }
}

/// Represents the objects of a to-many relationship in a query.
public struct ToManyRef<Element: QueryableObject> {
  /// The expression of this reference.
  public let expression: FetchExpression
  let depth: Int

  init(_ expression: FetchExpression, depth: Int) {
    self.expression = expression
    self.depth = depth
  }
}

extension FetchPredicate {
  /// Makes the predicate of a query.
  ///
  /// - Parameters:
  ///   - root: The class of the fetched objects.
  ///   - query: Runs once. Its argument represents the object.
  public static func query<Root: QueryableObject>(
    _ root: Root.Type, _ query: (EntityRef<Root>) throws -> FetchPredicate
  ) rethrows -> FetchPredicate {
    try query(EntityRef<Root>())
  }

  /// Makes the predicate of a query that returns a Boolean property. The predicate is true if the
  /// property is true.
  ///
  /// - Parameters:
  ///   - root: The class of the fetched objects.
  ///   - query: Runs once. Its argument represents the object.
  @_disfavoredOverload
  public static func query<Root: QueryableObject>(
    _ root: Root.Type, _ query: (EntityRef<Root>) throws -> PropertyRef<Bool>
  ) rethrows -> FetchPredicate {
    try query(EntityRef<Root>()).isTrue
  }
}
