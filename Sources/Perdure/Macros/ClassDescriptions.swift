// Reads the entity descriptions of classes.
//
// `entityDescription` is the program's code, and may read other descriptions. Two mistakes in it
// cause an endless wait or recursion:
//
//   1. It reads the description of its own class, directly or through other classes. The list of
//      classes whose descriptions are being read shows the cycle.
//   2. It keeps descriptions in static variables that read each other. Swift initializes such a
//      variable once, so the initializers of two variables wait for each other. Only a time limit
//      detects this deadlock; a thread enforces the limit (DescriptionWatch.swift).

internal import PerdureFileIO
internal import PerdureModel

enum ClassDescriptions {
  /// The classes whose descriptions `description(of:)` is reading, outermost first.
  @TaskLocal private static var asked: [ManagedObject.Type] = []

  /// The description of a class. A cycle stops the program.
  static func description(
    of type: ManagedObject.Type, _ file: StaticString, _ line: UInt
  ) -> EntityDescription {
    if asked.contains(where: { $0 == type }) {
      stop(
        "The description of \(type) calls itself: \(type).entityDescription calls "
          + "EntityDescription(from: \(type).self), which calls it again. In entityDescription, call "
          + "EntityDescription(\"\(type)\", properties: [...]) instead.", file: file, line: line)
    }
    return $asked.withValue(asked + [type]) { DescriptionWatch.during([type]) { type.entityDescription } }
  }

  /// The entities that the classes describe, each once. Several classes may describe the same
  /// entity, and some may describe none.
  ///
  /// - Throws: `ModelError` if there are classes, but none of them describes an entity.
  static func entities(of classes: [ManagedObject.Type]) throws(ModelError) -> [EntityDescription] {
    var entities: [EntityDescription] = []
    DescriptionWatch.during(classes) {
      for type in classes {
        let entity = type.entityDescription
        if !entity.name.isEmpty, !entities.contains(entity) { entities.append(entity) }
      }
    }
    if entities.isEmpty, let type = classes.first {
      throw .withoutEntities(
        "No class of the container has an entity: \(classes.map { "\($0)" }.joined(separator: ", ")). Mark "
          + "each with @Entity (@Entity final class \(type)), or override entityDescription.")
    }
    return entities
  }
}

// MARK: - Models

extension ClassDescriptions {
  private struct Input: Equatable, Sendable {
    /// Compared too, because strings in equal descriptions may have different bytes.
    let classes: [ObjectIdentifier]
    let entities: [EntityDescription]
    let templates: [FetchRequestTemplate]
  }

  private static let models = RecentValues<Input, ManagedObjectModel>(countMax: 4)

  /// The model of the entities that the classes describe. The descriptions are read each time. If
  /// they equal the descriptions of an earlier call, the model of that call is returned.
  ///
  /// - Throws: `ModelError` if the entities do not form a valid model, or if there are classes, but
  ///   none of them describes an entity.
  static func model(of classes: [ManagedObject.Type]) throws(ModelError) -> ManagedObjectModel {
    let input = Input(
      classes: classes.map { ObjectIdentifier($0) },
      entities: try entities(of: classes), templates: FetchRequestTemplate.templates(of: classes))
    return try models.value(of: input) { () throws(ModelError) in
      try ManagedObjectModel(input.entities, templates: input.templates)
    }
  }
}
