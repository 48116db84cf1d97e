/// A relation of this package to another package.
public enum DependencyKind: Int, CaseIterable, Sendable {
  /// The other package must be configured before this one is unpacked.
  case preDepends
  /// The other package must be configured before this package is configured.
  case depends
  /// The other package is installed with this one, except in unusual installations.
  case recommends
  /// The other package makes this one more useful.
  case suggests
  /// This package makes the other one more useful.
  case enhances
  /// The other package does not work while this package is installed.
  case breaks
  /// The other package cannot be unpacked while this package is unpacked.
  case conflicts
  /// This package may overwrite files of the other one.
  case replaces
  /// The other name is an additional name of this package.
  case provides

  /// The name of the field that lists dependencies of this kind.
  public var fieldName: StaticString {
    switch self {
    case .preDepends: "Pre-Depends"
    case .depends: "Depends"
    case .recommends: "Recommends"
    case .suggests: "Suggests"
    case .enhances: "Enhances"
    case .breaks: "Breaks"
    case .conflicts: "Conflicts"
    case .replaces: "Replaces"
    case .provides: "Provides"
    }
  }
}

/// The required relation of a version to the given one.
public enum VersionRelation: String, CaseIterable, Sendable {
  /// Earlier than.
  case earlier = "<<"
  /// Earlier than or equal to.
  case earlierOrEqual = "<="
  /// Equal to.
  case equal = "="
  /// Later than or equal to.
  case laterOrEqual = ">="
  /// Later than.
  case later = ">>"
}

/// One alternative of one clause of a dependency field.
public struct Dependency: Hashable, Sendable {
  /// The field that contains the dependency.
  public var kind: DependencyKind
  /// The number of the clause in its field, from 0. All alternatives of a clause have the same
  /// number.
  public var group: Int
  /// The number of the alternative in its clause, from 0.
  public var position: Int
  /// The name of the package or virtual package.
  public var target: String
  /// The part of the name after a colon (`any`, `native`, an architecture); nil if there is none.
  public var architecture: String?
  /// The version constraint; nil if any version is accepted.
  public var constraint: VersionConstraint?

  /// Makes one alternative.
  public init(
    kind: DependencyKind, group: Int, position: Int, target: String, architecture: String? = nil,
    constraint: VersionConstraint? = nil
  ) {
    self.kind = kind
    self.group = group
    self.position = position
    self.target = target
    self.architecture = architecture
    self.constraint = constraint
  }
}

/// The versions that a dependency accepts.
public struct VersionConstraint: Hashable, Sendable {
  /// The required relation to `version`.
  public var relation: VersionRelation
  /// The version to compare with.
  public var version: String

  /// Accepts the versions that have the relation to `version`.
  public init(_ relation: VersionRelation, _ version: String) {
    self.relation = relation
    self.version = version
  }
}
