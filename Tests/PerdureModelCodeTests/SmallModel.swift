import PerdureModelCode
import PerdurePredicates

/// A model of two entities, for tests of single options.
enum SmallModel {
  static let entities = [
    EntityDescription(
      "Folder",
      properties: [
        .string("name", optional: false), .toMany("notes", "Note", inverse: "folder", deleteRule: .cascade),
      ]),
    EntityDescription(
      "Note", className: ".Note",
      properties: [
        .string("text"), .date("edited", optional: false, default: .now), .int16("case"),
        .toOne("folder", "Folder", inverse: "notes", optional: false),
      ], indexes: [FetchIndexDescription(on: "edited")]),
  ]

  static func model(_ entities: [EntityDescription] = entities) throws -> ManagedObjectModel {
    try ManagedObjectModel(
      entities, configurations: ["B": entities.map(\.name), "A": entities.map(\.name)],
      templates: [
        FetchRequestTemplate("recent", "Note", "edited > $since"),
        FetchRequestTemplate("in folder", "Note", "folder == $folder"),
      ])
  }
}
