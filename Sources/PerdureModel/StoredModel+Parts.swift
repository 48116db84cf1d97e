/// The parts of a stored model's bytes, before they are checked against each other.
struct StoredModelParts {
  var lastNumbers = StoredModel.LastNumbers()
  var entities: [EntityDescription] = []
  var entries: [StoredModel.Entry] = []
  var layouts: [LayoutSchema] = []
  var identifiers: Set<String> = []
  var configurations: [String: [String]] = [:]
  var templates: [FetchRequestTemplate] = []
  /// Nil before version 5.
  var origins: [UInt32: PropertyOrigin]?
  /// Nil before version 5.
  var history: ModelHistory?
  var skippedSections: [SkippedSection] = []
  /// The bytes of entities, and those of identifiers and configurations.
  fileprivate var entityBytes: ArraySlice<UInt8> = []
  fileprivate var nameBytes: ArraySlice<UInt8> = []
  /// The bytes of templates and of fetched properties; empty if there are none.
  fileprivate var templateBytes: ArraySlice<UInt8> = []
  fileprivate var fetchedBytes: ArraySlice<UInt8> = []

  /// Whether the entities, names, templates and fetched properties have the same bytes as those of
  /// `model`. If so, no second model need be made.
  func areOf(_ model: ManagedObjectModel) -> Bool {
    guard model.entities.count == entries.count else { return false }
    return entityBytes.elementsEqual([UInt8].written { $0.entities(model, entries) })
      && nameBytes.elementsEqual([UInt8].written { $0.names(model) })
      && templateBytes.elementsEqual([UInt8].written { $0.templates(model) })
      && fetchedBytes.elementsEqual([UInt8].written { $0.fetchedProperties(model, entries) })
  }
}

extension [UInt8] {
  fileprivate static func written(_ write: (inout ByteWriter) -> Void) -> [UInt8] {
    var writer = ByteWriter()
    write(&writer)
    return writer.bytes
  }
}

// MARK: - All parts

extension ByteReader {
  /// The parts of versions 1 to 4.
  mutating func partsWithoutSections() throws(ModelError) -> StoredModelParts {
    var parts = StoredModelParts()
    parts.lastNumbers = try numbers()
    try entities(into: &parts)
    parts.layouts = try layouts()
    if version >= 2 { try names(into: &parts) }
    return parts
  }

  /// Reads the parts of a model of version 5, which has sections.
  mutating func partsInSections() throws(ModelError) -> StoredModelParts {
    var parts = StoredModelParts()
    let (known, skipped) = try sections()
    parts.skippedSections = skipped
    for section in StoredModelSection.allCases {
      guard var content = known[section] else {
        if section.isAlwaysWritten { throw fail("section \(section.rawValue) is missing") }
        continue
      }
      let start = content.offset
      switch section {
      case .numbers: parts.lastNumbers = try content.numbers()
      case .entities: try content.entities(into: &parts)
      case .layouts: parts.layouts = try content.layouts()
      case .names: try content.names(into: &parts)
      case .origins: parts.origins = try content.origins()
      case .history: parts.history = try content.history()
      case .templates:
        try content.templates(into: &parts)
        parts.templateBytes = content.read(from: start)
      case .fetchedProperties:
        try content.fetchedProperties(into: &parts)
        parts.fetchedBytes = content.read(from: start)
      }
      guard content.remainingCount == 0 else {
        throw content.fail("bytes follow the end of section \(section.rawValue)")
      }
    }
    return parts
  }
}

// MARK: - Numbers and layouts

extension ByteWriter {
  mutating func numbers(_ last: StoredModel.LastNumbers) {
    integer(last.entity)
    integer(last.property)
    integer(last.layout)
  }

  mutating func layouts(_ layouts: [LayoutSchema]) {
    list(layouts) { writer, layout in
      writer.integer(layout.number)
      writer.integer(layout.entityNumber)
      writer.list(layout.propertyNumbers) { $0.integer($1) }
    }
  }
}

extension ByteReader {
  fileprivate mutating func numbers() throws(ModelError) -> StoredModel.LastNumbers {
    StoredModel.LastNumbers(
      entity: try integer(UInt16.self), property: try integer(UInt32.self), layout: try integer(UInt16.self))
  }

