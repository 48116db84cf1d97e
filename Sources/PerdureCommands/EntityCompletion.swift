import ArgumentParser
import Perdure
import PerdureLog

/// Completes names of entities from the store that a command line names.
enum EntityCompletion {
  static let kind = CompletionKind.custom { words, _, _ in names(for: words) }

  /// The names of the entities of the first word that is a store with objects.
  ///
  /// - Parameter words: The command line as far as it is written, the program's name included.
  static func names(for words: [String]) -> [String] {
    var options = StoreOptions()
    (options.isReadOnly, options.createsIfMissing) = (true, false)
    for word in words.dropFirst() where !word.hasPrefix("-") {
      // Most words are no stores, and a shell has no place for the error of a store.
      guard let store = try? StoreInspection(of: word, options: options) else { continue }
      let names = store.model.entities.map(\.name)
      try? store.engine.close()  // Reading leaves nothing to write.
      return names
    }
    return []
  }
}
