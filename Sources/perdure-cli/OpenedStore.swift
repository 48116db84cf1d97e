import ArgumentParser
import Perdure
import PerdureLog

/// A store opened for looking at it: with its graph, if it holds one.
struct OpenedStore {
  let engine: Store
  let graph: StoreInspection?

  init(at path: String) throws {
    do {
      let graph = try StoreInspection(at: path)
      self.graph = graph
      engine = graph.engine
    } catch let error as StoreError where error.code == .notAStore {
      engine = try Self.openEngine(at: path)
      graph = nil
    } catch {
      throw Self.unopened(error)
    }
  }

  /// A store of keys and values without a graph.
  private static func openEngine(at path: String) throws -> Store {
    var options = StoreOptions()
    options.isReadOnly = true
    do {
      return try Store(at: path, options: options)
    } catch {
      throw unopened(error)
    }
  }

  private static func unopened(_ error: any Error) -> any Error {
    printError("error: \(error)")
    return ExitCode.unopened
  }
}

/// Writes a line to the standard error stream.
func printError(_ line: String) {
  var stream = StandardError()
  print(line, to: &stream)
}
