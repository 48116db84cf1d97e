/// A picture of a model before it has coordinates: boxes with rows, and lines between them.
///
/// A box is an entity. Its rows are the attributes and the relationships that the entity declares.
/// A line is a relationship together with its inverse, or an inheritance.
///
/// Invariants:
/// 1. Boxes are in ascending order of their names, so the order of declaration has no effect.
/// 2. Ends of lines are valid indices of boxes and rows.
package struct ModelDiagram: Sendable, Hashable {
  /// A property of an entity.
  package struct Row: Sendable, Hashable {
    /// The name of the property. A part of a composite attribute has its whole path.
    package var name: String
    /// The type or the destination, and the options that differ from the usual ones.
    package var detail: String
    package var isRelationship = false
    /// Whether the property belongs to a uniqueness constraint.
    package var isKey = false
    /// Whether no store has the value: the property is derived or transient.
    package var isUnstored = false
  }

  /// An entity.
  package struct Box: Sendable, Hashable {
    package var name: String
    package var isAbstract = false
    /// The name of the superentity if the diagram has no box for it.
    package var hiddenSuperentity: String?
    package var rows: [Row] = []
  }

  /// The place in a box to which a line leads: a row, or the name of the entity.
  package struct Port: Sendable, Hashable {
    package var box: Int
    package var row: Int?
  }

  /// The number of objects at an end of a line, which is the number of its arrow heads.
  package enum Head: Int, Sendable, Hashable {
    /// No relationship leads to this end.
    case none
    case one
    case many
  }

  /// One end of a line.
  package struct End: Sendable, Hashable {
    package var port: Port
    package var head: Head
  }

  package enum Kind: Sendable, Hashable {
    /// `from` is the subentity and `to` the superentity.
    case inheritance
    /// `from` declares the relationship, and `to` its inverse if there is one.
    case relationship(isTransient: Bool, cascades: Cascades)
  }

  /// The ends whose objects are deleted together with the objects of the other end.
  package enum Cascades: Sendable, Hashable {
    case neither, to, from, both
  }

  package struct Edge: Sendable, Hashable {
    package var kind: Kind
    package var from: End
    package var to: End
  }

  package var boxes: [Box]
  package var edges: [Edge]
}

extension ModelDiagram {
  /// The line in words, for readers that cannot see it.
  package func sentence(about edge: Edge) -> String {
    let (from, to) = (boxes[edge.from.port.box], boxes[edge.to.port.box])
    guard case .relationship = edge.kind, let row = edge.from.port.row else {
      return "\(from.name) inherits from \(to.name)"
    }
    let there = "\(from.name).\(from.rows[row].name): \(from.rows[row].detail)"
    guard let back = edge.to.port.row else { return there }
    if edge.to.port == edge.from.port { return there + ", its own inverse" }
    return there + "; \(to.name).\(to.rows[back].name): \(to.rows[back].detail)"
  }

  /// A summary such as "2 entities, 1 relationship".
  package var summary: String {
    // A relationship with an inverse is one line and two rows.
    let relationships = boxes.reduce(0) { $0 + $1.rows.count(where: \.isRelationship) }
    let inheritances = edges.count { $0.kind == .inheritance }
    let parts = [
      (boxes.count, "entity", "entities"), (relationships, "relationship", "relationships"),
      (inheritances, "inheritance", "inheritances"),
    ]
    return parts.filter { $0.0 > 0 }.map { "\($0.0) \($0.0 == 1 ? $0.1 : $0.2)" }.joined(separator: ", ")
  }
}
