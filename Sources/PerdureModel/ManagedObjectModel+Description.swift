extension ManagedObjectModel: CustomStringConvertible {
  /// One line for each entity, with the properties that it declares itself:
  ///
  ///     Model of 2 entities, version 3f0c…
  ///       Company: name string!, workers ->> Worker.company cascade
  ///       Worker (Person): email string, company -> Company.workers
  ///
  /// `!` marks a property that must have a value.
  public var description: String {
    let count = "\(entities.count) \(entities.count == 1 ? "entity" : "entities")"
    let lines = entities.map { "  \($0)" }
    return (["Model of \(count), version \(String(versionHash, radix: 16))"] + lines).joined(separator: "\n")
  }
}

extension EntityDescription: CustomStringConvertible {
  /// The name of the entity, its superentity, whether it is abstract, and its properties.
  public var description: String {
    let notes = [superentityName, isAbstract ? "abstract" : nil].compactMap { $0 }
    let head = name + (notes.isEmpty ? "" : " (\(notes.joined(separator: ", ")))")
    if properties.isEmpty { return head }
    return head + ": " + properties.map(\.description).joined(separator: ", ")
  }
}

extension PropertyDescription: CustomStringConvertible {
  /// The name, and the type or destination.
  public var description: String {
    switch self {
    case .attribute(let attribute):
      "\(attribute.name) \(attribute.type)" + (attribute.isTransient ? " transient" : "")
        + (attribute.derivation.map { " = \($0)" } ?? (attribute.isOptional ? "" : "!"))
    case .relationship(let relationship):
      "\(relationship.name) \(relationship.isToMany ? "->>" : "->") \(relationship.destinationEntityName)"
        + (relationship.inverseName.map { ".\($0)" } ?? "") + (relationship.isOptional ? "" : "!")
        + (relationship.isTransient ? " transient" : "")
        + (relationship.deleteRule == .nullify ? "" : " \(relationship.deleteRule)")
    case .composite(let composite):
      "\(composite.name)\(composite.isOptional ? "" : "!") "
        + "(\(composite.elements.map(\.description).joined(separator: ", ")))"
    }
  }
}
