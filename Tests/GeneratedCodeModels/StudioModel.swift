package import PerdureModelCode
import PerdurePredicates

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A model that macros can express. Its code is public.
package enum StudioModelSource {
  package static let name = "Studio"

  package static var options: ModelCodeOptions {
    var options = ModelCodeOptions()
    options.style = .macros
    options.access = .public
    return options
  }

  package static var hints: ModelCodeHints {
    var hints = ModelCodeHints()
    hints.attributeTypes = ["Film.cut": "Cut?"]
    hints.compositeNames = ["Film.size": "FrameSize"]
    return hints
  }

  package static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      [work, film, person], templates: [FetchRequestTemplate("short", "Film", "minutes < $most")])
  }

  private static let work = EntityDescription(
    "Work", isAbstract: true,
    properties: [
      .string("title", optional: false, default: "untitled", rules: [.minimumLength(1), .maximumLength(80)]),
      .date("made", default: .now),
      .attribute(
        AttributeDescription(
          "budget", .decimal, defaultValue: .decimal(100), renamingIdentifier: "cost",
          userInfo: ["unit": "EUR"],
          versionHashModifier: "2")),
    ], userInfo: ["k": "v"])

  private static let film = EntityDescription(
    "Film", superentity: "Work", className: "MotionPicture",
    properties: [
      .int32(
        "minutes", optional: false, default: 90, rules: [.minimum(1), .predicate(format: "SELF != 13")]),
      .boolean("repeat", optional: false, default: true), .uri("site"), .binary("poster"),
      .attribute(AttributeDescription("cut", .transformable, valueTransformerName: "CutTransformer")),
      .transient("views", .int64, optional: false, default: 0),
      .composite(
        "size", [.int32("width", optional: false), .int32("height", optional: false)], optional: false),
      // Some elements have defaults, and the composite is optional.
      .composite(
        "format",
        [
          .double("rate", optional: false, default: 24.0), .string("stock", optional: false),
          .date("chosen", default: .now), .composite(sound), .composite("crop", [.int32("left")]),
        ]),
      .toMany("cast", "Person", inverse: "films", ordered: true),
      .toOne("director", "Person", inverse: "directed", optional: false),
    ],
    fetchedProperties: [
      FetchedPropertyDescription(
        "namesakes", "Film", "title == $FETCH_SOURCE.title", sortDescriptors: [FetchOrder("minutes")],
        fetchLimit: 3)
    ],
    indexes: [FetchIndexDescription("long", ["minutes", .descending("repeat")], where: "minutes > 120")],
    uniquenessConstraints: [["site"], ["minutes", "repeat"]], renamingIdentifier: "Movie")

  private static let sound = CompositeAttributeDescription(
    "sound", [.int32("channels", default: 2), .string("language")], renamingIdentifier: "audio")

  private static let person = EntityDescription(
    "Person",
    properties: [
      .string("name", optional: false), .toMany("films", "Film", inverse: "cast"),
      .toMany("directed", "Film", inverse: "director", deleteRule: .cascade),
      .derived("directedCount", "directed.@count"),
    ], indexes: [FetchIndexDescription(on: "name")])
}
