import PerdureModel

/// The lines of the parts of a model, for problems that the check of descriptions finds.
struct SourceLines {
  /// A kind of part that has a name.
  enum Kind: Hashable {
    case entity, property, index, constraint, configuration, template
    /// An entity in a configuration.
    case member
  }

  private struct Key: Hashable {
    let kind: Kind
    let entity: String
    let part: String
  }

  private var lines: [Key: Int] = [:]

  /// Records the line of a part. A later part with the same name replaces an earlier one, because
  /// the later part is the one to correct.
  mutating func note(line: Int?, _ kind: Kind, _ entity: String, _ part: String = "") {
    lines[Key(kind: kind, entity: entity, part: part)] = line
  }

  /// Records the line of a part for its other name too.
  mutating func copy(_ kind: Kind, _ entity: String, from part: String, to other: String) {
    note(line: lines[Key(kind: kind, entity: entity, part: part)], kind, entity, other)
  }

  /// The line of a problem: of the part, of the property that contains it, or of the entity or
  /// configuration. Nil if none of these lines is known.
  func line(of problem: ModelProblem) -> Int? {
    let part = problem.property ?? ""
    let kind = Kind(of: problem.rule)
    let names = [part, String(part.prefix { $0 != "." })]
    for name in names {
      if let line = lines[Key(kind: kind, entity: problem.entity, part: name)] { return line }
    }
    let wholes: [Kind] = [.entity, .configuration, .member]
    return wholes.lazy.compactMap { lines[Key(kind: $0, entity: problem.entity, part: "")] }.first
  }
}

extension SourceLines.Kind {
  /// The kind of part that a rule is about.
  fileprivate init(of rule: ModelProblem.Rule) {
    switch rule {
    case .indexShape, .indexProperty, .indexPredicate, .indexNotKept: self = .index
    case .constraintShape, .constraintProperty, .constraintOfBytes: self = .constraint
    case .configuration: self = .configuration
    case .fetchTemplate: self = .template
    default: self = .property
    }
  }
}
