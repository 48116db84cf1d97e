import ArgumentParser

/// The measured workloads, in their order. Most of them use the store that the previous one left.
enum Workload: String, CaseIterable, ExpressibleByArgument, Codable {
  case fillSequential1 = "fill-sequential-1"
  case fillSequential100 = "fill-sequential-100"
  case fillSequential1000 = "fill-sequential-1000"
  case fillRandom1 = "fill-random-1"
  case fillRandom100 = "fill-random-100"
  /// Fills the store with all records. Later workloads use this store.
  case fillRandom1000 = "fill-random-1000"
  case readRandom = "read-random"
  case readMissing = "read-missing"
  case getMany64 = "get-many-64"
  case scan
  case prefix
  case snapshot
  case ycsbC = "ycsb-c"
  case ycsbB = "ycsb-b"
  case ycsbE = "ycsb-e"
  case ycsbA = "ycsb-a"
  case ycsbF = "ycsb-f"
  case overwrite1 = "overwrite-1"
  case overwrite1000 = "overwrite-1000"
  case readWhileWriting = "read-while-writing"
  case delete1000 = "delete-1000"
  case durable1 = "durable-1-writer"
  case durable8 = "durable-8-writers"
  // Workloads of the part "steady", on a separate store.
  case steadyOverwrite = "steady-overwrite"
  case steadyCommit = "steady-commit"
  case steadyDurable = "steady-durable-commit"
  case openAfterKill = "open-after-kill"
  case openClean = "open-clean"

  /// Whether the workload is meaningful for a shape. Two workloads need hashed keys: `readMissing`,
  /// because missing ids are all after the last id, at the edge of the index, and `prefix`, because
  /// ids have no prefixes.
  func makesSense(for shape: Shape) -> Bool {
    shape.keyKind == .hashed || (self != .readMissing && self != .prefix)
  }

  /// The workloads on a store that is overwritten repeatedly.
  static let steady: [Workload] = [.steadyOverwrite, .steadyCommit, .steadyDurable]

  /// Whether the engine must keep its keys in order.
  var needsOrder: Bool { self == .scan || self == .prefix || self == .ycsbE }

  /// Whether reports show elapsed time, because processor time says little about the workload.
  var waitsForDisk: Bool {
    [.durable1, .durable8, .steadyDurable, .openAfterKill, .openClean].contains(self)
  }

  /// Whether the workload measures the engine's background work.
  var needsCompaction: Bool { self == .steadyCommit || self == .steadyDurable }

  var title: String {
    switch self {
    case .fillSequential1: "fill sequential, batches of 1"
    case .fillSequential100: "fill sequential, batches of 100"
    case .fillSequential1000: "fill sequential, batches of 1000"
    case .fillRandom1: "fill random, batches of 1"
    case .fillRandom100: "fill random, batches of 100"
    case .fillRandom1000: "fill random, batches of 1000"
    case .readRandom: "read random"
    case .readMissing: "read missing"
    case .getMany64: "getMany of 64, per record"
    case .scan: "scan, per entry"
    case .prefix: "scan of a prefix"
    case .snapshot: "snapshot taken and released"
    case .ycsbA: "YCSB A (50 read, 50 update)"
    case .ycsbB: "YCSB B (95 read, 5 update)"
    case .ycsbC: "YCSB C (read)"
    case .ycsbE: "YCSB E (95 scan, 5 insert)"
    case .ycsbF: "YCSB F (50 read, 50 read-modify-write)"
    case .overwrite1: "overwrite, batches of 1"
    case .overwrite1000: "overwrite, batches of 1000"
    case .readWhileWriting: "read while writing"
    case .delete1000: "delete, batches of 1000"
    case .durable1: "durable commit, 1 writer"
    case .durable8: "durable commit, 8 writers"
    case .steadyOverwrite: "steady overwrite, batches of 1000"
    case .steadyCommit: "steady overwrite, batches of 1"
    case .steadyDurable: "durable commit during overwriting"
    case .openAfterKill: "open after kill -9"
    case .openClean: "open clean"
    }
  }
}
