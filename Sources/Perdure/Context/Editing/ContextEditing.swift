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
  let deleteRules: DeleteRules
  let removal: ObjectRemoval

  init(_ reading: ContextReading, _ activity: ContextActivity) {
    hooks = ObjectHooks(reading, activity)
    refusal = ChangeRefusal(reading, activity)
    recording = EditRecording(reading)
    objectEditor = ObjectEditor(reading, hooks: hooks, refusal: refusal, recording: recording)
    orderEditor = OrderEditor(reading, recording)
    linkEditor = LinkEditor(
      reading: reading, objectEditor: objectEditor, orderEditor: orderEditor, recording: recording)
    rebase = PendingRebase(
      reading: reading, objectEditor: objectEditor, orderEditor: orderEditor, linkEditor: linkEditor,
      refusal: refusal)
    deleteRules = DeleteRules(
      reading: reading, objectEditor: objectEditor, linkEditor: linkEditor, activity: activity)
    removal = ObjectRemoval(
      reading: reading, recording: recording, objectEditor: objectEditor, linkEditor: linkEditor,
      deleteRules: deleteRules)
  }
}
