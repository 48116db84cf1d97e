public import PerdureModel
internal import PerdurePredicates

extension FetchOrder {
  /// Makes a criterion by an attribute of a class: `FetchOrder(\Worker.name)`.
  ///
  /// For a path through a relationship, write `FetchOrder(Worker.self) { $0.company.name }`. A
  /// fetch throws `FetchError` with the code `unknownProperty` for a key path that reads no
  /// property.
  ///
  /// - Parameter keyPath: The key path of a stored or derived attribute.
  /// - Parameter isAscending: Whether the least values come first.
  public init<Root: QueryableObject>(_ keyPath: PartialKeyPath<Root>, ascending isAscending: Bool = true) {
    self.init(path: PropertyPath(Root.propertyName(of: keyPath)), ascending: isAscending)
  }

  /// Makes a criterion by an expression of a query. The expression is an attribute, also of an
  /// object at the end of to-one relationships, or the number of objects of a to-many relationship.
  ///
  ///     FetchOrder(Worker.self) { $0.company.name }
  ///     FetchOrder(Company.self, ascending: false) { $0.workers.count }
  ///
  /// - Parameters:
  ///   - root: The class of the fetched objects.
  ///   - isAscending: Whether the least values come first.
  ///   - file: The caller's file, shown if misuse stops the program.
  ///   - line: The caller's line.
  ///   - value: Runs once, on a stand-in for the object. An expression that is not a path of
  ///     properties stops the program.
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
    self.init(path: path, ascending: isAscending)
  }
}
