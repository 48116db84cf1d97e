public import PerdurePredicates

/// One criterion of the order of fetched objects.
///
/// Nulls come first in ascending order. Text is ordered by its canonical decomposition, the same on
/// every platform. Objects that are equal in every criterion come in the order of their ids, in the
/// direction of the first criterion. Without any criterion the order is not defined.
public struct FetchOrder: Hashable, Sendable {
  /// The path to the value: to-one relationships, then an attribute or `@count` of a to-many
  /// relationship.
  public var path: PropertyPath
  /// Whether smaller values come first.
  public var isAscending: Bool

  /// Makes a criterion from a path such as `company.name` or `employees.@count`.
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

  /// The path as text, such as `company.name` or `employees.@count`.
  public var keyPath: String {
    (path.names + (path.aggregate.map { ["@\($0.rawValue)"] } ?? [])).joined(separator: ".")
  }

  /// Makes a criterion from a parsed path.
  public init(path: PropertyPath, ascending isAscending: Bool = true) {
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
