/// Names that a property cannot have. They are names of members of every managed object, or names
/// that Swift or key-value coding uses.
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
