/// The part of a model that a diagram shows.
package struct DiagramOptions: Sendable, Hashable {
  /// The attributes that are rows of the boxes. Relationships are always rows, because lines lead
  /// to them.
  package enum Attributes: String, Sendable, Hashable, CaseIterable {
    /// All attributes.
    case all
    /// The attributes of uniqueness constraints.
    case keys
    case none
  }

  /// The names of the entities to begin with. If empty, the diagram shows the whole model.
  package var entities: [String]
  /// The maximum number of lines from `entities` to another entity of the diagram; nil for no
  /// limit.
  package var depth: Int?
  package var attributes: Attributes

  package init(entities: [String] = [], depth: Int? = nil, attributes: Attributes = .all) {
    self.entities = entities
    self.depth = depth
    self.attributes = attributes
  }
}
