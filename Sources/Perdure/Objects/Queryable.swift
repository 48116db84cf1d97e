// Managed objects and their relationships, as queries in code name them.

extension ManagedObject: QueryableObject {}

extension ToMany: QueryableCollection {
  /// The class of the elements.
  public typealias QueryElement = Element
}

extension OrderedToMany: QueryableCollection {
  /// The class of the elements.
  public typealias QueryElement = Element
}
