// A fetch in the form that a reader receives. Each kind of store executes it in its own way.
//
// In this process, `FetchRun` executes it on a reader: it reads a range of an index, or runs a plan
// of `FetchPlanner`. A store that is reached over a network can send the fetch to its server in one
// request.

internal import PerdurePredicates

/// A fetch request. The functions below check it against the schema of a reader.
package struct CompiledFetch {
  let graph: GraphSchema
  /// The query of the first entity.
  private let query: FetchQuery
  /// The numbers of the requested entity, one for each store of the fetch that has it, in the order
  /// of the stores. Empty if the fetch includes no store.
  let entities: [UInt16]
  let cancellation: FetchCancellation

  init(_ query: FetchQuery, entities: [UInt16], _ graph: GraphSchema, _ cancellation: FetchCancellation) {
    self.query = query
    self.entities = entities
    self.graph = graph
    self.cancellation = cancellation
  }

  /// The range of an index with the same objects in the same order; nil for most fetches.
  ///
  /// - Parameter schema: The schema of the reader.
  func range(_ schema: StoreSchema) -> IndexedRange? {
    entities.count == 1 ? IndexedRange(query, schema) : nil
  }

  /// Checks and prepares the fetch for the planner. The fetch must have one entity.
  ///
  /// - Parameter schema: The schema of the reader.
  /// - Throws: `FetchError`.
  func preparedAlone(_ schema: StoreSchema) throws -> PreparedFetch { try graph.prepared(query, schema) }

  /// Checks and prepares the fetch for the planner, with one element for each entity.
  ///
  /// - Parameter schema: The schema of the reader.
  /// - Throws: `FetchError`.
  func preparedParts(_ schema: StoreSchema) throws -> PreparedParts {
    try query.checkWindow(schema)
    // Each store returns its objects before the end of the window.
    var part = query
    part.limit = PreparedFetch.windowEnd(offset: query.offset, limit: query.limit)
    part.offset = 0
    let parts = try entities.map { number in
      part.entity = number
      return try graph.prepared(part, schema)
    }
    return PreparedParts(parts: parts, offset: query.offset, limit: query.limit)
  }
}

/// Fetches of one entity each, and the window of all of them together.
struct PreparedParts {
  let parts: [PreparedFetch]
  let offset: Int
  let limit: Int?
}

extension GraphSchema {
  /// Checks a query, and prepares it for the planner. Replaces ids of objects by references.
  /// Rejects a predicate that is too deep before the other steps, because these are recursive.
  ///
  /// - Parameter schema: The schema of the reader that runs the fetch.
  /// - Throws: `FetchError`.
  func prepared(_ query: FetchQuery, _ schema: StoreSchema) throws -> PreparedFetch {
    var query = query
    if let predicate = query.predicate, hasSpreadEntities || predicate.traits.contains(.isUnusual) {
      guard let flat = predicate.flattened() else {
        throw FetchError.tooDeep(entity: shape(numbered: query.entity).name)
      }
      query.predicate = try resolvingObjectIDs(in: flat, asked: query.entity)
    }
    return try PreparedFetch(query, schema)
  }
}
