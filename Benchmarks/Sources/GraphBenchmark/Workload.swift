/// The measured workloads, in their order: queries first, then changes.
enum Workload: String, CaseIterable {
  case insert = "bulk insert"
  case getByID = "get by id"
  case getByEmail = "get by unique email"
  case fetchEqual = "fetch equal"
  case fetchRange = "fetch range"
  case fetchPrefix = "fetch prefix"
  case countByPredicate = "count by a predicate without an index"
  case materialise = "fetch all"
  case traverse = "traverse company, workers, projects: first"
  case traverseAgain = "traverse company, workers, projects: again"
  case managers = "chain of managers"
  case sumComputed = "count and sum by company, computed"
  case sumKept = "count and sum by company, kept"
  case sortIndexed = "first 100 in the order of an index"
  case sortUnindexed = "first 100 in another order"
  case updateAll = "update all in one save"
  case updateEach = "update, one save each"
  case updateEachDurable = "update, one durable save each"
  case moveWorker = "move a worker, one save each"
  case deleteWorker = "delete a worker, one save each"
  case deleteCompany = "delete a company, a worker of it"
  case open = "open and first fetch"

  /// Whether a figure is divided by the number of objects. Otherwise the figure is for the whole
  /// workload.
  var isPerObject: Bool {
    switch self {
    case .sortIndexed, .sortUnindexed, .open: false
    default: true
    }
  }

  /// Whether the workload changes the graph.
  var isChange: Bool {
    switch self {
    case .insert, .updateAll, .updateEach, .updateEachDurable, .moveWorker, .deleteWorker, .deleteCompany:
      true
    default: false
    }
  }

  /// Whether the workload can be repeated.
  var isQuestion: Bool { !isChange && self != .open }
}
