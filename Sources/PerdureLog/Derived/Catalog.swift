import PerdureFormat

/// Which keyspaces and derived indexes a store has: the meaning of keyspace 0. FORMAT.md, "Catalog".
///
/// A value: the committer changes a copy and publishes it with the commit that says so.
struct Catalog: Sendable {
  /// By id; ids are given out without gaps. The first is the catalog itself.
  private(set) var keyspaces: [Keyspace] = [.catalog]
  /// By id.
  private(set) var indexes: [IndexEntry] = []
  private var keyspaceIDs: [String: UInt32] = [:]
  private var indexIDs: [String: UInt32] = [:]

  struct IndexEntry: Sendable {
    var index: DerivedIndex
    var definition: IndexDefinition
  }

  func keyspace(named name: String) -> Keyspace? { keyspaceIDs[name].map { keyspaces[Int($0)] } }

  func index(named name: String) -> IndexEntry? { indexIDs[name].map { indexes[Int($0)] } }

  /// The ids of all indexes.
  var ids: Set<UInt32> { Set(indexes.map(\.index.id)) }

  /// By the id of a counted index: the indexes that count its groups.
  var countedBy: [UInt32: [DerivedIndex]] {
    var countedBy: [UInt32: [DerivedIndex]] = [:]
    for entry in indexes {
      if case .groupCounts(let counted) = entry.definition.source {
        countedBy[counted.id, default: []].append(entry.index)
      }
    }
    return countedBy
  }

  /// The catalog with one more keyspace.
  mutating func addKeyspace(_ name: String, _ kind: KeyspaceKind) -> Keyspace {
    let keyspace = Keyspace(id: UInt32(keyspaces.count), name: name, kind: kind)
    keyspaces.append(keyspace)
    keyspaceIDs[name] = keyspace.id
    return keyspace
  }

  /// The catalog with one more index, or with another definition under a known name.
  mutating func setIndex(_ definition: IndexDefinition) -> DerivedIndex {
    let id = indexIDs[definition.name] ?? UInt32(indexes.count)
    let index = DerivedIndex(id: id, name: definition.name, isUnique: definition.isUnique)
    let entry = IndexEntry(index: index, definition: definition)
    if Int(id) < indexes.count { indexes[Int(id)] = entry } else { indexes.append(entry) }
    indexIDs[definition.name] = id
    return index
  }
}

/// Catalog entries as records of keyspace 0.
enum CatalogRecord {
  private static let keyspaceTag: UInt8 = 1
  private static let indexTag: UInt8 = 2
  private static let groupCountsExtractor = "group-counts"

  static func keyspace(_ keyspace: Keyspace) -> (key: [UInt8], value: [UInt8]) {
    let value = little(keyspace.id) + [keyspace.kind.rawValue, 0, 0, 0]
    return ([keyspaceTag] + Array(keyspace.name.utf8), value)
  }

  static func index(_ index: DerivedIndex, _ definition: IndexDefinition) -> (key: [UInt8], value: [UInt8]) {
    let (extractor, sources, parameters): (String, [UInt32], [UInt8]) =
      switch definition.source {
      case .records(let keyspaces, let extractor, let parameters):
        (extractor, keyspaces.map(\.id), parameters)
      case .groupCounts(let counted): (groupCountsExtractor, [counted.id], [])
      }
    var value = little(index.id)
    value += [definition.isUnique ? 1 : 0, 0]
    value += little(UInt16(extractor.utf8.count)) + little(UInt16(sources.count)) + little(UInt16(0))
    value += Array(extractor.utf8)
    for source in sources { value += little(source) }
    return ([indexTag] + Array(index.name.utf8), value + parameters)
  }

  /// Takes a catalog record into `catalog`.
  /// - Throws: `FormatError` for anything that `keyspace` and `index` do not write.
  static func apply(
    key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, to catalog: inout Catalog
  ) throws(FormatError) {
    guard let tag = key.first else { throw FormatError(.incomplete, in: "catalog key", at: 0) }
    guard let name = String(validating: key.dropFirst(), as: UTF8.self) else {
      throw FormatError(.illegalField, in: "catalog key", at: 1)
    }
    switch tag {
    case keyspaceTag: try applyKeyspace(name, value, to: &catalog)
    case indexTag: try applyIndex(name, value, to: &catalog)
    default: throw FormatError(.unsupported, in: "catalog key", at: 0)
    }
  }

  private static func applyKeyspace(
    _ name: String, _ value: UnsafeRawBufferPointer, to catalog: inout Catalog
  ) throws(FormatError) {
    guard value.count == 8 else { throw FormatError(.incomplete, in: "keyspace entry", at: value.count) }
    guard let kind = KeyspaceKind(rawValue: value[4]) else {
      throw FormatError(.unsupported, in: "keyspace entry", at: 4)
    }
    guard value.isZero(in: 5..<8) else { throw FormatError(.unsupported, in: "keyspace entry", at: 5) }
    guard catalog.keyspace(named: name) == nil, value.integer(at: 0) == UInt32(catalog.keyspaces.count) else {
      throw FormatError(.illegalField, in: "keyspace entry", at: 0)
    }
    _ = catalog.addKeyspace(name, kind)
  }

  private static func applyIndex(
    _ name: String, _ value: UnsafeRawBufferPointer, to catalog: inout Catalog
  ) throws(FormatError) {
    func wrong(_ offset: Int) -> FormatError { FormatError(.illegalField, in: "index entry", at: offset) }
    guard value.count >= 12 else { throw FormatError(.incomplete, in: "index entry", at: value.count) }
    let nameLength = Int(value.integer(at: 6, as: UInt16.self))
    let sourceCount = Int(value.integer(at: 8, as: UInt16.self))
    guard value[4] <= 1, value[5] == 0, value.isZero(in: 10..<12) else {
      throw FormatError(.unsupported, in: "index entry", at: 4)
    }
    let sourcesStart = 12 + nameLength
    let parametersStart = sourcesStart + 4 * sourceCount
    guard parametersStart <= value.count else {
      throw FormatError(.incomplete, in: "index entry", at: value.count)
    }
    guard let extractor = String(validating: value.part(12, nameLength), as: UTF8.self) else {
      throw wrong(12)
    }
    let sources = (0..<sourceCount).map { value.integer(at: sourcesStart + 4 * $0, as: UInt32.self) }
    let source: IndexDefinition.Source
    if extractor == groupCountsExtractor {
      guard sources.count == 1, Int(sources[0]) < catalog.indexes.count else { throw wrong(sourcesStart) }
      source = .groupCounts(of: catalog.indexes[Int(sources[0])].index)
    } else {
      guard sources.allSatisfy({ Int($0) < catalog.keyspaces.count }) else { throw wrong(sourcesStart) }
      source = .records(
        keyspaces: sources.map { catalog.keyspaces[Int($0)] }, extractor: extractor,
        parameters: Array(value[parametersStart...]))
    }
    let id = value.integer(at: 0, as: UInt32.self)
    guard id == catalog.index(named: name)?.index.id ?? UInt32(catalog.indexes.count) else { throw wrong(0) }
    _ = catalog.setIndex(IndexDefinition(name: name, source: source, isUnique: value[4] == 1))
  }

  private static func little<T: FixedWidthInteger>(_ value: T) -> [UInt8] {
    withUnsafeBytes(of: value.littleEndian) { Array($0) }
  }
}
