/// The parts that check, merge and commit unsaved changes, adopt those of a child, and undo edits.
/// Each part uses only those before it, and the parts that read, edit and answer queries. A context
/// creates them at their first use.
final class ContextSaving {
  let stores: StoreAssignment
  let mergeRules: MergeRules
  let mergeApplication: MergeApplication
  let ruleValidation: RuleValidation
  let classValidation: ClassValidation
  let saveHooks: SaveHookCaller
  let childIntake: ChildIntake
  let saveCommit: SaveCommit
  let conflictFinder: UndoConflictFinder
  let undoRestorer: UndoRestorer

  init(
    _ reading: ContextReading, _ editing: ContextEditing, foreignSaves: ForeignSaves,
    _ activity: ContextActivity, durability: Durability
  ) {
    let (reading, editing) = (Shared(reading), Shared(editing))
    stores = StoreAssignment(reading, editing.recording)
    mergeRules = MergeRules(reading.pending)
    mergeApplication = MergeApplication(
      reading: reading, editing: editing, mergeRules: mergeRules, stores: stores)
    ruleValidation = RuleValidation(reading, editing.deleteRules)
    classValidation = ClassValidation(
      reading: reading, recording: editing.recording, deleteRules: editing.deleteRules,
      ruleValidation: ruleValidation, activity: activity)
    saveHooks = SaveHookCaller(
      reading: reading, recording: editing.recording, deleteRules: editing.deleteRules,
      classValidation: classValidation, objectEditor: editing.objectEditor, activity: activity)
    childIntake = ChildIntake(reading, editing)
    saveCommit = SaveCommit(
      reading: reading, hooks: editing.hooks, undoGroups: editing.undoGroups, mergeRules: mergeRules,
      ruleValidation: ruleValidation, foreignSaves: foreignSaves, childIntake: childIntake,
      activity: activity, durability: durability)
    conflictFinder = UndoConflictFinder(reading, editing.recording)
    undoRestorer = UndoRestorer(reading, editing, conflictFinder)
  }
}
