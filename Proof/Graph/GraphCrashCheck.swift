package import Perdure
package import PerdureFileIO
import PerdureLog
import PerdureProving
package import PerdureTestSupport

// The required content of a store whose program used several models in succession.
//
// Every opening is a step, and its label shows the program's model at a crash. The opening after
// the crash uses the same model, and adds the parts that the store lacks. The commits of an opening
// change no row and no link. If a crash lost some of these commits, the repeated opening makes at
// most as many commits again. The content after each of these commits is the same.

/// Compares the store of a graph with the content that its saves left.
package struct GraphCrashCheck: CrashCheck {
  /// One opening of the program.
  private struct Opening: Sendable {
    let version: Int
    /// The number of commits at its beginning and at its end.
    let start: UInt64
    var end: UInt64
    /// The store's model at that time, in its stored form.
    var model: [UInt8]?
  }

  /// The label of an opening's step. It is negative, unlike the labels of promises.
  private static func label(ofOpening number: Int) -> Int { -1 - number }

  /// A store that was opened after a crash, and its disk.
  package struct Recovered {
    package let store: LogPersistentStore
    package let fileSystem: any FileSystem

    package init(_ store: LogPersistentStore, on fileSystem: any FileSystem) {
      (self.store, self.fileSystem) = (store, fileSystem)
    }
  }

  package let program: GraphCrashProgram
  /// The content after each commit.
  private var states: [GraphContent] = [GraphContent()]
  /// The number of the commit that first contained each row.
  private var births: [UInt64: UInt64] = [:]
  private var openings: [Opening] = []

  init(program: GraphCrashProgram) { self.program = program }

  /// - Returns: The label of the step.
  mutating func beginOpening(_ version: Int) -> Int {
    let start = UInt64(states.count - 1)
    openings.append(Opening(version: version, start: start, end: start))
    return Self.label(ofOpening: openings.count - 1)
  }

  mutating func endOpening(_ store: LogPersistentStore) throws {
    guard try !note(store) else { throw Violation("an opening changed the graph") }
    openings[openings.count - 1].end = store.view().sequence
    openings[openings.count - 1].model = try GraphFiles.storedModel(store)
  }

  /// Notes the content after the newest commit. Some commits are not saves, but change the model, a
  /// keyspace, or the reserved ids. They change no row and no link.
  ///
  /// - Returns: Whether the content has changed.
  mutating func note(_ store: LogPersistentStore) throws -> Bool {
    let before = states[states.count - 1]
    let content = try GraphContent(store)
    let sequence = store.view().sequence
    while UInt64(states.count) < sequence { states.append(states[states.count - 1]) }
    if UInt64(states.count) == sequence { states.append(content) }
    for row in content.rows.keys where births[row] == nil { births[row] = sequence }
    return content != before
  }

  /// The opening during which the power was cut. If there was none, the last opening before the
  /// cut.
  private func opening(_ context: CrashContext) -> Opening {
    openings[context.begun.last.map { -1 - $0 } ?? 0]
  }

  /// Whether a store with this number of commits is in the middle of a change of its model.
  private func isWithinChange(_ commits: UInt64, _ context: CrashContext) -> Bool {
    let opening = opening(context)
    return opening.start > 0 && opening.start < commits && commits < opening.end
  }

  /// Whether a store with this number of commits does not have the model of the next opening yet.
  package func isBeforeChange(_ commits: UInt64, _ context: CrashContext) -> Bool {
    let opening = opening(context)
    return opening.start > 0 && opening.start == commits && commits < opening.end
  }

  /// The context of a check without a crash, for the disk after the end of the program.
  package var contextAtEnd: CrashContext {
    let label = Self.label(ofOpening: openings.count - 1)
    return CrashContext(operation: 1, begun: [label], acknowledged: [], losses: [])
  }

  package func recover(
    _ fileSystem: SimulatedFileSystem, _ context: CrashContext
  ) throws -> Recovered {
    // Uses a copy of the disk, so that this check does not change the disk of the recovery.
    if program.subject.world.isGrowing { try look(at: SimulatedFileSystem(fileSystem.currentImage), context) }
    let store = try program.open(on: fileSystem, version: opening(context).version)
    // A state that a recovery has shown is promised from then on.
    let sequence = Int(store.view().sequence)
    if sequence > context.acknowledged.max() ?? 0 { fileSystem.marker.promise(sequence) }
    return Recovered(store, on: fileSystem)
  }

  /// Checks that readers without a model, `verify` and `stats` accept the state after a cut. A cut
  /// during the first opening may leave no store. Then nothing is checked.
  private func look(at fileSystem: SimulatedFileSystem, _ context: CrashContext) throws {
    let store: LogPersistentStore
    do { store = try program.openToRead(on: fileSystem) } catch {
      let hasModel = opening(context).start > 0
      if !hasModel, (error as? StoreError)?.code == .notAStore { return }
      throw Violation("a store cannot be opened for reading: \(error)")
    }
    let sequence = store.view().sequence
    guard try store.store.statistics.sequence == sequence else {
      throw Violation("the statistics describe another state")
    }
    guard sequence < states.count, try GraphContent(store) == states[Int(sequence)] else {
      throw Violation("a reader sees a wrong graph after commit \(sequence)")
    }
    let engine = try store.store.verify()
    guard engine.isClean else { throw Violation("a reader finds \(engine.findings)") }
    let graph = GraphVerification(store.view(), store.model.model).run()
    guard graph.isClean else { throw Violation("a reader finds \(graph.findings)") }
    try GraphFiles.checkIndexes(store)
    try store.close()
  }

  package func verify(_ recovered: Recovered, _ context: CrashContext) throws {
    let store = recovered.store
    let sequence = store.view().sequence
    let least = context.acknowledged.max() ?? 0
    guard sequence >= least else {
      throw Violation("save \(least) was promised, but the log ends at \(sequence)")
    }
    let found = store.store.recoveryReport.commits
    guard found < states.count else {
      throw Violation("the store has \(found) commits, more than the program made")
    }
    guard !isWithinChange(found, context) else { throw Violation("a change of the model is incomplete") }
    // The opening adds only the missing parts of its model.
    let end = end(context, after: found)
    guard end.contains(sequence) else {
      throw Violation("the log ended at \(found), and ends at \(sequence) after the opening, not in \(end)")
    }
    guard try GraphContent(store) == states[Int(sequence)] else {
      throw Violation("the graph after commit \(sequence) differs from the saved one")
    }
    if isKnown(context, found), try GraphFiles.storedModel(store) != opening(context).model {
      throw Violation("the stored model after commit \(sequence) is not the model of the opening")
    }
    let engine = try store.store.verify()
    guard engine.isClean else { throw Violation("\(engine.findings)") }
    let graph = GraphVerification(store.view(), store.model.model).run()
    guard graph.isClean else { throw Violation("\(graph.findings)") }
    try GraphFiles.check(
      store, on: recovered.fileSystem, threshold: program.blobThreshold, superseded: sequence > found ? 1 : 0)
    try GraphFiles.checkIndexes(store)
    try GraphAnswers(program.container(store).newContext(), store.model.model).check()
    if context.operation % 8 == 0 { try goOn(recovered, behind: sequence) }
  }

  /// The possible numbers of commits after an opening that found `found` commits.
  private func end(_ context: CrashContext, after found: UInt64) -> ClosedRange<UInt64> {
    guard program.subject.world.isGrowing else {
      // All later openings find the additions of the first one.
      let end = max(found, openings[0].end)
      return end...end
    }
    let opening = opening(context)
    if found >= opening.end { return found...found }
    return (isKnown(context, found) ? opening.end : found)...opening.end
  }

  /// Whether all commits before the opening survived the power cut. If an earlier recovery
  /// continued the log, the number of commits lost before that recovery is unknown, and the result
  /// is false.
  private func isKnown(_ context: CrashContext, _ found: UInt64) -> Bool {
    found >= opening(context).start && context.recoveries == 0
  }

  /// Inserts new objects. Checks that their ids are new, and that earlier rows and links are
  /// unchanged.
  private func goOn(_ recovered: Recovered, behind last: UInt64) throws {
    let store = recovered.store
    let before = try GraphContent(store)
    let context = try program.container(store).newContext()
    let count = program.subject.world.insertMore(context)
    try context.save()
    let after = try GraphContent(store)
    guard after.rows.count == before.rows.count + count, after.links == before.links,
      before.rows.allSatisfy({ after.rows[$0.key] == $0.value })
    else { throw Violation("a save after the recovery changed earlier objects, or is lost") }
    for row in after.rows.keys where before.rows[row] == nil {
      if let birth = births[row], birth <= last { throw Violation("an id was assigned twice") }
    }
  }

  package func isDuringRecovery(_ context: CrashContext) -> Bool { context.recoveries > 0 }
}
