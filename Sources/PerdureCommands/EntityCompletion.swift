import ArgumentParser
import Perdure
import PerdureLog
import PerdureModelGenerating

/// Completes names of entities. They are read from the store or model file on the command line.
enum EntityCompletion {
  static let kind = CompletionKind.custom { words, _, _ in names(for: words) }

  /// The names of the entities in the first word that is a model file or a store with objects.
  ///
  /// - Parameter words: The words of the incomplete command line, including the program's name.
  static func names(for words: [String]) -> [String] {
    var options = StoreOptions()
    (options.isReadOnly, options.createsIfMissing) = (true, false)
    for word in words.dropFirst() where !word.hasPrefix("-") {
      // Most words are not paths of models, and a completion cannot show errors.
      if ModelInput.isModelFile(word) {
        guard let model = try? ManagedObjectModel(contentsOf: word) else { continue }
        return model.entities.map(\.name)
      }
      guard let store = try? StoreInspection(of: word, options: options) else { continue }
      let names = store.model.entities.map(\.name)
      try? store.engine.close()  // The store is read-only, so there is nothing to flush.
      return names
    }
    return []
  }
}
