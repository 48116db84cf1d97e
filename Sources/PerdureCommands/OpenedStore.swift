import Perdure
import PerdureLog

/// A store opened for looking at it: with its graph, if it holds one.
struct OpenedStore {
  let engine: Store
  let graph: StoreInspection?

  /// - Parameter console: Shows the progress of a long opening.
  /// - Parameter checksIndex: Whether to read the whole index, so that the opening replaces a
  ///   damaged one. Without it a command that meets damage fails.
  init(at path: String, on console: Console, checksIndex: Bool = true) throws {
    self = try Self.open(path, isReadOnly: true, checksIndex, console)
  }

  /// As its program would: a graph's indexes are kept up.
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
      // A store of keys and values without a graph, or none at all.
      engine = try Store(at: path, options: options)
      graph = nil
    }
  }
}

/// Passes the progress of the opening from the options, which a store keeps, to a console.
// Unchecked: used by the thread that opens, and empty from then on.
private final class OpeningProgress: @unchecked Sendable {
  var show: ((UInt64, UInt64) -> Void)?
}
