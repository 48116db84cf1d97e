import Perdure
import PerdureLog

/// A store opened for looking at it: with its graph, if it holds one.
struct OpenedStore {
  let engine: Store
  let graph: StoreInspection?

  init(at path: String) throws { try self.init(at: path, isReadOnly: true) }

  /// As its program would: a graph's indexes are kept up.
  init(forWritingAt path: String) throws { try self.init(at: path, isReadOnly: false) }

  private init(at path: String, isReadOnly: Bool) throws {
    var options = StoreOptions()
    options.checksIndexAtOpening = true
    options.isReadOnly = isReadOnly
    options.createsIfMissing = false
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
