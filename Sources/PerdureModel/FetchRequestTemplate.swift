/// A fetch request with a name, which is a part of the model. Its predicate may contain variables,
/// which get their values when the program makes a request from the template.
///
///     let model = try ManagedObjectModel(entities, templates: [
///       FetchRequestTemplate("rich", "Worker", "salary > $least", fetchLimit: 10)
///     ])
///
/// Templates are not part of the version hash. A store accepts any change of them.
public struct FetchRequestTemplate: Sendable, Hashable {
  /// The name, unique among the templates of the model. It has 1 to 255 bytes.
  public var name: String
  /// The request.
  public var request: FetchRequestDescription

  /// Makes a template of a request.
  public init(_ name: String, _ request: FetchRequestDescription) {
    self.name = name
    self.request = request
  }

  /// Makes a template with the most common settings of a request.
  ///
  /// - Parameters:
  ///   - name: The template's name.
  ///   - entityName: The name of the fetched entity.
  ///   - predicateFormat: The condition as a format string without arguments, with `$name` for
  ///     variables; nil for all objects.
  ///   - sortDescriptors: The order, most significant criterion first.
  ///   - fetchLimit: The maximum number of objects; 0 for all.
  public init(
    _ name: String, _ entityName: String, _ predicateFormat: String? = nil,
    sortDescriptors: [FetchOrder] = [], fetchLimit: Int = 0
  ) {
    self.init(
      name,
      FetchRequestDescription(
        entityName, predicateFormat, sortDescriptors: sortDescriptors, fetchLimit: fetchLimit))
  }
}
