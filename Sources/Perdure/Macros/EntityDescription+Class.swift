public import PerdureModel

extension EntityDescription {
  /// The description of the entity of a class, for a model that is made in code:
  /// `ManagedObjectModel([EntityDescription(from: Company.self), EntityDescription(from: Worker.self)])`.
  ///
  /// It may be changed before it goes into a model, for example its rules and indexes; the properties have to stay, and
  /// to stay where they are. The class must have a description: `entityDescription` itself makes it
  /// by `EntityDescription("Company", properties: [...])`. To ask for it there would be without
  /// end, and stops the program.
  ///
  /// An initializer of the program's own with this label is preferred to this one.
  @_disfavoredOverload
  public init(from type: ManagedObject.Type) {
    self = ClassDescriptions.description(of: type)
    if name.isEmpty { stop("\(type) does not say what its entity is: override entityDescription.") }
  }
}
