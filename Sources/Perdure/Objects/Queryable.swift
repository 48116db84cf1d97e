// Managed objects and their relationships, as queries in code name them.

extension ManagedObject: QueryableObject {}

extension QueryableObject where Self: ManagedObject {
  // Not a member of the class, so that a class may declare a static variable of this name itself.

  /// The name of the class's entity; empty for a class without one. For example, for
  /// `FetchRequest<Worker>(entityName: Worker.entityName)` and for descriptions of relationships.
  ///
  /// A class that overrides `entityDescription` without a macro computes the description for it.
  /// Two such descriptions that are static variables must not ask for each other's names.
  @_disfavoredOverload
  public static var entityName: String { _entityName }
}

extension ToMany: QueryableCollection {
  /// The class of the elements.
  public typealias QueryElement = Element
}

extension OrderedToMany: QueryableCollection {
  /// The class of the elements.
  public typealias QueryElement = Element
}
