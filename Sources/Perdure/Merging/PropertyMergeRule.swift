// Rules for merging one property that this context and another context have changed. Pure functions
// of values.

public import PerdurePredicates

/// The rule by which a save merges one property that this context and another context have changed.
///
///     context.mergePolicy = .error
///       .merging("salary", of: "Worker", by: .sum)
///       .merging("name", of: "Person", by: .custom { $0.store })
public struct PropertyMergeRule: Sendable {
  enum Kind: Sendable {
    case error, store, object, sum, maximum, minimum, union
    case custom(@Sendable (PropertyVersions) -> Value?)
  }

  let kind: Kind

  /// Refuses the save.
  public static let error = PropertyMergeRule(kind: .error)
  /// Keeps the store's value.
  public static let store = PropertyMergeRule(kind: .store)
  /// Saves the local value.
  public static let object = PropertyMergeRule(kind: .object)
  /// Adds both changes of a number: the local difference is added to the store's value. An absent
  /// earlier value counts as 0. The save is refused if one of the values is not a number, or if the
  /// attribute cannot hold the sum.
  public static let sum = PropertyMergeRule(kind: .sum)
  /// The greater of the two values. An absent value is less than any value.
  public static let maximum = PropertyMergeRule(kind: .maximum)
  /// The smaller of the two values. If only one side has a value, the result is this value.
  public static let minimum = PropertyMergeRule(kind: .minimum)
  /// For a to-many relationship: all objects of both sides, even those that one side removed.
  /// Without a rule, the additions and removals of both sides are applied.
  public static let union = PropertyMergeRule(kind: .union)

  /// Computes the value by a function of the three values. If it returns nil or a value that the
  /// property cannot hold, the save is refused. The save calls the function in the context's
  /// isolation, without locks, and possibly more than once. So the result should depend only on the
  /// arguments. An object is passed and returned as its id.
  public static func custom(_ merge: @escaping @Sendable (PropertyVersions) -> Value?) -> PropertyMergeRule {
    PropertyMergeRule(kind: .custom(merge))
  }

  /// The merged value; nil if the conflict remains.
  func merged(_ versions: PropertyVersions) -> Value? {
    switch kind {
    case .error, .union: nil
    case .store: versions.store
    case .object: versions.local
    case .sum: Self.sum(versions)
    case .maximum: Self.extreme(versions, .descending)
    case .minimum: Self.extreme(versions, .ascending)
    case .custom(let merge): merge(versions)
    }
  }

  private static func sum(_ versions: PropertyVersions) -> Value? {
    guard let taken = versions.base.isNull ? .integer(0) : versions.base.negated else { return nil }
    let store = versions.store.isNull && versions.base.isNull ? Value.integer(0) : versions.store
    do {
      let sum = try Aggregation.sum([store, versions.local, taken])
      return sum.isNull ? nil : sum
    } catch {
      // One of the values is not a number.
      return nil
    }
  }

  private static func extreme(_ versions: PropertyVersions, _ order: ValueOrder) -> Value {
    if versions.local.isNull { return versions.store }
    if versions.store.isNull { return versions.local }
    return Value.sortOrder(versions.local, versions.store) == order ? versions.local : versions.store
  }

  /// Whether the rule can merge the targets of a to-many relationship.
  var isForSets: Bool {
    switch kind {
    case .error, .store, .object, .union: true
    case .sum, .maximum, .minimum, .custom: false
    }
  }

  /// Whether the rule can only merge numbers.
  var needsNumbers: Bool { if case .sum = kind { true } else { false } }

  /// Whether the rule can only merge sets.
  var needsSet: Bool { if case .union = kind { true } else { false } }

  /// The merged targets of a to-many relationship; nil if the conflict remains.
  func merged<Member: Hashable>(
    base: Set<Member>, local: Set<Member>, store: Set<Member>
  ) -> Set<Member>? {
    if store == base || local == store { return local }
    if local == base { return store }
    switch kind {
    case .store: return store
    case .object: return local
    case .union: return local.union(store)
    case .error, .sum, .maximum, .minimum, .custom: return nil
    }
  }
}

extension Value {
  /// The number with the opposite sign; nil for a value that is not a number, and for `Int64.min`.
  fileprivate var negated: Value? {
    switch self {
    case .integer(let number):
      let (result, overflows) = (0 as Int64).subtractingReportingOverflow(number)
      return overflows ? nil : .integer(result)
    case .double(let number): return .double(-number)
    case .decimal(let number): return .decimal(-number)
    default: return nil
    }
  }
}
