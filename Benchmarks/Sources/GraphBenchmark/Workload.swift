/// The measured workloads, in the order in which they run.
enum Workload: String, CaseIterable {
  case insert = "bulk insert"
  case getByID = "get by id"
  case getByEmail = "get by unique email"
  case units = "get by unique email, one new context per query"
  case fetchEqual = "fetch equal"
  case fetchRange = "fetch range"
  case fetchPrefix = "fetch prefix"
  case fetchEither = "fetch by either of two indexed attributes"
  case countByPredicate = "count by a predicate without an index"
  case materialise = "fetch all"
  case traverse = "traverse company, workers, projects: first"
  case traverseAgain = "traverse company, workers, projects: again"
  case managers = "chain of managers"
  case sumComputed = "count and sum by company, computed"
  case sumKept = "count and sum by company, from stored totals"
  case sortIndexed = "first 100 in the order of an index"
  case sortUnindexed = "first 100 in another order"
  case firstFiltered = "first 20 of an index with a filter, and a second key"
  case deepOffset = "100 objects at an offset of half the index"
  case updateAll = "update all in one save"
  case findOrCreate = "find by email or create, one save"
  case updateEach = "update, one save each"
  case updateEachDurable = "update, one durable save each"
  case moveWorker = "move a worker, one save each"
  case deleteWorker = "delete a worker, one save each"
  case deleteCompany = "delete a company with its workers, per worker"
  case close
  case open = "open and first fetch"

  /// Whether a figure is divided by the number of objects. Otherwise the figure is for the whole
  /// workload.
  var isPerObject: Bool {
    switch self {
    case .sortIndexed, .sortUnindexed, .firstFiltered, .deepOffset, .close, .open: false
    default: true
    }
  }

  /// Whether the workload changes the graph.
  var isChange: Bool {
    switch self {
    case .insert, .updateAll, .findOrCreate, .updateEach, .updateEachDurable, .moveWorker, .deleteWorker,
      .deleteCompany:
      true
    default: false
    }
  }

  /// Whether the workload can be repeated.
  var isQuestion: Bool { !isChange && self != .open && self != .close }
}
