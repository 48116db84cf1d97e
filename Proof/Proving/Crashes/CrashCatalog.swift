package import PerdureLog

/// A definition in the store's catalog: a keyspace, an index or a dictionary.
package enum CrashDefinition: Hashable, Sendable {
  case keyspace(String, KeyspaceKind)
  /// A stored index over records, with the names of its keyspaces.
  case index(String, over: [String], extractor: String, parameters: [UInt8], isUnique: Bool)
  /// An index that counts the groups of another index.
  case groupCounts(String, of: String, isUnique: Bool)
  /// An index with one sum of whole numbers for each group.
  case groupSums(String, over: [String], extractor: String, parameters: [UInt8])
  /// An index that orders the sums of another index.
  case sumOrder(String, of: String)
  /// The name of an index that was removed.
  case removedIndex(String)
  /// The store's dictionary with this number.
  case dictionary(Int, of: String)

  package init(_ definition: IndexDefinition) {
    let (name, isUnique) = (definition.name, definition.isUnique)
    switch definition.source {
    case .records(let keyspaces, let extractor, let parameters):
      self = .index(
        name, over: keyspaces.map(\.name), extractor: extractor, parameters: parameters, isUnique: isUnique)
    case .groupCounts(let counted): self = .groupCounts(name, of: counted.name, isUnique: isUnique)
    case .groupSums(_, let keyspaces, let extractor, let parameters):
      self = .groupSums(
        name, over: keyspaces.map(\.name), extractor: extractor, parameters: parameters)
    case .sumOrder(let sums): self = .sumOrder(name, of: sums.name)
    }
  }

  var name: String {
    switch self {
    case .keyspace(let name, _), .index(let name, _, _, _, _), .groupCounts(let name, _, _),
      .groupSums(let name, _, _, _), .sumOrder(let name, _), .removedIndex(let name):
      name
    case .dictionary(let number, _): "\(number)"
    }
  }
}

/// The valid definitions. The definitions of each kind are in the order in which they were first
/// made.
package struct CrashCatalog: Hashable, Sendable, CustomStringConvertible {
  package private(set) var keyspaces: [CrashDefinition] = []
  /// The indexes by number. Removed indexes keep their positions, because their numbers remain in
  /// use.
  private var numberedIndexes: [CrashDefinition] = []
  package private(set) var dictionaries: [CrashDefinition] = []

  package init() {}

  package var indexes: [CrashDefinition] {
    numberedIndexes.filter { if case .removedIndex = $0 { false } else { true } }
  }

  package static func == (left: Self, right: Self) -> Bool {
    left.keyspaces == right.keyspaces && left.indexes == right.indexes
      && left.dictionaries == right.dictionaries
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(keyspaces)
    hasher.combine(indexes)
    hasher.combine(dictionaries)
  }

  /// Reads the catalog of a store.
  package init(of store: Store) throws {
    var numbers: [(Int, String)] = []
    for keyspace in try store.keyspaces {
      keyspaces.append(.keyspace(keyspace.name, keyspace.kind))
      numbers += try store.dictionaries(of: keyspace).map { ($0.number, keyspace.name) }
    }
    numberedIndexes = try store.indexes.map { CrashDefinition($0.definition) }
    dictionaries = numbers.sorted { $0.0 < $1.0 }.map { .dictionary($0, of: $1) }
  }

  /// - Returns: False if the catalog already contained this definition.
  @discardableResult
  package mutating func add(_ definition: CrashDefinition) -> Bool {
    switch definition {
    case .keyspace: Self.add(definition, to: &keyspaces)
    case .index, .groupCounts, .groupSums, .sumOrder, .removedIndex:
      Self.add(definition, to: &numberedIndexes)
    case .dictionary: Self.add(definition, to: &dictionaries)
    }
  }

  /// Adds a definition. It replaces an earlier definition of the same name.
  private static func add(_ definition: CrashDefinition, to list: inout [CrashDefinition]) -> Bool {
    guard let position = list.firstIndex(where: { $0.name == definition.name }) else {
      list.append(definition)
      return true
    }
    defer { list[position] = definition }
    return list[position] != definition
  }

  package var description: String { "\(keyspaces), \(indexes), \(dictionaries)" }
}
