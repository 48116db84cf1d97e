// Prepares a predicate for planning and compiling: simplifies it, replaces `now()` by one date for
// the whole fetch, and moves constants to the right.

internal import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

extension FetchPredicate {
  /// A predicate with the same results, prepared for the planner.
  ///
  /// - Parameter now: The value of `now()`.
  func folded(now: Date) -> FetchPredicate {
    replacingNow(now).simplified().withConstantsOnTheRight
  }

  fileprivate func replacingNow(_ now: Date) -> FetchPredicate {
    mapChildren(predicate: { $0.replacingNow(now) }, expression: { $0.replacingNow(now) })
  }

  fileprivate var withConstantsOnTheRight: FetchPredicate {
    let inner = mapChildren(
      predicate: { $0.withConstantsOnTheRight }, expression: { $0.withConstantsOnTheRight })
    guard case .comparison(var comparison) = inner, comparison.modifier == .direct,
      case .constant = comparison.left, let mirrored = comparison.op.mirrored
    else { return inner }
    if case .constant = comparison.right { return inner }
    (comparison.left, comparison.right) = (comparison.right, comparison.left)
    comparison.op = mirrored
    return .comparison(comparison)
  }
}

extension FetchPredicate {
  /// The predicate with paths instead of names in brackets. `SELF["company"]` becomes `company`. So
  /// all later steps, such as checks and planning, handle only paths.
  func replacingNamedElements() -> FetchPredicate {
    mapChildren(
      predicate: { $0.replacingNamedElements() }, expression: { $0.replacingNamedElements() })
  }
}

extension FetchExpression {
  fileprivate func replacingNamedElements() -> FetchExpression {
    if case .element(let base, .at(.constant(.string(let name)))) = self {
      return .path(from: base.replacingNamedElements(), PropertyPath(name))
    }
    return mapChildren(
      predicate: { $0.replacingNamedElements() }, expression: { $0.replacingNamedElements() })
  }
}

extension FetchPredicate {
  /// The predicate without `objectID` at the end of paths, because an object and its identity are
  /// compared alike.
  func replacingObjectIDs() -> FetchPredicate {
    mapChildren(
      predicate: { $0.replacingObjectIDs() }, expression: { $0.replacingObjectIDs() })
  }
}

extension FetchExpression {
  fileprivate func replacingObjectIDs() -> FetchExpression {
    switch self {
    case .keyPath(let path) where path.namesIdentity:
      .path(from: .evaluatedObject, PropertyPath(path.names.dropLast()))
    case .member(let base, let path) where path.namesIdentity:
      .path(from: base.replacingObjectIDs(), PropertyPath(path.names.dropLast()))
    default:
      mapChildren(
        predicate: { $0.replacingObjectIDs() }, expression: { $0.replacingObjectIDs() })
    }
  }
}

extension PropertyPath {
  /// Whether the path ends in the identity of an object. No property has this name.
  var namesIdentity: Bool { names.last == "objectID" && aggregate == nil }

  fileprivate init(_ names: ArraySlice<String>) { self.init(Array(names)) }
}

extension FetchPredicate {
  /// The predicate with `entity` in place of `entity.name`. The value of `entity` is the entity's
  /// name.
  func replacingEntityNames() -> FetchPredicate {
    var isNamed = false
    forEachExpression { if $0.namesEntity { isNamed = true } }
    return isNamed ? withEntities() : self
  }

  fileprivate func withEntities() -> FetchPredicate {
    mapChildren(
      predicate: { $0.withEntities() }, expression: { $0.withEntities() })
  }
}

extension FetchExpression {
  fileprivate var namesEntity: Bool {
    switch self {
    case .keyPath(let path), .member(_, let path): path.namesEntity
    default: false
    }
  }

  fileprivate func withEntities() -> FetchExpression {
    switch self {
    case .keyPath(let path) where path.namesEntity: .keyPath(PropertyPath(path.names.dropLast()))
    case .member(let base, let path) where path.namesEntity:
      .path(from: base.withEntities(), PropertyPath(path.names.dropLast()))
    default:
      mapChildren(
        predicate: { $0.withEntities() }, expression: { $0.withEntities() })
    }
  }
}

extension PropertyPath {
  /// Whether the path ends in `entity.name`.
  var namesEntity: Bool {
    names.count > 1 && names[names.count - 2] == EntityStorage.ownName && names.last == "name"
      && aggregate == nil
  }
}

extension FetchExpression {
  fileprivate func replacingNow(_ now: Date) -> FetchExpression {
    if case .function(.now, _) = self { return .constant(.date(now)) }
    return mapChildren(predicate: { $0.replacingNow(now) }, expression: { $0.replacingNow(now) })
  }

  fileprivate var withConstantsOnTheRight: FetchExpression {
    mapChildren(predicate: { $0.withConstantsOnTheRight }, expression: { $0.withConstantsOnTheRight })
  }
}

extension FetchComparison.Operator {
  /// The operator with the same meaning for exchanged operands; nil if there is none.
  var mirrored: FetchComparison.Operator? {
    switch self {
    case .equal, .notEqual: self
    case .lessThan: .greaterThan
    case .lessThanOrEqual: .greaterThanOrEqual
    case .greaterThan: .lessThan
    case .greaterThanOrEqual: .lessThanOrEqual
    default: nil
    }
  }
}
