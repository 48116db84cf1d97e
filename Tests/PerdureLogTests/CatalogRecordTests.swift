import PerdureFormat
import Testing

@testable import PerdureLog

/// The records of FORMAT.md, "Catalog".
@Suite("Catalog records")
struct CatalogRecordTests {
  private let people = Keyspace(id: 1, name: "people", kind: .dense)
  private let names = Keyspace(id: 2, name: "näme", kind: .bytes)

  private func apply(_ record: (key: [UInt8], value: [UInt8]), to catalog: inout Catalog) throws(FormatError)
  {
    let key = UnsafeMutableRawBufferPointer.allocate(byteCount: record.key.count, alignment: 8)
    let value = UnsafeMutableRawBufferPointer.allocate(byteCount: record.value.count, alignment: 8)
    defer {
      key.deallocate()
      value.deallocate()
    }
    key.copyBytes(from: record.key)
    value.copyBytes(from: record.value)
    try CatalogRecord.apply(
      key: UnsafeRawBufferPointer(key), value: UnsafeRawBufferPointer(value), to: &catalog)
  }

  private var definition: IndexDefinition {
    IndexDefinition(
      name: "by", source: .records(keyspaces: [people, names], extractor: "ex", parameters: [9, 8, 7]),
      isUnique: true)
  }

  private var index: DerivedIndex { DerivedIndex(id: 0, name: "by", isUnique: true) }

  private func catalogOfTwo() throws -> Catalog {
    var catalog = Catalog(of: nil)
    try apply(CatalogRecord.keyspace(people), to: &catalog)
    try apply(CatalogRecord.keyspace(names), to: &catalog)
    return catalog
  }

  @Test("The record of a keyspace has the documented bytes")
  func keyspaceBytes() {
    let record = CatalogRecord.keyspace(names)
    #expect(record.key == [1] + Array("näme".utf8))
    #expect(record.value == [2, 0, 0, 0, 1, 0, 0, 0])
  }

  @Test("The name of a keyspace has 1 to 255 bytes")
  func keyspaceNames() {
    for (length, isRight) in [(0, false), (1, true), (255, true), (256, false)] {
      var catalog = Catalog(of: nil)
      let keyspace = Keyspace(id: 1, name: String(repeating: "a", count: length), kind: .dense)
      let isTaken = (try? apply(CatalogRecord.keyspace(keyspace), to: &catalog)) != nil
      #expect(isTaken == isRight, "\(length)")
    }
  }

