// What a fetch sorts by.

public import PerdurePredicates

/// One criterion of the order of fetched objects.
///
/// Nulls come first in ascending order. Text is ordered by its canonical decomposition, the same on
/// every platform. Objects that are equal in every criterion come in the order of their ids, in the
/// direction of the first criterion. Without any criterion the order is not defined.
public struct FetchOrder: Hashable, Sendable {
  /// The path to the value: attributes, to-one relationships on the way, `@count` of a to-many one
  /// at its end.
  public var path: PropertyPath
  /// Whether smaller values come first.
  public var isAscending: Bool

  /// A criterion by a path such as `company.name` or `employees.@count`.
  public init(_ keyPath: String, ascending isAscending: Bool = true) {
    var names = keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    var aggregate: CollectionOperator?
    if let position = names.firstIndex(where: { $0.hasPrefix("@") }) {
      aggregate = CollectionOperator(rawValue: String(names[position].dropFirst()))
      if aggregate != nil { names.remove(at: position) }
    }
    path = PropertyPath(names, aggregate: aggregate)
    self.isAscending = isAscending
  }

  /// Makes a criterion by an attribute of a class: `FetchOrder(\Worker.name)`.
  ///
  /// For a path through a relationship, write `FetchOrder(Worker.self) { $0.company.name }`. A
  /// fetch throws `FetchError` with the code `unknownProperty` for a key path that reads no
  /// attribute.
  ///
  /// - Parameter keyPath: The key path of a stored or derived attribute.
  /// - Parameter isAscending: Whether the least values come first.
  public init<Root: QueryableObject>(_ keyPath: PartialKeyPath<Root>, ascending isAscending: Bool = true) {
    path = PropertyPath(Root.propertyName(of: keyPath))
    self.isAscending = isAscending
  }

  /// A criterion by an expression of a query: an attribute, also of the object at the end of to-one
  /// relationships, or the number of objects of a to-many one.
  ///
  ///     FetchOrder(Worker.self) { $0.company.name }
  ///     FetchOrder(Company.self, ascending: false) { $0.workers.count }
  ///
  /// - Parameters:
  ///   - root: The class of the fetched objects.
  ///   - isAscending: Whether the least values come first.
  ///   - file: The caller's file, for the message of a stop.
  ///   - line: The caller's line.
  ///   - value: Runs once, on a stand-in for the object.
  public init<Root: QueryableObject, V>(
    _ root: Root.Type, ascending isAscending: Bool = true, file: StaticString = #fileID, line: UInt = #line,
    by value: (EntityRef<Root>) -> PropertyRef<V>
  ) {
    let expression = value(EntityRef<Root>()).expression
    guard case .keyPath(let path) = expression else {
      stop(
        "\(expression) of \(Root.self) is not a path of properties. Sort by a property or a path of properties.",
        file: file, line: line)
    }
    self.path = path
    self.isAscending = isAscending
  }
}

extension FetchOrder: CustomStringConvertible {
  /// The path and the direction.
  public var description: String {
    "\(FetchExpression.keyPath(path)) \(isAscending ? "ascending" : "descending")"
  }
}
