// The way to run a fetch, as a value that can be printed.

package import PerdurePredicates

/// A way to run a fetch.
package struct FetchPlan: CustomStringConvertible {
  /// The source of the candidates.
  package indirect enum Access: Hashable, Sendable {
    /// Every row of the entities.
    case scan
    /// The objects that the predicate names.
    case references([ObjectReference])
    /// Ranges of an index, one after the other.
    case index(StoreIndex, [KeyRange])
    /// Reads ranges of `inner`, the index at the end of a path. Looks up each reference found in
    /// the first index of `outers`, each result in the next index, and so on. The results of the
    /// last lookup are the candidates.
    case join(outers: [StoreIndex], inner: StoreIndex, [KeyRange])
    /// Like `join`, along to-one relationships, with candidates in the order of `inner`. If
    /// `includesNull` is set, the candidates include objects without a value at the end of the
    /// path: first in ascending order, last in descending order. If `isReversed` is set, `inner` is
    /// read from its end.
    case pathOrder(
      outers: [StoreIndex], inner: StoreIndex, [KeyRange], isReversed: Bool, includesNull: Bool)
    /// The owners in the order of a count index. Owners with the count 0 have no entry in it. A
    /// scan finds them: first in ascending order, last in descending order.
    case countOrder(StoreIndex, counted: StoreIndex)
    /// The candidates of several accesses, one access after the other.
    case union([Access])
  }

  package private(set) var access: Access
  /// Whether candidates come from the greatest to the least.
  package let isReversed: Bool
  /// Whether candidates with equal keys come in the order opposite to that of the index.
  package let reversesTies: Bool
  /// Whether some candidates may be objects of other entities. The executor rejects these.
  package let filtersEntities: Bool
  /// Whether one object may be a candidate more than once.
  package var mayRepeat: Bool {
    switch access {
    case .join, .union: true
    case .scan, .references, .index, .pathOrder, .countOrder: false
    }
  }
  /// Whether a candidate may have no row. Its row must then be read to learn whether the object
  /// exists.
  let mayLackRows: Bool
  /// The number of candidates in the view of the plan. It is an estimate for joins, unions, and
  /// path orders without null.
  package let candidateCount: Int
  /// The part of the predicate that the access path does not guarantee. Every result must satisfy
  /// it.
  package let residual: FetchPredicate
  /// Whether candidates are in the requested order.
  package let isOrdered: Bool
  /// Set if candidates are ordered only by the first criterion; nil if they are unordered or
  /// completely ordered.
  let lead: LeadingOrder?
  /// Makes the description when it is needed, because most plans are never described.
  let describe: () -> String

  /// The same plan with other ranges of its index.
  func with(_ ranges: [KeyRange], of index: StoreIndex) -> FetchPlan {
    var plan = self
    plan.access = .index(index, ranges)
    return plan
  }

  /// The plan as text. It has lines for entity, access path and candidates, and for filter,
  /// accepted entities, order and window if there are any.
  package var description: String { describe() }
}

/// The alternative for a plan whose candidates are ordered only by the first criterion, in a fetch
/// with a window. The alternative is used if that plan becomes more expensive.
struct LeadingOrder {
  /// The number of candidates after which `other` costs less.
  let candidatesMax: Int
  /// The cheapest plan without this order. This plan costs less if many objects are equal in the
  /// first criterion.
  let other: () -> FetchPlan
}

/// The numbers of rows and index entries that the planner uses.
package struct FetchStatistics {
  /// The number of entries in a range of an index.
  package let entryCount: (StoreIndex, KeyRange) -> Int
  /// The number of rows of a concrete entity.
  package let rowCount: (UInt16) -> Int

  package init(
    entryCount: @escaping (StoreIndex, KeyRange) -> Int, rowCount: @escaping (UInt16) -> Int
  ) {
    self.entryCount = entryCount
    self.rowCount = rowCount
  }

  /// The count for an index that cannot be read. It makes every other access path cheaper, and is
  /// small enough that sums of it do not overflow.
  static let unreadable = 1 << 40

  /// The exact numbers of a view. An index that cannot be read has the count `unreadable`, so the
  /// planner avoids it.
  package init(_ view: any StateReader) {
    entryCount = { (try? view.entryCount($0, $1)) ?? Self.unreadable }
    rowCount = { (try? view.rowCount(entity: $0)) ?? Self.unreadable }
  }
}
