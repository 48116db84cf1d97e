import PerdureFormat
import PerdureNumbers

/// The keyspaces, derived indexes and dictionaries of a store, which keyspace 0 defines. FORMAT.md,
/// "Catalog".
///
/// It is a value. The committer changes a copy, and publishes the copy with the commit that
/// contains the change. A single new keyspace is added in place, because a copy takes time for each
/// keyspace. If its commit is refused, the committer removes it again.
struct Catalog: Sendable {
  /// The id of the store. It distinguishes the store's handles from handles of other stores.
  private let store: StoreID?
  /// The keyspaces, by id. Ids are assigned without gaps. The first keyspace is the catalog itself.
  private(set) var keyspaces: [Keyspace] = [.catalog]
  /// The keyspaces of the program, oldest first.
  var userKeyspaces: [Keyspace] { Array(keyspaces.dropFirst()) }
  /// The indexes, by id. Removed indexes keep their ids.
  private(set) var indexes: [IndexEntry] = []
  /// The dictionaries, by number, from 1.
  private(set) var dictionaries: [DictionaryEntry] = []
  private var keyspaceIDs: [String: UInt32] = [:]
  private var indexIDs: [String: UInt32] = [:]

  struct IndexEntry: Sendable {
    var index: DerivedIndex
    var definition: IndexDefinition
  }

  init(of store: StoreID?) { self.store = store }

  func keyspace(named name: String) -> Keyspace? { keyspaceIDs[name].map { keyspaces[Int($0)] } }

  /// The index of this name; nil if there is none, or if it was removed.
  func index(named name: String) -> IndexEntry? {
    guard let entry = entry(named: name), !entry.definition.isRemoved else { return nil }
    return entry
  }

  /// The entry under this name, even if it was removed.
  fileprivate func entry(named name: String) -> IndexEntry? { indexIDs[name].map { indexes[Int($0)] } }

  /// Whether an index cannot be made from its source index, because the source has the wrong kind.
  /// Only a writer that does not know the kind of the source defines such an index.
  func isStray(_ entry: IndexEntry) -> Bool {
    guard let base = entry.definition.source.base else { return false }
    return !entry.definition.source.canBeMade(from: indexes[Int(base.id)].definition.source)
  }

  /// The indexes that were not removed.
  var presentIndexes: [IndexEntry] { indexes.filter { !$0.definition.isRemoved } }

  /// The ids of all indexes, including the removed ones.
  var ids: Set<UInt32> { Set(indexes.map(\.index.id)) }

  /// The indexes that are made from an index, by the id of that index.
  var dependents: [UInt32: [DerivedIndex]] {
    var dependents: [UInt32: [DerivedIndex]] = [:]
    for entry in indexes {
      if let base = entry.definition.source.base { dependents[base.id, default: []].append(entry.index) }
    }
    return dependents
  }

  /// A definition in the form in which it is stored. It references the current source index, not
  /// the source index of an earlier handle.
  func present(_ definition: IndexDefinition) -> IndexDefinition {
    guard let base = definition.source.base, Int(base.id) < indexes.count,
      indexes[Int(base.id)].index.mark == base.mark
    else { return definition }
    var present = definition
    present.source = definition.source.based(on: indexes[Int(base.id)].index)
    return present
  }

  /// Adds a keyspace to the catalog.
  mutating func addKeyspace(_ name: String, _ kind: KeyspaceKind) -> Keyspace {
    let keyspace = Keyspace(id: UInt32(keyspaces.count), name: name, kind: kind, of: store)
    keyspaces.append(keyspace)
    keyspaceIDs[name] = keyspace.id
    return keyspace
  }

  /// Undoes the last `addKeyspace`.
  mutating func removeLastKeyspace() { keyspaceIDs[keyspaces.removeLast().name] = nil }

  /// Adds an index. If the name is known, replaces its definition. Definitions of indexes that are
  /// made from that index then reference the new definition.
  mutating func setIndex(_ definition: IndexDefinition) -> DerivedIndex {
    let id = indexIDs[definition.name] ?? UInt32(indexes.count)
    let index = DerivedIndex(
      id: id, name: definition.name, isUnique: definition.isUnique, of: store, isRemoved: definition.isRemoved
    )
    let entry = IndexEntry(index: index, definition: definition)
    if Int(id) < indexes.count { indexes[Int(id)] = entry } else { indexes.append(entry) }
    indexIDs[definition.name] = id
    for place in indexes.indices {
      guard indexes[place].definition.source.base?.id == id else { continue }
      indexes[place].definition.source = indexes[place].definition.source.based(on: index)
    }
    return index
  }
}

