package import PerdurePredicates

/// An error in a fetch request of a model, and its remedy.
package struct FetchRequestFlaw: Sendable, Hashable {
  package let message: String
  package let remedy: String

  package init(message: String, remedy: String) {
    self.message = message
    self.remedy = remedy
  }
}

/// A fetch request of a model, parsed and checked once.
package struct CheckedFetchRequest: Sendable {
  /// The condition; nil for all objects, or if the text cannot be read.
  package var predicate: FetchPredicate?
  /// The variables of the predicate and their types.
  package var variables: [String: FetchVariableType] = [:]
  /// The variables that can select objects when their value is nil: `==` or `!=` compares them with
  /// a value that can be absent.
  package var nilVariables: Set<String> = []
  /// The errors. Only requests of stored models, and of parts of a model, can have errors. A later
  /// version of Perdure may have written the request of a stored model. The store can be read
  /// without the request.
  package var flaws: [FetchRequestFlaw] = []
}
