/// The parts that edit the unsaved changes of a context. Each part uses only those before it, and
/// the parts that read.
struct ContextEditing {
  let hooks: ObjectHooks
  let refusal: ChangeRefusal
  let recording: EditRecording
  let objectEditor: ObjectEditor
  let orderEditor: OrderEditor
  let linkEditor: LinkEditor
  let rebase: PendingRebase
  let hiddenSaveSearch: HiddenSaveSearch
  let advancing: ContextAdvance
  let deleteRules: DeleteRules
  let removal: ObjectRemoval
  let insertion: ObjectInsertion
  let undoGroups: UndoGroups

  init(_ reading: Shared<ContextReading>, _ activity: ContextActivity) {
    hooks = ObjectHooks(
      rows: reading.rows, viewState: reading.viewState, pending: reading.pending, activity: activity)
    refusal = ChangeRefusal(reading, activity)
    recording = EditRecording(reading)
    objectEditor = ObjectEditor(reading, hooks: hooks, refusal: refusal, recording: recording)
    orderEditor = OrderEditor(reading, recording)
    linkEditor = LinkEditor(
      reading: reading, objectEditor: objectEditor, orderEditor: orderEditor, recording: recording)
    rebase = PendingRebase(
      reading: reading, objectEditor: objectEditor, orderEditor: orderEditor, linkEditor: linkEditor,
      refusal: refusal)
    hiddenSaveSearch = HiddenSaveSearch(
      viewState: reading.viewState, pending: reading.pending, rebase: rebase, recording: recording)
    advancing = ContextAdvance(
      reading, recording: recording, hiddenSaveSearch: hiddenSaveSearch, linkEditor: linkEditor,
      rebase: rebase)
    deleteRules = DeleteRules(
      reading: reading, recording: recording, objectEditor: objectEditor, linkEditor: linkEditor,
      activity: activity)
    removal = ObjectRemoval(
      reading: reading, recording: recording, objectEditor: objectEditor, linkEditor: linkEditor,
      deleteRules: deleteRules, activity: activity)
    insertion = ObjectInsertion(reading, recording, activity)
    undoGroups = UndoGroups(
      registry: reading.registry, contents: reading.contents, recording: recording,
      deleteRules: deleteRules)
  }
}
