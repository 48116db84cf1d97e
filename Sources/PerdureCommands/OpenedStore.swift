import Perdure
import PerdureLog

/// A store opened for looking at it: with its graph, if it holds one.
struct OpenedStore {
  let engine: Store
  let graph: StoreInspection?

  init(at path: String) throws {
    var options = StoreOptions()
    options.isReadOnly = true
    options.createsIfMissing = false
    do {
      let graph = try StoreInspection(at: path, options: options)
      self.graph = graph
      engine = graph.engine
    } catch let error as StoreError where error.code == .notAStore {
      // A store of keys and values without a graph, or none at all.
      engine = try Store(at: path, options: options)
      graph = nil
    }
  }
}
