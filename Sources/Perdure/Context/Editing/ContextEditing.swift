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

  init(_ reading: ContextReading, _ activity: ContextActivity) {
    hooks = ObjectHooks(reading, activity)
    refusal = ChangeRefusal(reading, activity)
    recording = EditRecording(reading)
    objectEditor = ObjectEditor(reading, hooks, refusal, recording)
    orderEditor = OrderEditor(reading, recording)
    linkEditor = LinkEditor(reading, objectEditor, orderEditor, recording)
    rebase = PendingRebase(reading, objectEditor, orderEditor, linkEditor, refusal)
    deleteRules = DeleteRules(reading, objectEditor, linkEditor, activity)
  }
}
