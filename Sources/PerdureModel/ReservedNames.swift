/// Names that a property cannot have. Every managed object has a member of that name, or the
/// language or key-value coding gives the name a meaning of its own.
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
