/// The names that no property can have.
enum ReservedNames {
  /// A copy of `ReservedNames.all` in PerdureModel. A compiler plugin does not link that module, so
  /// a test compares the two sets.
  private static let names: Set<String> = [
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

  /// The error message for a reserved name; nil for other names.
  static func problem(of name: String) -> String? {
    guard names.contains(name) else { return nil }
    return
      "\"\(name)\" is the name of a member of every managed object. Choose another name for the property."
  }
}
