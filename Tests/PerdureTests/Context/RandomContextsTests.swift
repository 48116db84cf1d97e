// Four contexts on a random model, compared with plain values. These define the exact content that
// each context must show.
//
// The content is exact, because no two contexts change the same object. The objects are in four
// parts without links between them, and each context changes one part. In its own part, a context
// shows its unsaved changes. In the other parts, it shows the saves up to its own state of the
// store. Each context may have a different state. Changes of other contexts may appear only when a
// context advances. The unsaved changes of this context must then stay the same.

import PerdureLog
import PerdureModel
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Four random contexts compared with plain values")
struct RandomContextsTests {
  @Test(
    "Each context shows its own changes, and other contexts' saves up to its state",
    arguments: StoreKind.allCases)
  func random(_ kind: StoreKind) throws {
    var random = SeededGenerator.forTest("random contexts")
    let stepCount = 100
    for _ in 0..<LongRun.count(kind == .engine ? 24 : 12, of: stepCount) {
      guard try expectSteps(stepCount, &random, begin: { try World(kind, $0) }) else { return }
    }
  }
}

private final class World: SteppedRun {
  private static let count = 4

  let run: RandomRun
  private let kind: StoreKind
  private let directory: TemporaryDirectory
  private var container: PersistentContainer
  private var editors: [PartEditor] = []
  /// The saved content of each part at each state of the store.
  private var history: [(sequence: UInt64, parts: [PartState])] = []
  private var tokens: [(token: QueryGenerationToken, sequence: UInt64)] = []

  init(_ kind: StoreKind, _ random: SeededGenerator) throws {
    var random = random
    var model = RandomModel(&random, rules: [.cascade, .cascade, .deny])
    if random.chance(50) { model.order(&random) }
    run = RandomRun(model, random)
    self.kind = kind
    directory = try TemporaryDirectory()
    container = try kind.container(model, in: directory)
    begin(Array(repeating: PartState(model), count: Self.count))
  }

  /// Creates four new contexts on the saved state.
  private func begin(_ parts: [PartState]) {
    editors = parts.indices.map { PartEditor(run, "\($0)", container.newContext(), $0, parts[$0]) }
    history = [(editors[0].context.core.viewState.view.sequence, parts)]
    tokens = []
  }

  // MARK: Expected states

  private var newest: [PartState] { history[history.count - 1].parts }

  private func parts(at sequence: UInt64) -> [PartState] {
    // Operations other than saves may also create states. These have the same content.
    history.last { $0.sequence <= sequence }?.parts ?? history[0].parts
  }

  private func stored(_ editor: PartEditor) -> [PartState] {
    parts(at: editor.context.core.viewState.view.sequence)
  }

  private func shown(_ editor: PartEditor) -> [PartState] {
    var parts = stored(editor)
    parts[editor.part] = editor.state
    return parts
  }

  private func showing(_ editor: PartEditor) -> Showing {
    Showing(
      context: editor.context, name: editor.name, shown: { self.shown(editor) },
      stored: { self.stored(editor) })
  }

  /// A read advances a context only if the context merges automatically and is not pinned.
  private func check(_ editor: PartEditor) throws {
    let before = editor.context.core.viewState.view.sequence
    try run.check(showing(editor))
    if editor.context.automaticallyMergesChangesFromParent, !isPinned(editor) { return }
    expectMove(editor, from: before, moves: false)
  }

  private func isPinned(_ editor: PartEditor) -> Bool { editor.context.queryGenerationToken != nil }

  /// Expects that a context has advanced to the newest state, or has stayed at its own state.
  private func expectMove(_ editor: PartEditor, from before: UInt64, moves: Bool) {
    let sequence = editor.context.core.viewState.view.sequence
    run.expect(
      moves ? sequence >= history[history.count - 1].sequence : sequence == before,
      "\(editor.name) is at \(sequence)\(moves ? "" : ", and was at \(before)")")
  }

  /// Runs an operation that advances a context unless the context is pinned.
  private func move(_ editor: PartEditor, evenPinned: Bool = false, _ body: () -> Void) {
    let before = editor.context.core.viewState.view.sequence
    body()
    expectMove(editor, from: before, moves: evenPinned || !isPinned(editor))
  }

  var random: SeededGenerator {
    get { run.random }
    set { run.random = newValue }
  }

  var failure: StepFailure? { run.failure }

  private func checkAll() throws {
    for editor in editors { try check(editor) }
  }

  private func note(_ editor: PartEditor, _ text: String) { run.note("\(editor.name) \(text)") }

  // MARK: Steps

  func step() {
    do {
      let editor = run.random.pick(editors)
      try step(editor)
      // The step may have opened the store again.
      if editors.contains(where: { $0 === editor }) { try check(editor) }
      if run.random.chance(10) { try checkAll() }
    } catch {
      run.expect(false, "\(error)")
    }
  }

