/// The numbers of a context's requests to its store since the context was created. Use them in
/// tests that limit the requests of a loop, and to find the cause of slow code.
///
///     let workers = try context.fetch(Worker.fetchRequest())
///     let before = context.statistics
///     for worker in workers { print(worker.company?.name ?? "") }
///     let requests = context.statistics.since(before).rowRequestCount
///     #expect(requests <= (workers.count + 63) / 64 + 1)
///
/// The row of a fault, the other end of a relationship and the number of its objects are requested
/// for 64 siblings at a time. Siblings are the objects of one fetch (`FetchRequest.fetchBatchSize`
/// sets another number), of one to-many relationship, or the targets of the same relationship of
/// several siblings. For a relationship that is looked up in an index, the first lookup is for one
/// object, and a request returns at most 4,096 objects. Rows of more than 4 KiB are read one by
/// one.
public struct ContextStatistics: Hashable, Sendable {
  /// The number of requests to the store for objects, ids, a count of objects, a plan, or the
  /// object with a unique key.
  public internal(set) var fetchRequestCount = 0
  /// The number of requests for rows: for faults that fired, for prefetching, and for retained
  /// objects after a save. Rows that a fetch read to find its objects do not count.
  public internal(set) var rowRequestCount = 0
  /// The number of rows that these requests returned, one for each object. After a save, the
  /// context usually requests only the versions of the saved rows, and these do not count.
  public internal(set) var rowCount = 0
  /// The number of rows read for objects without an instance. For example, delete rules, plans of
  /// deletions, and saves that write or check such objects read them. A change of a relationship
  /// reads them at the other end of the relationship.
  public internal(set) var uninstantiatedRowCount = 0
  /// The number of index lookups of the other end of a relationship, each for one object or for
  /// many.
  public internal(set) var relationshipRequestCount = 0
  /// The number of times that the objects at the other end of a relationship were counted, each
  /// time for one object or for many.
  public internal(set) var relationshipCountRequestCount = 0
  /// The number of commits that were requested.
  public internal(set) var commitRequestCount = 0

  /// Creates statistics in which all counts are 0.
  public init() {}

  /// The counts since an earlier moment: the difference of each number.
  public func since(_ earlier: ContextStatistics) -> ContextStatistics {
    var difference = ContextStatistics()
    difference.fetchRequestCount = fetchRequestCount - earlier.fetchRequestCount
    difference.rowRequestCount = rowRequestCount - earlier.rowRequestCount
    difference.rowCount = rowCount - earlier.rowCount
    difference.uninstantiatedRowCount = uninstantiatedRowCount - earlier.uninstantiatedRowCount
    difference.relationshipRequestCount = relationshipRequestCount - earlier.relationshipRequestCount
    difference.relationshipCountRequestCount =
      relationshipCountRequestCount - earlier.relationshipCountRequestCount
    difference.commitRequestCount = commitRequestCount - earlier.commitRequestCount
    return difference
  }
}
