// The sections of a stored model of version 5. FORMAT-GRAPH.md, "Stored model", has the table.
//
//   SS1. Sections come in the order of their numbers, each once.
//   SS2. The content of a section never changes its form. A later version's additions get their own
//        section.
//   SS3. A reader rejects a required section that it does not know. It keeps the bytes of a section
//        that may be skipped, and writes them back.

/// A section that this version can read. The sections with `isAlwaysWritten` are in each stored
/// model of version 5.
enum StoredModelSection: UInt16, CaseIterable {
  case numbers = 1
  case entities = 2
  case layouts = 3
  case names = 4
  case origins = 5
  case history = 6
  case templates = 32
  case fetchedProperties = 33

  /// Whether a reader that does not know the section must reject the model, because it cannot read
  /// rows.
  var isRequired: Bool {
    switch self {
    case .numbers, .entities, .layouts, .origins: true
    case .names, .history, .templates, .fetchedProperties: false
    }
  }

  /// Whether the section is written even if it has no content.
  var isAlwaysWritten: Bool { self != .templates && self != .fetchedProperties }

  /// The name of a section in messages, even for reserved numbers. Nil for a number without a name.
  static func name(_ number: UInt16) -> String? {
    if let known = Self(rawValue: number) { return "\(known)" }
    return ComingSection(rawValue: number)?.name
  }

  /// Sections whose numbers are reserved for features of later versions.
  private enum ComingSection: UInt16 {
    case searchableAttributes = 34
    case externalValues = 35
    case migrationMappings = 36

    var name: String {
      switch self {
      case .searchableAttributes: "searchable attributes"
      case .externalValues: "external values"
      case .migrationMappings: "migration mappings"
      }
    }
  }
}

/// A section that this version does not know and may skip (SS3).
struct SkippedSection: Sendable, Hashable {
  let number: UInt16
  let bytes: [UInt8]
}

extension ByteWriter {
  /// Writes the sections in the order of their numbers (SS1).
  mutating func sections(
    _ skipped: [SkippedSection], _ known: (StoredModelSection, inout ByteWriter) -> Void
  ) {
    var sections: [(number: UInt16, isRequired: Bool, bytes: [UInt8])] = []
    for section in StoredModelSection.allCases {
      var content = ByteWriter()
      known(section, &content)
      if content.bytes.isEmpty, !section.isAlwaysWritten { continue }
      sections.append((section.rawValue, section.isRequired, content.bytes))
    }
    sections += skipped.map { ($0.number, false, $0.bytes) }
    sections.sort { $0.number < $1.number }
    list(sections) { writer, section in
      writer.integer(section.number)
      writer.integer(UInt16(section.isRequired ? 1 : 0))
      writer.data(section.bytes)
    }
  }
}

extension ByteReader {
  /// Reads the header of each section, and skips its content.
  ///
  /// - Returns: A reader for the content of each section that this version knows, and the others.
  mutating func sections() throws(ModelError) -> (
    known: [StoredModelSection: ByteReader], skipped: [SkippedSection]
  ) {
    var known: [StoredModelSection: ByteReader] = [:]
    var skipped: [SkippedSection] = []
    var previous: UInt16 = 0
    for _ in 0..<(try count(minimumSizeBytes: 8)) {
      let start = offset
      let number = try integer(UInt16.self)
      let flags = try integer(UInt16.self)
      let content = try part(try count())
      guard number > previous else { throw fail("section \(number) is out of order") }
      previous = number
      guard flags <= 1 else { throw fail("section \(number) has the unknown flags \(flags)") }
      if let section = StoredModelSection(rawValue: number) {
        guard section.isRequired == (flags == 1) else { throw fail("section \(number) has wrong flags") }
        known[section] = content
      } else {
        if flags == 1 { throw .unknownSection(number, at: start) }
        skipped.append(SkippedSection(number: number, bytes: Array(content.rest)))
      }
    }
    return (known, skipped)
  }
}

extension ModelError {
  fileprivate static func unknownSection(_ number: UInt16, at offset: Int) -> ModelError {
    let name = StoredModelSection.name(number).map { " (\($0))" } ?? ""
    return ModelError(
      .unreadableModel,
      "The stored model cannot be read at byte \(offset): this version of Perdure does not know section "
        + "\(number)\(name), which it must know to read the store. Use a newer version of Perdure.",
      offset: offset, section: number)
  }
}
