public import PerdureModel

extension EntityDescription {
  /// The description of the entity of a class, for a model that is made in code:
  /// `ManagedObjectModel([EntityDescription(from: Company.self), EntityDescription(from:
  /// Worker.self)])`.
  ///
  /// The description can be changed before it is added to a model, for example its rules and
  /// indexes. The properties must stay, in the same order. The class must have a description. An
  /// override of `entityDescription` must make the description with `EntityDescription("Company",
  /// properties: [...])`. An override that uses this initializer for its own class calls itself
  /// without end, so the program stops.
  ///
  /// The compiler prefers a program's own initializer with the same label.
  ///
  /// - Parameters:
  ///   - type: A class with a description. A class without one stops the program.
  ///   - file: The caller's file, shown if misuse stops the program.
  ///   - line: The caller's line.
  @_disfavoredOverload
  public init(from type: ManagedObject.Type, file: StaticString = #fileID, line: UInt = #line) {
    self = ClassDescriptions.description(of: type, file, line)
    if name.isEmpty {
      stop(
        "\(type) describes no entity. Mark it with @Entity, or override entityDescription.", file: file,
        line: line)
    }
  }
}
