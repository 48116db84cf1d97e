// Lets queries in Swift code refer to managed objects and their relationships.

extension ManagedObject: QueryableObject {}

extension QueryableObject where Self: ManagedObject {
  // This is a member of the protocol extension. So a class can declare its own static variable with
  // this name.

  /// The name of the class's entity; empty for a class without an entity. Use it, for example, in
  /// `FetchRequest<Worker>(entityName: Worker.entityName)` and in descriptions of relationships.
  ///
  /// If a class overrides `entityDescription` without a macro, each use of `entityName` evaluates
  /// the description. If two such descriptions are static variables, they must not use each other's
  /// `entityName`: otherwise their initialization is circular.
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
