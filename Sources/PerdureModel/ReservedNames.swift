/// Names that a property cannot have. Every managed object has a member with that name, or Swift or
/// key-value coding uses the name.
enum ReservedNames {
  static let all: Set<String> = [
    // Identity and state
    "objectID", "entity", "managedObjectContext", "context", "isInserted", "isUpdated", "isDeleted",
    "isFault",
    "hasChanges", "hasPersistentChangedValues", "faultingState", "entityDescription", "fetchRequest",
    // Life cycle
    "awakeFromFetch", "awakeFromInsert", "awakeFromSnapshotEvents", "willSave", "didSave",
    "willTurnIntoFault", "didTurnIntoFault", "prepareForDeletion", "validateForInsert",
    "validateForUpdate", "validateForDelete", "changedValues", "changedValuesForCurrentEvent",
    "committedValues", "objectWillChange", "predicateValue",
    // Every object
    "description", "debugDescription", "hash", "hashValue", "self", "Self", "super", "init", "deinit",
    "Type", "Protocol", "class", "superclass", "zone", "copy", "isEqual",
  ]
}