extension Catalog {
  /// Adds a dictionary to the catalog.
  mutating func addDictionary(_ bytes: [UInt8], of keyspace: UInt32, perMille: Int) -> DictionaryEntry {
    let entry = DictionaryEntry(
      number: dictionaries.count + 1, keyspace: keyspace, perMille: perMille, bytes: bytes)
    dictionaries.append(entry)
    return entry
  }

  /// Makes the catalog from its records, in any order.
  ///
  /// If a definition has replaced another definition, it may reference an index with a higher
  /// number than its own. So all indexes are added first, and defined afterwards.
  init(_ records: [CatalogRecord.Entry], of store: StoreID) throws(FormatError) {
    self.init(of: store)
    let sorted = records.sorted { $0.order < $1.order }
    for record in sorted where record.isIndex {
      guard let name = record.name else { throw FormatError(.illegalField, in: "catalog key", at: 1) }
      guard record.value.count >= 12, record.id == UInt32(indexes.count), entry(named: name) == nil else {
        throw FormatError(.illegalField, in: "index entry", at: 0)
      }
      let source = IndexDefinition.Source.records(keyspaces: [], extractor: "", parameters: [])
      _ = setIndex(IndexDefinition(name: name, source: source, isUnique: record.value[4] == 1))
    }
    for record in sorted { try CatalogRecord.apply(record, to: &self) }
  }
}

/// Catalog entries as records of keyspace 0.
enum CatalogRecord {
  struct Entry {
    var key: [UInt8]
    var value: [UInt8]

    var isIndex: Bool { key.first == indexTag }
    private var isDictionary: Bool { key.first == dictionaryTag }
    /// The id, or the number of a dictionary. Both are assigned without gaps. A dictionary's number
    /// is in the key.
    var id: UInt32 {
      if isDictionary { return key.count < 3 ? .max : UInt32(key[1]) | UInt32(key[2]) << 8 }
      return value.count < 4 ? .max : value.withUnsafeBytes { $0.integer(at: 0) }
    }
    var name: String? { String(validating: key.dropFirst(), as: UTF8.self) }
    /// Sorts by the kind of entry, keyspaces first, and then by number.
    var order: UInt64 { UInt64(key.first ?? 0) << 32 | UInt64(id) }
  }

  static func apply(_ entry: Entry, to catalog: inout Catalog) throws(FormatError) {
    let bytes = UnsafeMutableRawBufferPointer.allocate(
      byteCount: entry.key.count + entry.value.count, alignment: 8)
    defer { bytes.deallocate() }
    bytes.copyBytes(from: entry.key + entry.value)
    let both = UnsafeRawBufferPointer(bytes)
    let (key, value) = (both.part(0, entry.key.count), both.part(entry.key.count, entry.value.count))
    try apply(key: key, value: value, to: &catalog)
  }

