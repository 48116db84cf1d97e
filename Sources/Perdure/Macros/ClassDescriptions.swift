// How classes are asked for the descriptions of their entities.
//
// `entityDescription` is code of the program, and may ask for descriptions itself. Two mistakes in
// it are without end:
//
//   1. It asks for the description of its own class, directly or through other classes. Such a
//      request is found by the list of classes that are being asked.
//   2. It keeps descriptions in static variables that ask for each other. Swift makes such a
//      variable once, and a second request waits for the first one, which waits for the second.
//      Only the time shows that: a thread looks after it.

internal import PerdureFileIO
internal import PerdureModel

enum ClassDescriptions {
  /// The classes that are being asked by `description(of:)`, outermost first.
  @TaskLocal private static var asked: [ManagedObject.Type] = []

  /// The description of a class.
  static func description(of type: ManagedObject.Type) -> EntityDescription {
    if asked.contains(where: { $0 == type }) {
      stop(
        "The description of \(type) asks for itself: \(type).entityDescription calls "
          + "EntityDescription(from: \(type).self), which calls it. Make it there by "
          + "EntityDescription(\"\(type)\", properties: [...]).")
    }
    return $asked.withValue(asked + [type]) { DescriptionWatch.during([type]) { type.entityDescription } }
  }

  /// The entities that classes describe, each once. Several classes may describe one entity, and
  /// some may describe none.
  ///
  /// - Throws: `ModelError` when there are classes and none of them describes an entity.
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
