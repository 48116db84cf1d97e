/// The description of a composite attribute: several attributes under one name, as parts of one
/// value.
///
///     PropertyDescription.composite("address", [.string("street"), .string("city", optional: false)])
///
/// A composite itself has no value. It consists of its elements. The attributes inside it, at any
/// depth, are its *leaves*, and each leaf has a path (`address.street`). The composite is absent if
/// all its leaves are absent.
public struct CompositeAttributeDescription: Sendable, Hashable {
  /// The name. It is unique in the entity and its superentities, or in the composite that contains
  /// this one.
  public var name: String
  /// The parts in the order of their slots: one or more stored attributes and composites, but no
  /// relationships.
  public var elements: [PropertyDescription]
  /// Whether the whole composite may be absent at a save.
  ///
  /// If any leaf is present, each element is checked against its own `isOptional`.
  public var isOptional: Bool
  /// The name that the composite had in an earlier version of the model, for migration.
  public var renamingIdentifier: String?
  /// The program's own data about the composite. It is stored with the model, but is not part of
  /// the version hash.
  public var userInfo: [String: String]
  /// A text that changes the version hash. Set it if stored values get a new meaning.
  public var versionHashModifier: String?

  /// Makes a description. `ManagedObjectModel.init` checks it later.
  public init(
    _ name: String, _ elements: [PropertyDescription], isOptional: Bool = true,
    renamingIdentifier: String? = nil, userInfo: [String: String] = [:], versionHashModifier: String? = nil
  ) {
    self.name = name
    self.elements = elements
    self.isOptional = isOptional
    self.renamingIdentifier = renamingIdentifier
    self.userInfo = userInfo
    self.versionHashModifier = versionHashModifier
  }
}

extension CompositeAttributeDescription {
  /// Whether validation ensures that the composite has a value. This is true if a leaf is required,
  /// and so is every composite between the leaf and this one.
  package var alwaysHasValue: Bool {
    elements.contains { element in
      if case .composite(let inner) = element { return !inner.isOptional && inner.alwaysHasValue }
      return !element.isOptional
    }
  }
}

extension PropertyDescription {
  /// Describes a composite attribute.
  public static func composite(
    _ name: String, _ elements: [PropertyDescription], optional: Bool = true
  ) -> PropertyDescription {
    .composite(CompositeAttributeDescription(name, elements, isOptional: optional))
  }

  /// The properties that have slots: the property itself, or the leaves of a composite in slot
  /// order. Each leaf is named by its path.
  package var leaves: [PropertyDescription] {
    guard case .composite = self else { return [self] }
    var leaves: [PropertyDescription] = []
    appendLeaves(to: &leaves, behind: "")
    return leaves
  }

  /// The property, and all elements of a composite at any depth. Each element is named by its path,
  /// and follows the composite that contains it.
  package var parts: [PropertyDescription] {
    guard case .composite(let composite) = self else { return [self] }
    return [self] + composite.elements.flatMap { $0.named("\(composite.name).\($0.name)").parts }
  }

  private func named(_ name: String) -> PropertyDescription {
    switch self {
    case .attribute(var attribute):
      attribute.name = name
      return .attribute(attribute)
    case .relationship(var relationship):
      relationship.name = name
      return .relationship(relationship)
    case .composite(var composite):
      composite.name = name
      return .composite(composite)
    }
  }

  /// The property, followed by its leaves if it is a composite.
  var withLeaves: [PropertyDescription] {
    if case .composite = self { [self] + leaves } else { [self] }
  }

  private func appendLeaves(to leaves: inout [PropertyDescription], behind prefix: String) {
    switch self {
    case .attribute(var attribute):
      attribute.name = prefix + attribute.name
      leaves.append(.attribute(attribute))
    case .relationship: leaves.append(self)
    case .composite(let composite):
      for element in composite.elements {
        element.appendLeaves(to: &leaves, behind: "\(prefix)\(composite.name).")
      }
    }
  }
}

extension EntityDescription {
  /// The declared properties, one for each slot. See `PropertyDescription.leaves`.
  package var slotted: [PropertyDescription] { properties.flatMap(\.leaves) }
}