  private static let keyspaceTag: UInt8 = 1
  private static let indexTag: UInt8 = 2
  private static let dictionaryTag: UInt8 = 3
  private static let groupCountsExtractor = "group-counts"
  private static let groupSumsExtractor = "group-sums"
  private static let sumOrderExtractor = "sum-order"
  /// Extractor names that have a special meaning in index entries.
  static let reservedExtractors: Set<String> = [
    groupCountsExtractor, groupSumsExtractor, sumOrderExtractor, IndexDefinition.removedExtractor,
  ]

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
      case .groupSums(let kind, let keyspaces, let extractor, let parameters):
        (
          groupSumsExtractor, keyspaces.map(\.id),
          [kind.radix.rawValue, 0] + little(UInt16(extractor.utf8.count)) + extractor.utf8 + parameters
        )
      case .sumOrder(let sums): (sumOrderExtractor, [], little(sums.id))
      }
    var value = little(index.id)
    value += [definition.isUnique ? 1 : 0, 0]
    value += little(UInt16(extractor.utf8.count)) + little(UInt16(sources.count)) + little(UInt16(0))
    value += Array(extractor.utf8)
    for source in sources { value += little(source) }
    return ([indexTag] + Array(index.name.utf8), value + parameters)
  }

  /// Adds the definition in a catalog record to `catalog`.
  /// - Throws: `FormatError` for bytes that `keyspace`, `index` and `dictionary` do not write, and
  ///   for entries that do not fit the catalog.
  static func apply(
    key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, to catalog: inout Catalog
  ) throws(FormatError) {
    switch try subject(key) {
    case .keyspace(let name): try applyKeyspace(name, value, to: &catalog)
    case .index(let name): try applyIndex(name, value, to: &catalog)
    case .dictionary(let number): try applyDictionary(number, value, to: &catalog)
    }
  }

  private static func applyDictionary(
    _ number: Int, _ value: UnsafeRawBufferPointer, to catalog: inout Catalog
  ) throws(FormatError) {
    let entry = try dictionaryEntry(number, value)
    guard number == catalog.dictionaries.count + 1, Int(entry.keyspace) < catalog.keyspaces.count else {
      throw FormatError(.illegalField, in: "dictionary entry", at: 0)
    }
    _ = catalog.addDictionary(entry.bytes, of: entry.keyspace, perMille: entry.perMille)
  }

  private static func applyKeyspace(
    _ name: String, _ value: UnsafeRawBufferPointer, to catalog: inout Catalog
  ) throws(FormatError) {
    let entry = try keyspaceEntry(value)
    guard catalog.keyspace(named: name) == nil, entry.id == UInt32(catalog.keyspaces.count) else {
      throw FormatError(.illegalField, in: "keyspace entry", at: 0)
    }
    _ = catalog.addKeyspace(name, entry.kind)
  }

  private static func applyIndex(
    _ name: String, _ value: UnsafeRawBufferPointer, to catalog: inout Catalog
  ) throws(FormatError) {
    func wrong(_ offset: Int) -> FormatError { FormatError(.illegalField, in: "index entry", at: offset) }
    let entry = try indexEntry(value)
    // An entry that references an absent index or absent keyspaces is damaged.
    let source = try entry.source(
      keyspace: { Int($0) < catalog.keyspaces.count ? catalog.keyspaces[Int($0)] : nil },
      index: { Int($0) < catalog.indexes.count ? catalog.indexes[Int($0)].index : nil })
    guard let source else { throw wrong(8) }
    if entry.isRemoved, entry.isUnique { throw wrong(4) }
    guard !entry.isUnique || source.canBeUnique else { throw wrong(4) }
    guard entry.id == catalog.entry(named: name)?.index.id ?? UInt32(catalog.indexes.count) else {
      throw wrong(0)
    }
    _ = catalog.setIndex(IndexDefinition(name: name, source: source, isUnique: entry.isUnique))
  }

  static func dictionary(_ entry: DictionaryEntry) -> (key: [UInt8], value: [UInt8]) {
    let head = little(entry.keyspace) + little(UInt16(entry.perMille)) + [0, 0]
    return (dictionaryKey(entry.number), head + entry.bytes)
  }

  static func dictionaryKey(_ number: Int) -> [UInt8] { [dictionaryTag] + little(UInt16(number)) }

  private static func little<T: FixedWidthInteger>(_ value: T) -> [UInt8] {
    withUnsafeBytes(of: value.littleEndian) { Array($0) }
  }
}

// MARK: - Single entries, without the rest of the catalog

extension CatalogRecord {
  /// The kind of a catalog key, with the name or number in it.
  enum Subject: Hashable {
    case keyspace(String)
    case index(String)
    case dictionary(Int)
  }

  /// The value of an index entry.
  struct IndexFields {
    var id: UInt32
    var isUnique: Bool
    var extractor: String
    /// The ids of keyspaces. For group counts, the id of the one index whose groups are counted.
    var sources: [UInt32]
    var parameters: [UInt8]

    /// The definition in the entry; nil if its source is absent.
    func source(
      keyspace: (UInt32) -> Keyspace?, index: (UInt32) -> DerivedIndex?
    ) throws(FormatError) -> IndexDefinition.Source? {
      if isRemoved, !sources.isEmpty { throw FormatError(.illegalField, in: "index entry", at: 8) }
      if isRemoved || extractor == groupCountsExtractor, !parameters.isEmpty { throw wrongParameters }
      if extractor == groupCountsExtractor {
        return sources.count == 1 ? index(sources[0]).map { .groupCounts(of: $0) } : nil
      }
      if extractor == sumOrderExtractor {
        guard parameters.count == 4, sources.isEmpty else { throw wrongParameters }
        let base: UInt32 = parameters.withUnsafeBytes { $0.integer(at: 0) }
        return index(base).map { .sumOrder(of: $0) }
      }
      let keyspaces = sources.compactMap { keyspace($0) }
      guard keyspaces.count == sources.count else { return nil }
      guard extractor == groupSumsExtractor else {
        return .records(keyspaces: keyspaces, extractor: extractor, parameters: parameters)
      }
      return try sums(of: keyspaces)
    }

