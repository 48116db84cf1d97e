/// The description of a composite attribute: several attributes under one name, as the parts of one
/// value.
///
///     PropertyDescription.composite("address", [.string("street"), .string("city", optional: false)])
///
/// A composite has no value of its own. It consists of its elements, down to the attributes in it,
/// its *leaves*, each of which has a path (`address.street`). It is absent when all its leaves are
/// absent.
public struct CompositeAttributeDescription: Sendable, Hashable {
  /// The name, unique in the entity and its superentities, or in the composite that this one is an
  /// element of.
  public var name: String
  /// The parts, in the order of their slots: stored attributes and composites; at least one, and no
  /// relationships.
  public var elements: [PropertyDescription]
  /// Whether the whole composite may be absent when an object is saved. If any leaf is present,
  /// each element applies its own rule.
  public var isOptional: Bool
  /// The name that the composite had in an earlier version of the model, for migration.
  public var renamingIdentifier: String?
  /// Whatever a program wants to say about the composite; stored with the model, and not part of
  /// the version hash.
  public var userInfo: [String: String]
  /// Changes the version hash, if stored values have a new meaning.
  public var versionHashModifier: String?

  /// Makes a description. Nothing is checked here: the model checks everything at once.
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
  /// Whether some leaf has a value in every composite that passes a save, because the leaf and all
  /// that it is in are required.
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

  /// The properties with slots: the property itself, or the leaves of a composite in the order of
  /// their slots, each named by its path.
  package var leaves: [PropertyDescription] {
    guard case .composite = self else { return [self] }
    var leaves: [PropertyDescription] = []
    appendLeaves(to: &leaves, behind: "")
    return leaves
  }

  /// The property, and of a composite the leaves behind it.
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
  /// The declared properties, one for each slot; see `PropertyDescription.leaves`.
  package var slotted: [PropertyDescription] { properties.flatMap(\.leaves) }
}
