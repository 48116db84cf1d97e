import Perdure

// A small world whose model grows with the openings. Its objects have no classes.

/// The successive models of a program. A store with one model can be opened with any later one.
enum GraphCrashLedger {
  static let versionMax = 5

  static func models() throws -> [ManagedObjectModel] {
    try (0...versionMax).map { version in
      try ManagedObjectModel(version < 2 ? [account(version)] : [account(version), entry(version)])
    }
  }

  /// Models that a store cannot adopt, whatever its version. Each removes a constraint, adds a
  /// constraint, removes an attribute, or adds a required attribute.
  static func misfits() throws -> [ManagedObjectModel] {
    var unruled = try account(versionMax)
    unruled.uniquenessConstraints = []
    var stricter = try account(versionMax)
    stricter.uniquenessConstraints.append(["size"])
    var smaller = try account(versionMax)
    smaller.properties.removeAll { $0.name == "size" }
    smaller.indexes = []
    var larger = try account(versionMax)
    larger.properties.append(.string("owner", optional: false))
    return try [unruled, stricter, smaller, larger].map {
      try ManagedObjectModel([$0, entry(versionMax)])
    }
  }

  private static func account(_ version: Int) throws -> EntityDescription {
    var entity = EntityDescription(
      "Account",
      properties: [.string("name", optional: false), .int64("size", optional: false, default: 0)],
      uniquenessConstraints: [["name"]])
    // An index is added, dropped, and added again.
    if [1, 2, 5].contains(version) { entity.indexes.append(FetchIndexDescription(on: "size")) }
    // An optional attribute, and an attribute with a default value that a later version changes.
    if version >= 1 {
      let colour: DefaultValue = version < 4 ? "red" : "blue"
      entity.properties += [.string("note"), .string("colour", optional: false, default: colour)]
    }
    // An entity, a relationship, and attributes that are derived from it.
    if version >= 2 {
      entity.properties += [
        .toMany("entries", "Entry", inverse: "account", deleteRule: .cascade),
        .derived("entryCount", "entries.@count"), .derived("total", "entries.amount.@sum"),
      ]
      entity.indexes += [FetchIndexDescription(on: "entryCount"), FetchIndexDescription(on: "total")]
    }
    // An index of a function, and a partial index.
    if [3, 4].contains(version) { entity.indexes.append(FetchIndexDescription(on: "canonical:(note)")) }
    if version >= 3 {
      try entity.indexes.append(
        FetchIndexDescription(
          "large", [.init("colour")], partialPredicate: FetchPredicate(format: "size > 4")))
    }
    // Attributes that are derived from existing rows, and many-to-many links.
    if version >= 4 {
      entity.properties += [
        .derived("plainName", "canonical:(name)", type: .string),
        .toMany("peers", "Account", inverse: "peers"),
      ]
      entity.indexes.append(FetchIndexDescription(on: "plainName"))
    }
    return entity
  }

  private static func entry(_ version: Int) -> EntityDescription {
    var entity = EntityDescription(
      "Entry",
      properties: [
        .int64("number", optional: false), .int64("amount", optional: false, default: 0),
        .toOne("account", "Account", inverse: "entries"),
      ],
      uniquenessConstraints: [["number"]])
    if version >= 4 {
      entity.properties.append(.derived("accountName", "account.name", type: .string))
      entity.indexes.append(FetchIndexDescription(on: "accountName"))
    }
    return entity
  }
}