  @Test("The record of an index has the documented bytes")
  func indexBytes() {
    let record = CatalogRecord.index(index, definition)
    #expect(record.key == [2] + Array("by".utf8))
    let head: [UInt8] = [0, 0, 0, 0, 1, 0, 2, 0, 2, 0, 0, 0]
    #expect(record.value == head + Array("ex".utf8) + [1, 0, 0, 0, 2, 0, 0, 0] + [9, 8, 7])
    let counts = IndexDefinition(name: "n", source: .groupCounts(of: index))
    let counted = CatalogRecord.index(DerivedIndex(id: 1, name: "n", isUnique: false), counts)
    #expect(
      counted.value == [1, 0, 0, 0, 0, 0, 12, 0, 1, 0, 0, 0] + Array("group-counts".utf8) + [0, 0, 0, 0])
  }

  @Test("The record of a removed index has the documented bytes, and its number stays reserved")
  func removedBytes() throws {
    let record = CatalogRecord.index(index, .removed("by"))
    #expect(record.value == [0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0] + Array("removed".utf8))
    var catalog = try catalogOfTwo()
    try apply(CatalogRecord.index(index, definition), to: &catalog)
    try apply(record, to: &catalog)
    #expect(catalog.index(named: "by") == nil && catalog.presentIndexes.isEmpty && catalog.indexes.count == 1)
    try apply(CatalogRecord.index(index, definition), to: &catalog)
    #expect(catalog.presentIndexes.map(\.definition) == [definition])
  }

  @Test(
    "A definition with a field that its reserved extractor does not have is rejected",
    arguments: [false, true])
  func surplus(_ isUnique: Bool) throws {
    func expect(_ definition: IndexDefinition, at offset: Int?, adding bytes: [UInt8] = []) throws {
      var catalog = try catalogOfTwo()
      try apply(CatalogRecord.index(index, self.definition), to: &catalog)
      let id: UInt32 = definition.name == "by" ? 0 : 1
      var record = CatalogRecord.index(
        DerivedIndex(id: id, name: definition.name, isUnique: definition.isUnique), definition)
      record.value += bytes
      let error = #expect(throws: FormatError.self) { try apply(record, to: &catalog) }
      #expect(error == offset.map { FormatError(.illegalField, in: "index entry", at: $0) })
      #expect(catalog.indexes.map(\.definition) == [self.definition])
    }
    func removed(_ keyspaces: [Keyspace], _ parameters: [UInt8], isUnique: Bool = false) -> IndexDefinition {
      let source = IndexDefinition.Source.records(
        keyspaces: keyspaces, extractor: "removed", parameters: parameters)
      return IndexDefinition(name: "by", source: source, isUnique: isUnique)
    }
    if isUnique {
      try expect(removed([], [], isUnique: true), at: 4)
      var sums = sums
      sums.isUnique = true
      try expect(sums, at: 4)
    } else {
      try expect(removed([people], []), at: 8)
      try expect(removed([], [1]), at: 19)
      try expect(IndexDefinition(name: "n", source: .groupCounts(of: index)), at: 28, adding: [1])
      try expect(IndexDefinition(name: "o", source: .sumOrder(of: index)), at: 21, adding: [1])
    }
  }

  private var sums: IndexDefinition {
    IndexDefinition(
      name: "s",
      source: .groupSums(
        of: .integersAndDecimals, keyspaces: [people, names], extractor: "ex", parameters: [9, 8]))
  }

  @Test("Records of sums and their order have the documented bytes and decode to equal definitions")
  func sumBytes() throws {
    let index = DerivedIndex(id: 0, name: "s", isUnique: false)
    let record = CatalogRecord.index(index, sums)
    let head: [UInt8] = [0, 0, 0, 0, 0, 0, 10, 0, 2, 0, 0, 0] + Array("group-sums".utf8)
    #expect(record.value == head + [1, 0, 0, 0, 2, 0, 0, 0] + [1, 0, 2, 0] + Array("ex".utf8) + [9, 8])
    let order = IndexDefinition(name: "o", source: .sumOrder(of: index))
    let ordered = CatalogRecord.index(DerivedIndex(id: 1, name: "o", isUnique: false), order)
    #expect(
      ordered.value == [1, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0] + Array("sum-order".utf8) + [0, 0, 0, 0])
    var catalog = try catalogOfTwo()
    try apply(record, to: &catalog)
    try apply(ordered, to: &catalog)
    #expect(catalog.indexes.map(\.definition) == [sums, order])
    #expect(catalog.indexes.allSatisfy { !catalog.isStray($0) })
    // Redefines index `s`, as an older program that does not support sums may do.
    try apply(
      CatalogRecord.index(
        index,
        IndexDefinition(name: "s", source: .records(keyspaces: [people], extractor: "ex", parameters: []))),
      to: &catalog)
    #expect(catalog.isStray(catalog.indexes[1]))
  }

  @Test("A sum of an unknown kind is unsupported, and a unique index of sums is damage")
  func laterSums() throws {
    let record = CatalogRecord.index(DerivedIndex(id: 0, name: "s", isUnique: false), sums)
    let parameters = 12 + "group-sums".utf8.count + 8
    for (place, byte, reason) in [
      (parameters, 2, .unsupported), (parameters + 1, 1, .unsupported), (4, 1, .illegalField),
    ] as [(Int, UInt8, FormatError.Reason)] {
      var changed = record
      changed.value[place] = byte
      var catalog = try catalogOfTwo()
      #expect(throws: FormatError.self) { try apply(changed, to: &catalog) }.map {
        #expect($0.reason == reason)
      }
    }
  }

  @Test("An index that is derived from a removed index is reported as stray")
  func strayOfRemoved() throws {
    var catalog = try catalogOfTwo()
    try apply(CatalogRecord.index(index, definition), to: &catalog)
    let counts = IndexDefinition(name: "n", source: .groupCounts(of: index))
    try apply(CatalogRecord.index(DerivedIndex(id: 1, name: "n", isUnique: false), counts), to: &catalog)
    #expect(!catalog.isStray(catalog.indexes[1]))
    try apply(CatalogRecord.index(index, .removed("by")), to: &catalog)
    #expect(catalog.isStray(catalog.indexes[1]))
  }

  @Test("Definitions decode to equal definitions, and an index can be redefined")
  func roundTrip() throws {
    var catalog = try catalogOfTwo()
    #expect(catalog.keyspaces.dropFirst() == [people, names])
    try apply(CatalogRecord.index(index, definition), to: &catalog)
    #expect(catalog.index(named: "by")?.definition == definition)
    var other = definition
    other.isUnique = false
    try apply(CatalogRecord.index(index, other), to: &catalog)
    #expect(catalog.indexes.map(\.definition) == [other])
  }

  @Test("A keyspace cannot be defined twice or with a skipped number")
  func keyspaceTwice() throws {
    var catalog = try catalogOfTwo()
    #expect(throws: FormatError.self) { try apply(CatalogRecord.keyspace(people), to: &catalog) }
    let far = Keyspace(id: 9, name: "far", kind: .dense)
    #expect(throws: FormatError.self) { try apply(CatalogRecord.keyspace(far), to: &catalog) }
  }

  private var dictionary: DictionaryEntry {
    DictionaryEntry(number: 1, keyspace: 2, perMille: 0x1F4, bytes: [7, 8, 9])
  }

  @Test("The record of a dictionary has the documented bytes, and decodes to an equal dictionary")
  func dictionaryBytes() throws {
    let record = CatalogRecord.dictionary(dictionary)
    #expect(record.key == [3, 1, 0])
    #expect(record.value == [2, 0, 0, 0, 0xF4, 1, 0, 0, 7, 8, 9])
    var catalog = try catalogOfTwo()
    try apply(record, to: &catalog)
    #expect(catalog.dictionaries == [dictionary])
  }

  @Test("A dictionary needs the next number, a defined keyspace, and valid contents")
  func wrongDictionaries() throws {
    var catalog = try catalogOfTwo()
    for change in [
      { $0.number = 2 }, { $0.keyspace = 3 }, { $0.perMille = 1001 }, { $0.bytes = [] },
      { $0.bytes = [UInt8](repeating: 0, count: 65_537) },
    ] as [(inout DictionaryEntry) -> Void] {
      var wrong = dictionary
      change(&wrong)
      #expect(throws: FormatError.self) { try apply(CatalogRecord.dictionary(wrong), to: &catalog) }
    }
    for key in [[3], [3, 1], [3, 0, 0], [3, 0, 8], [3, 1, 0, 0]] as [[UInt8]] {
      #expect(throws: FormatError.self) {
        try apply((key, CatalogRecord.dictionary(dictionary).value), to: &catalog)
      }
    }
    try apply(CatalogRecord.dictionary(dictionary), to: &catalog)
    #expect(throws: FormatError.self) { try apply(CatalogRecord.dictionary(dictionary), to: &catalog) }
  }

  @Test("A catalog key of a later version is reported as unsupported, not as damage")
  func laterKind() throws {
    var catalog = try catalogOfTwo()
    #expect(throws: FormatError(.unsupported, in: "catalog key", at: 0)) {
      try apply(([4, 65], []), to: &catalog)
    }
  }

  @Test("Any bytes decode to a definition or cause an error")
  func damaged() throws {
    let catalog = try catalogOfTwo()
    let records = [
      CatalogRecord.keyspace(Keyspace(id: 3, name: "third", kind: .bytes)),
      CatalogRecord.index(index, definition),
      CatalogRecord.index(DerivedIndex(id: 0, name: "s", isUnique: false), sums),
      CatalogRecord.index(
        DerivedIndex(id: 0, name: "o", isUnique: false),
        IndexDefinition(name: "o", source: .sumOrder(of: index))),
      CatalogRecord.dictionary(dictionary),
    ]
    for record in records {
      for length in 0..<record.value.count {
        var copy = catalog
        try? apply((record.key, Array(record.value.prefix(length))), to: &copy)
      }
      for place in 0..<record.value.count {
        for byte in 0...255 as ClosedRange<UInt8> {
          var changed = record
          changed.value[place] = byte
          var copy = catalog
          do throws(FormatError) {
            try apply(changed, to: &copy)
          } catch {
            #expect((0...record.value.count).contains(error.offset))
          }
        }
      }
    }
  }
}
