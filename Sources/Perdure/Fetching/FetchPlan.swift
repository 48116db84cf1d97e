// How a fetch is going to be run, as a value that can be printed.

package import PerdurePredicates

/// A way to run a fetch.
package struct FetchPlan: CustomStringConvertible {
  /// Where candidates come from.
  package indirect enum Access: Hashable, Sendable {
    /// Every row of the entities.
    case scan
    /// The objects that the predicate names.
    case references([ObjectReference])
    /// Ranges of an index, in turn.
    case index(StoreIndex, [KeyRange])
    /// The objects found in `inner`, each the key of a range of the first of `outers`, whose references are keys in
    /// the next, and so on; those of the last are the candidates.
    case join(outers: [StoreIndex], inner: StoreIndex, [KeyRange])
    /// The same along to-one relationships and in the order of `inner`, and, where null is wanted, the objects that
    /// have nothing at the end of the path, before all others. `isReversed`: whether `inner` is walked from its end.
    case pathOrder(
      outers: [StoreIndex], inner: StoreIndex, [KeyRange], isReversed: Bool, includesNull: Bool)
    /// A count index and, before or behind it, the owners that have nothing to count.
    case countOrder(StoreIndex, counted: StoreIndex)
    /// The candidates of several accesses, one access after the other.
    case union([Access])
  }

  package private(set) var access: Access
  /// Whether candidates come from the greatest to the least.
  package let isReversed: Bool
  /// Whether candidates with equal keys come in the order opposite to that of the index.
  package let reversesTies: Bool
  /// Whether candidates may be objects of other entities, to be left out.
  package let filtersEntities: Bool
  /// Whether one object may be a candidate more than once.
  package var mayRepeat: Bool {
    switch access {
    case .join, .union: true
    case .scan, .references, .index, .pathOrder, .countOrder: false
    }
  }
  /// Whether only its row tells whether a candidate exists.
  let mayLackRows: Bool
  /// How many candidates there are: exact for the view that the plan was made for, an estimate for joins and unions.
  package let candidateCount: Int
  /// What candidates must pass: what the access path does not make sure of by itself.
  package let residual: FetchPredicate
  /// Whether candidates come in the order that is asked for.
  package let isOrdered: Bool
  /// How candidates come in the order of the first criterion alone; nil if they do not, or come in
  /// the whole order.
  let lead: LeadingOrder?
  /// Makes the description; most plans are run and never described.
  let describe: () -> String

  /// The same plan with other ranges of its index.
  func with(_ ranges: [KeyRange], of index: StoreIndex) -> FetchPlan {
    var plan = self
    plan.access = .index(index, ranges)
    return plan
  }

  /// What was planned for, in words: access path, candidates, filter, order, window; one line each.
  package var description: String { describe() }
}

/// An index that has the order of the first criterion, for a fetch that wants the first objects.
struct LeadingOrder {
  /// The number of candidates after which `other` costs less.
  let candidatesMax: Int
  /// The plan that is cheapest otherwise: many objects can be equal in the first criterion.
  let other: () -> FetchPlan
}

/// What the planner is told about the store.
package struct FetchStatistics {
  /// Number of entries in a range of an index.
  package let entryCount: (StoreIndex, KeyRange) -> Int
  /// Number of rows of a concrete entity.
  package let rowCount: (UInt16) -> Int

  package init(
    entryCount: @escaping (StoreIndex, KeyRange) -> Int, rowCount: @escaping (UInt16) -> Int
  ) {
    self.entryCount = entryCount
    self.rowCount = rowCount
  }

  /// So many entries that whatever else finds the objects is cheaper, and that sums of them do not overflow.
  static let unreadable = 1 << 40

  /// The exact numbers of a view. An index that cannot be read is as dear as can be.
  package init(_ view: any StateReader) {
    entryCount = { (try? view.entryCount($0, $1)) ?? Self.unreadable }
    rowCount = { (try? view.rowCount(entity: $0)) ?? Self.unreadable }
  }
}