  private func step(_ editor: PartEditor) throws {
    switch Int.random(in: 0..<100, using: &run.random) {
    case 0..<54: try editor.edit()
    case 54..<66: try save(editor)
    case 66..<69: rollBack(editor)
    case 69..<71: reset(editor)
    case 71..<75:
      note(editor, "refreshes all")
      move(editor) { editor.context.refreshAllObjects() }
    case 75..<82: refresh(editor)
    case 82..<84:
      note(editor, "starts or stops merging automatically")
      editor.context.automaticallyMergesChangesFromParent.toggle()
    case 84..<87: try pin(editor)
    case 87..<90: try lookBack(editor)
    case 90..<93: try edit(inChildOf: editor)
    case 93..<95: validate(editor)
    case 95..<97: hold(editor)
    default: try finish()
    }
  }

  private func hold(_ editor: PartEditor) {
    editor.held.removeAll { _ in run.random.chance(50) }
    let living = shown(editor).flatMap(\.graph.living)
    editor.held += living.filter { _ in run.random.chance(20) }.map { editor.object($0) }
  }

  private func rollBack(_ editor: PartEditor) {
    note(editor, "rolls back")
    move(editor) { editor.context.rollback() }
    editor.revert(to: newest[editor.part])
  }

  private func reset(_ editor: PartEditor) {
    note(editor, "is reset")
    move(editor, evenPinned: true) { editor.context.reset() }
    editor.revert(to: newest[editor.part])
  }

  /// Refreshes one object, of the context's own part or of another part.
  private func refresh(_ editor: PartEditor) {
    let shown = shown(editor)
    let part = run.random.chance(60) ? editor.part : Int.random(in: 0..<Self.count, using: &run.random)
    guard !shown[part].graph.living.isEmpty else { return }
    let number = run.random.pick(shown[part].graph.living)
    let merges = run.random.chance(50)
    // Links that the object loses because this context deleted the other end are not checked.
    if part == editor.part, !merges, editor.state.hasDeletions { return }
    note(editor, "refreshes \(number), \(merges ? "merging" : "forgetting")")
    move(editor) {
      if part == editor.part, !merges {
        editor.forget(number, newest[part])
      } else {
        editor.context.refresh(editor.object(number), mergeChanges: merges)
      }
    }
  }

  // MARK: Saves

  private static let codes: Set<PerdureError.Code> = [
    .relationshipDeniedDelete, .missingMandatoryProperty, .relationshipLacksMinimumCount,
    .relationshipExceedsMaximumCount,
  ]

  /// Expects that a save or a validation is refused as the plain values require, with one detail
  /// for each violation.
  private func expectRefusal(_ error: PerdureError, _ least: Int, _ most: Int) {
    let count = error.details.count
    run.expect(
      count > 0 && count >= least && count <= most
        && error.details.allSatisfy { Self.codes.contains($0.code) },
      "refused with \(error), \(error.details); the violations are \(least) to \(most)")
  }

  private func validate(_ editor: PartEditor) {
    let violations = editor.state.graph.violations
    note(editor, "validates")
    do {
      try editor.context.validate()
      run.expect(violations.isEmpty, "valid in spite of \(violations)")
    } catch {
      expectRefusal(error, violations.count, violations.count)
    }
  }

  private func save(_ editor: PartEditor) throws {
    let violations = editor.state.graph.violations
    do {
      try editor.context.save()
    } catch {
      note(editor, "is not saved")
      expectRefusal(error, violations.count, violations.count)
      if run.random.chance(50) { rollBack(editor) }
      return
    }
    note(editor, "is saved, and at \(editor.context.core.viewState.view.sequence)")
    run.expect(violations.isEmpty, "saved in spite of \(violations)")
    run.expect(!editor.context.hasChanges, "\(editor.name) has changes after a save")
    editor.state.save()
    record(editor)
    try checkStored()
    if run.random.chance(20) { try expectWhole(container) }
  }

  private func record(_ editor: PartEditor) {
    let sequence = editor.context.core.viewState.view.sequence
    if sequence > history[history.count - 1].sequence {
      var parts = newest
      parts[editor.part] = editor.state
      history.append((sequence, parts))
      run.noteSaved(editor.state)
    } else {
      let difference = editor.state.difference(newest[editor.part])
      run.expect(difference == nil, "a save of \(difference ?? "") has made no new state")
    }
  }

  /// Checks the saved state in a new context.
  private func checkStored() throws {
    let (context, parts) = (container.newContext(), newest)
    try run.check(Showing(context: context, name: "a fresh one", shown: { parts }, stored: { parts }))
  }

  // MARK: States of the store

