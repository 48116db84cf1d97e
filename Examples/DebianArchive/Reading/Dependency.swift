/// A package's relation to another.
public enum DependencyKind: Int, CaseIterable, Sendable {
  /// Must be configured before this package is even unpacked.
  case preDepends
  /// Must be configured before this package is.
  case depends
  /// Is found together with this package but in unusual installations.
  case recommends
  /// Makes this package more useful.
  case suggests
  /// Is made more useful by this package.
  case enhances
  /// Does not work while this package is installed.
  case breaks
  /// Cannot be unpacked while this package is.
  case conflicts
  /// May have files of it overwritten by this package.
  case replaces
  /// Is a further name of this package.
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

/// How a version must compare with the one named.
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
  /// The field that contains it.
  public var kind: DependencyKind
  /// 0-based number of the clause in its field; the alternatives of one clause share it.
  public var group: Int
  /// 0-based number of the alternative in its clause.
  public var position: Int
  /// The package or virtual package it names.
  public var target: String
  /// The part after a colon after the name (`any`, `native`, an architecture); nil when there is
  /// none.
  public var architecture: String?
  /// The version constraint; nil when any version will do.
  public var constraint: VersionConstraint?

  /// One alternative.
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

/// Which versions a dependency accepts.
public struct VersionConstraint: Hashable, Sendable {
  /// How the version must compare with `version`.
  public var relation: VersionRelation
  /// The version to compare with.
  public var version: String

  /// Versions that compare so with `version`.
  public init(_ relation: VersionRelation, _ version: String) {
    self.relation = relation
    self.version = version
  }
}
