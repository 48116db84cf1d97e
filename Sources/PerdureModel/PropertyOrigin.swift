/// The origin of a property in a stored model: when it was added, and with which default.
///
/// Rows that are older than the property do not contain it. For these rows, the value is `standIn`,
/// even if the model has another default later.
package struct PropertyOrigin: Sendable, Hashable {
  /// The number of the version of the model that added the property (`ModelHistory`).
  package let version: UInt32
  /// The default that the property had when it was added, in the form of its type. Nil if it had no
  /// default, or a default that makes a new value for each object.
  package let standIn: DefaultValue?
}

extension PropertyOrigin {
  /// The origin of a property that is added now.
  init(of property: PropertyDescription, in version: UInt32) {
    self.init(version: version, standIn: property.standIn)
  }

  /// Whether a row can store the stand-in for this property.
  func fits(_ property: PropertyDescription) -> Bool {
    guard let standIn else { return true }
    guard case .attribute(let attribute) = property, attribute.isInRows, !standIn.isMade else { return false }
    // Compare the type only: a NaN date does not equal itself.
    if case .date = standIn { return attribute.type == .date }
    return standIn.converted(to: attribute.type) == standIn
  }
}

extension PropertyDescription {
  fileprivate var standIn: DefaultValue? {
    guard case .attribute(let attribute) = self, attribute.isInRows else { return nil }
    guard let value = attribute.defaultValue, !value.isMade else { return nil }
    return value.converted(to: attribute.type)
  }
}

extension AttributeDescription {
  fileprivate var isInRows: Bool { !isTransient && !isComputed }
}

extension StoredModel {
  /// The origins of all properties in a stored model of version 1 to 4, which contains no origins.
  static func origins(of model: ManagedObjectModel, _ entries: [Entry]) -> [UInt32: PropertyOrigin] {
    var origins: [UInt32: PropertyOrigin] = [:]
    for (entity, entry) in zip(model.entities, entries) {
      for (property, number) in zip(entity.slotted, entry.propertyNumbers) {
        origins[number] = PropertyOrigin(of: property, in: 1)
      }
    }
    return origins
  }
}
