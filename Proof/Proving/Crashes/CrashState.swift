package import PerdureLog

/// The required content of a store at one time.
package struct CrashState: Sendable {
  package var content: CrashHistory.Content = [:]
  package var catalog = CrashCatalog()

  /// The state of a store without commits.
  package init() {}

  /// Compares a store with this state: its values, its definitions, and the entries of its indexes.
  /// The values determine the entries.
  ///
  /// - Parameter when: The description of the state in violations.
  package func check(_ store: Store, _ when: String) throws {
    guard try CrashOracle.content(of: store) == content else {
      throw Violation("the content \(when) is wrong")
    }
    let found = try CrashCatalog(of: store)
    guard found == catalog else {
      throw Violation("the definitions \(when) are wrong: \(found), not \(catalog)")
    }
    let snapshot = store.snapshot()
    for (index, definition) in try store.indexes {
      let (wanted, found) = try (entries(CrashDefinition(definition)), Self.entries(of: index, snapshot))
      guard wanted == found else {
        throw Violation(
          "the entries of index \(index.name) \(when) differ from those computed from the values: "
            + "\(found), not \(wanted)")
      }
    }
  }

  /// The entries of an index, concatenated. Each is its key, then the eight bytes of its reference.
  private static func entries(of index: DerivedIndex, _ snapshot: Snapshot) throws -> [UInt8] {
    var entries: [UInt8] = []
    try snapshot.forEachEntry(in: index) { key, reference in
      key.withUnsafeBytes { entries.append(contentsOf: $0) }
      withUnsafeBytes(of: reference.bigEndian) { entries.append(contentsOf: $0) }
      return true
    }
    return entries
  }
}

// The entries of an index. They are made only from the values, as the engine's documentation
// describes them. The code does not use the engine.
extension CrashState {
  /// The entries that the store must have, sorted. All keys of an index have the same length.
  private func entries(_ definition: CrashDefinition) throws -> [UInt8] {
    switch definition {
    case .index(_, let keyspaces, _, let parameters, _):
      return Self.joined(try entries(keyspaces, parameters))
    case .groupCounts(_, let counted, _):
      let source = catalog.indexes.first { $0.name == counted }
      guard case .index(_, let keyspaces, _, let parameters, _)? = source else {
        throw Violation("the index that \(definition.name) counts is missing")
      }
      let groups = try entries(keyspaces, parameters).reduce(into: [:]) {
        $0[Array($1.prefix(8)), default: 0] += 1
      }
      return Self.joined(groups.map { group, count in Self.bigEndian(UInt64(count)) + group })
    case .groupSums(_, let keyspaces, _, let parameters):
      let sums = try sums(of: entries(keyspaces, parameters))
      return Self.joined(sums.map { $0 + Self.number($1.sum) + Self.number(of: $1.count) + $0 })
    case .sumOrder(_, let summed):
      let source = catalog.indexes.first { $0.name == summed }
      guard case .groupSums(_, let keyspaces, _, let parameters)? = source else {
        throw Violation("the index that \(definition.name) orders is missing")
      }
      let sums = try sums(of: entries(keyspaces, parameters))
      return Self.joined(sums.map { Self.number($1.sum) + $0 })
    case .keyspace, .dictionary, .removedIndex: return []
    }
  }

  private static func joined(_ entries: [[UInt8]]) -> [UInt8] {
    Array(entries.sorted { $0.lexicographicallyPrecedes($1) }.joined())
  }

  /// The entries of an index over slices of values, with any extractor. The reference is the id.
  private func entries(_ keyspaces: [String], _ parameters: [UInt8]) throws -> [[UInt8]] {
    let slices = stride(from: 1, to: parameters.count, by: 9).map {
      parameters[$0..<min($0 + 9, parameters.count)]
    }
    guard parameters.first == 0, slices.allSatisfy({ $0.count == 9 && $0.first == 1 }) else {
      throw Violation("\(parameters) are not slices of values")
    }
    let ranges = slices.map { slice in
      let numbers = slice.dropFirst()
      let offset = Self.littleEndian(numbers.prefix(4))
      return offset..<offset + Self.littleEndian(numbers.suffix(4))
    }
    return content.compactMap { key, value in
      guard case .id(let id) = key.key, keyspaces.contains(key.keyspace),
        ranges.allSatisfy({ $0.upperBound <= value.count })
      else { return nil }
      return ranges.flatMap { value[$0] } + Self.bigEndian(id)
    }
  }

  private static func littleEndian(_ bytes: ArraySlice<UInt8>) -> Int {
    bytes.reversed().reduce(0) { $0 << 8 | Int($1) }
  }

  private static func bigEndian(_ number: UInt64) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian) { Array($0) }
  }
}
