import Perdure
import PerdureLog

/// A store that a command has opened, with its graph if it contains one.
struct OpenedStore {
  let engine: Store
  let graph: StoreInspection?

  /// - Parameter console: Shows the progress if opening takes a long time.
  /// - Parameter checksIndex: Whether to read the whole index. If true, opening finds damage in the
  ///   index, and builds the index from the log. If false, a command that reads damaged parts of
  ///   the index fails.
  init(at path: String, on console: Console, checksIndex: Bool = true) throws {
    self = try Self.open(path, isReadOnly: true, checksIndex, console)
  }

  /// Opens the store for writing. If it contains a graph, the graph's indexes are maintained.
  init(forWritingAt path: String, on console: Console) throws {
    self = try Self.open(path, isReadOnly: false, true, console)
  }

  private static func open(
    _ path: String, isReadOnly: Bool, _ checksIndex: Bool, _ console: Console
  ) throws -> Self {
    let progress = OpeningProgress()
    return try console.withProgress("opening") { show in
      progress.show = show
      defer { progress.show = nil }
      var options = StoreOptions()
      options.checksIndexAtOpening = checksIndex
      options.isReadOnly = isReadOnly
      options.createsIfMissing = false
      options.recoveryProgress = { progress.show?($0, $1) }
      return try Self(path, options)
    }
  }

  private init(_ path: String, _ options: StoreOptions) throws {
    do {
      let graph = try StoreInspection(of: path, options: options)
      self.graph = graph
      engine = graph.engine
    } catch let error as StoreError where error.code == .notAStore {
      // The directory contains a store of keys and values without a graph, or no store.
      engine = try Store(at: path, options: options)
      graph = nil
    }
  }
}

/// Passes the progress of opening to a console. A store keeps this object in its options, but
/// `show` is set only while the store is being opened.
// `@unchecked` is safe: only the opening thread uses `show`, and `show` is nil after the opening.
private final class OpeningProgress: @unchecked Sendable {
  var show: ((UInt64, UInt64) -> Void)?
}