    private func sums(of keyspaces: [Keyspace]) throws(FormatError) -> IndexDefinition.Source {
      guard parameters.count >= 4 else { throw wrongParameters }
      guard parameters[0] <= 1, parameters[1] == 0 else {
        throw FormatError(.unsupported, in: "index entry", at: wrongParameters.offset)
      }
      let nameEnd = 4 + (Int(parameters[2]) | Int(parameters[3]) << 8)
      guard nameEnd <= parameters.count,
        let name = String(validating: parameters[4..<nameEnd], as: UTF8.self)
      else { throw wrongParameters }
      return .groupSums(
        of: parameters[0] == 0 ? .integersAndDoubles : .integersAndDecimals, keyspaces: keyspaces,
        extractor: name, parameters: Array(parameters[nameEnd...]))
    }

    private var wrongParameters: FormatError {
      FormatError(.illegalField, in: "index entry", at: 12 + extractor.utf8.count + 4 * sources.count)
    }

    var isRemoved: Bool { extractor == IndexDefinition.removedExtractor }
    /// Whether the index is made from another index.
    var isMade: Bool { extractor == groupCountsExtractor || extractor == sumOrderExtractor }
  }

  static func subject(_ key: UnsafeRawBufferPointer) throws(FormatError) -> Subject {
    guard let tag = key.first else { throw FormatError(.incomplete, in: "catalog key", at: 0) }
    if tag == dictionaryTag { return .dictionary(try dictionaryNumber(key)) }
    guard let name = String(validating: key.dropFirst(), as: UTF8.self) else {
      throw FormatError(.illegalField, in: "catalog key", at: 1)
    }
    switch tag {
    case keyspaceTag:
      guard (1...StoreLimits.nameLengthMax).contains(name.utf8.count) else {
        throw FormatError(.illegalField, in: "catalog key", at: 1)
      }
      return .keyspace(name)
    case indexTag: return .index(name)
    default: throw FormatError(.unsupported, in: "catalog key", at: 0)
    }
  }

  private static func dictionaryNumber(_ key: UnsafeRawBufferPointer) throws(FormatError) -> Int {
    guard key.count == 3 else { throw FormatError(.illegalField, in: "catalog key", at: 1) }
    let number = Int(key.integer(at: 1, as: UInt16.self))
    guard (1...FormatLimits.dictionaryNumberMax).contains(number) else {
      throw FormatError(.illegalField, in: "catalog key", at: 1)
    }
    return number
  }

  static func dictionaryEntry(
    _ number: Int, _ value: UnsafeRawBufferPointer
  ) throws(FormatError) -> DictionaryEntry {
    func wrong(_ reason: FormatError.Reason, _ offset: Int) -> FormatError {
      FormatError(reason, in: "dictionary entry", at: offset)
    }
    guard value.count > 8 else { throw wrong(.incomplete, value.count) }
    guard value.count - 8 <= FormatLimits.dictionaryLengthMax else { throw wrong(.illegalField, 8) }
    let perMille = Int(value.integer(at: 4, as: UInt16.self))
    guard perMille <= 1000 else { throw wrong(.illegalField, 4) }
    guard value.isZero(in: 6..<8) else { throw wrong(.unsupported, 6) }
    return DictionaryEntry(
      number: number, keyspace: value.integer(at: 0), perMille: perMille, bytes: Array(value[8...]))
  }

  static func keyspaceEntry(
    _ value: UnsafeRawBufferPointer
  ) throws(FormatError) -> (id: UInt32, kind: KeyspaceKind) {
    guard value.count == 8 else { throw FormatError(.incomplete, in: "keyspace entry", at: value.count) }
    guard let kind = KeyspaceKind(rawValue: value[4]) else {
      throw FormatError(.unsupported, in: "keyspace entry", at: 4)
    }
    guard value.isZero(in: 5..<8) else { throw FormatError(.unsupported, in: "keyspace entry", at: 5) }
    return (value.integer(at: 0), kind)
  }

  static func indexEntry(_ value: UnsafeRawBufferPointer) throws(FormatError) -> IndexFields {
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
      throw FormatError(.illegalField, in: "index entry", at: 12)
    }
    return IndexFields(
      id: value.integer(at: 0), isUnique: value[4] == 1, extractor: extractor,
      sources: (0..<sourceCount).map { value.integer(at: sourcesStart + 4 * $0) },
      parameters: Array(value[parametersStart...]))
  }
}