  private func pin(_ editor: PartEditor) throws {
    if run.random.chance(40) {
      note(editor, "is no longer pinned")
      return try editor.context.setQueryGeneration(from: nil)
    }
    let before = editor.context.core.viewState.view.sequence
    try editor.context.setQueryGeneration(from: .current)
    expectMove(editor, from: before, moves: true)
    note(editor, "is pinned at \(editor.context.core.viewState.view.sequence)")
    if let token = editor.context.queryGenerationToken {
      tokens.append((token, editor.context.core.viewState.view.sequence))
      if tokens.count > 4 { tokens.removeFirst() }
    }
  }

  /// Moves a context to a state to which some context was pinned. The context stays pinned there,
  /// unless the state is older than its own state.
  private func lookBack(_ editor: PartEditor) throws {
    guard !tokens.isEmpty else { return }
    let (token, sequence) = run.random.pick(tokens)
    let context = editor.context
    let wasPinned = isPinned(editor)
    note(editor, "is set to \(sequence)")
    if sequence >= context.core.viewState.view.sequence { return try context.setQueryGeneration(from: token) }
    if context.hasChanges {
      do {
        try context.setQueryGeneration(from: token)
        run.expect(false, "\(editor.name) has returned to an older state despite its changes")
      } catch {
        run.expect(error.code == .storeOperation, "\(error)")
      }
      return
    }
    try context.setQueryGeneration(from: token)
    run.expect(context.core.viewState.view.sequence == sequence, "\(editor.name) is not at \(sequence)")
    let old = parts(at: sequence)
    try run.check(Showing(context: context, name: editor.name, shown: { old }, stored: { old }))
    try context.setQueryGeneration(from: .current)
    if !wasPinned { try context.setQueryGeneration(from: nil) }
  }

  // MARK: Children

  /// Edits in a child context. The child is then saved into its parent, or discarded. Other
  /// contexts may save meanwhile.
  private func edit(inChildOf parent: PartEditor) throws {
    // A child does not see an object whose deletion is pending and denied.
    guard kind != .joined, !parent.state.hasDeletions else { return }
    note(parent, "gets a child")
    let child = PartEditor(
      run, "child of \(parent.name)", parent.context.newChildContext(), parent.part, parent.state)
    let showing = Showing(
      context: child.context, name: child.name,
      shown: {
        var parts = self.shownByParent(of: child)
        parts[child.part] = child.state
        return parts
      },
      stored: {
        var parts = self.shownByParent(of: child)
        parts[child.part] = parent.state
        return parts
      })
    try run.check(showing)
    for _ in 0..<Int.random(in: 1...5, using: &run.random) where !run.hasFailed {
      try child.edit()
      try run.check(showing)
      let other = run.random.pick(editors)
      if other !== parent, run.random.chance(20) { try save(other) }
    }
    if run.hasFailed { return }
    if run.random.chance(25) { return note(child, "is discarded") }
    try save(child, into: parent)
  }

  /// The saved content of the state of the store on which the child's view is based.
  private func shownByParent(of child: PartEditor) -> [PartState] {
    guard let view = child.context.core.viewState.view as? LayeredView else { return newest }
    return parts(at: view.base.sequence)
  }

  private func save(_ child: PartEditor, into parent: PartEditor) throws {
    // Violations that the parent already has are reported only for objects that the child changes.
    let (before, after) = (Set(parent.state.graph.violations), child.state.graph.violations)
    let new = after.filter { !before.contains($0) }
    do {
      try child.context.save()
    } catch {
      note(child, "is not saved")
      return expectRefusal(error, new.count, after.count)
    }
    note(child, "is saved")
    run.expect(new.isEmpty, "\(child.name) is saved in spite of \(new)")
    parent.state = child.state
  }

  // MARK: All contexts

  /// Saves all contexts, or opens the store again without saving. Then each context gets another
  /// part to edit.
  private func finish() throws {
    if kind == .engine, run.random.chance(25) { return try reopen() }
    for editor in editors {
      try save(editor)
      if editor.context.hasChanges { rollBack(editor) }
    }
    for editor in editors where !run.hasFailed {
      try editor.context.setQueryGeneration(from: nil)
      editor.context.refreshAllObjects()
      editor.revert(to: newest[editor.part])
      try check(editor)
    }
    if kind == .engine, run.random.chance(40) { return try reopen() }
    let parts = (0..<Self.count).shuffled(using: &run.random)
    run.note("the contexts have parts \(parts)")
    for (editor, part) in zip(editors, parts) {
      editor.part = part
      editor.revert(to: newest[part])
    }
  }

  private func reopen() throws {
    if run.hasFailed { return }
    run.note("closed and opened again")
    for editor in editors { editor.held = [] }
    try container.close()
    container = try kind.container(run.model, in: directory)
    for (number, id) in run.ids { run.setID(container.managedObjectID(forURI: id.uri) ?? id, number) }
    begin(newest)
    try expectWhole(container)
    try checkAll()
  }
}
