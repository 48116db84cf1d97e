import PerdurePredicates

/// A property with everything that its accessors need.
struct PlannedProperty {
  /// How a property is read and set.
  enum Form {
    /// A value, an object or a collection of objects.
    case plain
    /// A transient value of a type that the model does not know.
    case transient
    /// A value that a named transformer converts.
    case transformed
    /// A composite attribute.
    case composite
  }

  let description: PropertyDescription
  /// The type in Swift, with a question mark if the property may be nil.
  let type: String
  let form: Form
  /// The first slot of the property.
  let slot: Int
  /// The class at the other end; nil for attributes.
  let destination: String?

  var name: String { description.name }
  var spelling: String { SwiftName.spelling(name) }

  /// Whether programs cannot set the property.
  var isReadOnly: Bool {
    if case .attribute(let attribute) = description { attribute.derivation != nil } else { false }
  }

  /// The relationship, if it is to-many.
  var toMany: RelationshipDescription? {
    if case .relationship(let relationship) = description, relationship.isToMany { relationship } else { nil }
  }
}

extension AttributeType {
  /// Whether code with values of the type needs Foundation.
  var isOfFoundation: Bool {
    switch self {
    case .decimal, .date, .binary, .uuid, .uri, .transformable: true
    default: false
    }
  }
}