  fileprivate mutating func layouts() throws(ModelError) -> [LayoutSchema] {
    try list(minimumSizeBytes: 8) { reader throws(ModelError) in
      LayoutSchema(
        number: try reader.integer(UInt16.self), entityNumber: try reader.integer(UInt16.self),
        propertyNumbers: try reader.list(minimumSizeBytes: 4, readUInt32))
    }
  }
}

// MARK: - Entities and names

extension ByteWriter {
  mutating func entities(_ model: ManagedObjectModel, _ entries: [StoredModel.Entry]) {
    list(Array(zip(model.entities, entries))) { writer, pair in
      writer.entity(pair.0)
      writer.integer(pair.1.number)
      writer.integer(pair.1.currentLayout)
      writer.list(pair.1.propertyNumbers) { $0.integer($1) }
    }
  }

  mutating func names(_ model: ManagedObjectModel) {
    list(model.versionIdentifiers.sortedByBytes { $0 }) { $0.string($1) }
    list(model.entityNamesByConfiguration.sortedByBytes(\.key)) { writer, configuration in
      writer.string(configuration.key)
      writer.list(configuration.value) { $0.string($1) }
    }
  }
}

extension ByteReader {
  fileprivate mutating func entities(into parts: inout StoredModelParts) throws(ModelError) {
    let start = offset
    for _ in 0..<(try count(minimumSizeBytes: 16)) {
      parts.entities.append(try entity())
      parts.entries.append(
        StoredModel.Entry(
          number: try integer(UInt16.self), currentLayout: try integer(UInt16.self),
          propertyNumbers: try list(minimumSizeBytes: 4, readUInt32)))
    }
    parts.entityBytes = read(from: start)
  }

  fileprivate mutating func names(into parts: inout StoredModelParts) throws(ModelError) {
    let start = offset
    parts.identifiers = try identifiers()
    parts.configurations = try configurations()
    parts.nameBytes = read(from: start)
  }
}

// MARK: - Origins and history

extension ByteWriter {
  mutating func origins(_ origins: [UInt32: PropertyOrigin]) {
    list(origins.sorted { $0.key < $1.key }) { writer, pair in
      writer.integer(pair.key)
      writer.integer(pair.value.version)
      writer.optional(pair.value.standIn) { $0.value($1) }
    }
  }

  mutating func history(_ history: ModelHistory) {
    list(history.versions) { writer, version in
      writer.integer(version.number)
      writer.integer(version.hash)
      writer.integer(version.sequence)
      writer.list(version.identifiers.sortedByBytes { $0 }) { $0.string($1) }
    }
  }
}

extension ByteReader {
  fileprivate mutating func origins() throws(ModelError) -> [UInt32: PropertyOrigin] {
    var origins: [UInt32: PropertyOrigin] = [:]
    var previous: UInt32 = 0
    for _ in 0..<(try count(minimumSizeBytes: 9)) {
      let number = try integer(UInt32.self)
      guard number > previous else { throw fail("the origin of property \(number) is out of order") }
      previous = number
      origins[number] = PropertyOrigin(
        version: try integer(UInt32.self),
        standIn: try optional { reader throws(ModelError) in try reader.value() })
    }
    return origins
  }

  fileprivate mutating func history() throws(ModelError) -> ModelHistory {
    var versions: [ModelHistory.Version] = []
    var previous: UInt32 = 0
    for _ in 0..<(try count(minimumSizeBytes: 24)) {
      let number = try integer(UInt32.self)
      guard number > previous else { throw fail("version \(number) of the model is out of order") }
      previous = number
      let (hash, sequence) = (try integer(UInt64.self), try integer(UInt64.self))
      versions.append(
        ModelHistory.Version(number: number, hash: hash, identifiers: try identifiers(), sequence: sequence))
    }
    guard (1...ModelHistory.countMax).contains(versions.count) else {
      throw fail("a history of \(versions.count) versions is impossible")
    }
    return ModelHistory(versions)
  }
}

func readUInt32(_ reader: inout ByteReader) throws(ModelError) -> UInt32 {
  try reader.integer(UInt32.self)
}

func readString(_ reader: inout ByteReader) throws(ModelError) -> String {
  try reader.string()
}
