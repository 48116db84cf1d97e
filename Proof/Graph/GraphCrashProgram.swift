package import Perdure
package import PerdureFileIO
import PerdureLog
import PerdureProving
package import PerdureTestSupport

/// One kind of program that edits a graph and saves.
package struct GraphCrashSubject: CrashSubject {
  /// What an edit does. Some break a rule now and then: the save is refused then.
  package enum Edit: Sendable, CaseIterable {
    case found, dissolve, divide, subdivide, close, hire, dismiss, move, readdress, befriend, quarrel
  }

  package let name: String
  package let sectorLengths = [64, 512, 4096]
  /// An edit is one of these.
  package var edits: [Edit]
  package var saves = 24
  /// How many saves there are between openings.
  package var reopensEvery = 9
  /// Each opening has one of these for its saves.
  package var durabilities: [Durability]
  /// Whether saves are taken for promised that are not: for a check that must find that out.
  package var believesAll = false

  package init(
    name: String, edits: [Edit], reopensEvery: Int = 9, durabilities: [Durability] = [.powerLoss]
  ) {
    (self.name, self.edits, self.reopensEvery) = (name, edits, reopensEvery)
    self.durabilities = durabilities
  }

  /// What is ordered is synced by a thread of the store's: sooner or later.
  package var isRepeatable: Bool { !durabilities.contains(.ordered) }

  package func program(seed: UInt64) -> GraphCrashProgram { GraphCrashProgram(subject: self, seed: seed) }

  package static let all = [
    GraphCrashSubject(
      name: "graph: cascades",
      edits: [.found, .found, .divide, .divide, .subdivide, .subdivide, .subdivide, .dissolve, .close]),
    GraphCrashSubject(
      name: "graph: uniqueness", edits: [.found, .hire, .hire, .hire, .readdress, .readdress, .dismiss]),
    GraphCrashSubject(
      name: "graph: many to many",
      edits: [.hire, .hire, .befriend, .befriend, .befriend, .befriend, .quarrel, .dismiss]),
    GraphCrashSubject(
      name: "graph: ids", edits: [.found, .hire, .divide, .dismiss, .close], reopensEvery: 2),
    GraphCrashSubject(name: "graph: everything", edits: Edit.allCases + [.found, .hire, .hire, .befriend]),
    GraphCrashSubject(
      name: "graph: saves that wait for less", edits: Edit.allCases + [.found, .hire, .hire, .befriend],
      reopensEvery: 6, durabilities: Durability.allCases),
  ]
}

/// Edits a graph at random, and remembers what every save left.
package struct GraphCrashProgram: CrashProgram {
  package static let path = "/guild.perdure"

  package let subject: GraphCrashSubject
  package let seed: UInt64
  /// Made once, and not for each of a million openings.
  private let model = Result { () throws(ModelError) in
    try ManagedObjectModel(GraphCrashModel.classes.map { $0.entityDescription })
  }

  init(subject: GraphCrashSubject, seed: UInt64) { (self.subject, self.seed) = (subject, seed) }

  package func run(on fileSystem: any FileSystem, _ marker: CrashMarker) async throws -> GraphCrashCheck {
    try edit(on: fileSystem, marker)
  }

  package func open(on fileSystem: any FileSystem) throws -> LogPersistentStore {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.segmentCapacityBytes = 8192
    options.checkpoints = .manual
    if seed % 2 == 0 { options.checkpoints.closeTailBytes = 0 }
    options.compactsAutomatically = false
    return try LogPersistentStore(at: Self.path, model: model.get(), options: options)
  }

  func container(
    _ store: LogPersistentStore, _ durability: Durability = .powerLoss
  ) throws -> PersistentContainer {
    let container = PersistentContainer(
      name: "guild", model: try model.get(), classes: GraphCrashModel.classes,
      description: .init(path: Self.path, durability: durability),
      factory: StoreFactory { _, _ in store })
    try container.loadPersistentStores()
    return container
  }

  private func edit(on fileSystem: any FileSystem, _ marker: CrashMarker) throws -> GraphCrashCheck {
    var random = SeededGenerator(seed: seed)
    var check = GraphCrashCheck(program: self)
    for first in stride(from: 0, to: subject.saves, by: subject.reopensEvery) {
      let store = try open(on: fileSystem)
      _ = try check.note(store)
      if first == 0 { check.setup = store.view().sequence }
      let durability = random.pick(subject.durabilities)
      let isPromised = durability == .powerLoss || subject.believesAll
      let container = try container(store, durability)
      var editor = GraphEditor(context: container.newContext(), edits: subject.edits, random: random)
      for _ in first..<min(first + subject.reopensEvery, subject.saves) {
        let isSaved = try editor.save()
        // A save that comes to nothing is no commit, and what was last may be a reservation of ids, which
        // nobody was promised.
        if try check.note(store), isSaved, isPromised { marker.promise(Int(store.view().sequence)) }
      }
      random = editor.random
      // Closed, which promises all of it, or left as a process that ends leaves it.
      let last = store.view().sequence
      if Bool.random(using: &random) {
        try container.close()
        marker.promise(Int(last))
      }
    }
    return check
  }
}

/// Holds the store of a graph against what its saves left.
package struct GraphCrashCheck: CrashCheck {
  package let program: GraphCrashProgram
  /// What there was after each commit.
  private var states: [GraphContent] = [GraphContent()]
  /// The commit that first showed a row.
  private var births: [UInt64: UInt64] = [:]
  /// How many commits make a new store ready for the model.
  fileprivate(set) var setup: UInt64 = 0

  init(program: GraphCrashProgram) { self.program = program }

  /// Commits that are no saves (of the model, of a keyspace, of ids) change no row and no link.
  ///
  /// - Returns: Whether there is anything else than before.
  mutating func note(_ store: LogPersistentStore) throws -> Bool {
    let before = states[states.count - 1]
    let content = try GraphContent(store)
    let sequence = store.view().sequence
    while UInt64(states.count) < sequence { states.append(states[states.count - 1]) }
    if UInt64(states.count) == sequence { states.append(content) }
    for row in content.rows.keys where births[row] == nil { births[row] = sequence }
    return content != before
  }

  package func recover(
    _ fileSystem: SimulatedFileSystem, _ context: CrashContext
  ) throws -> LogPersistentStore {
    let store = try program.open(on: fileSystem)
    // What a recovery has shown to anybody is as good as promised.
    let sequence = Int(store.view().sequence)
    if sequence > context.acknowledged.max() ?? 0 { fileSystem.marker.promise(sequence) }
    return store
  }

  package func verify(_ store: LogPersistentStore, _ context: CrashContext) throws {
    let sequence = store.view().sequence
    let least = context.acknowledged.max() ?? 0
    guard sequence >= least else {
      throw Violation("save \(least) was promised, and the log ends at \(sequence)")
    }
    let report = store.store.recoveryReport
    let found = report.commits
    guard found < states.count else { throw Violation("there never was a commit \(found)") }
    // The opening makes what a new store lacks, and nothing else.
    guard sequence == max(found, setup) else {
      throw Violation("the log ends at \(found), and the opening has made it end at \(sequence)")
    }
    let known = Int(sequence)
    guard try GraphContent(store) == states[known] else {
      throw Violation("the graph after commit \(sequence) is not what it was")
    }
    let engine = try store.store.verify()
    guard engine.isClean else { throw Violation("\(engine.findings)") }
    let graph = GraphVerification(store.view(), store.schema, store.model.model).run()
    guard graph.isClean else { throw Violation("\(graph.findings)") }
    if context.operation % 8 == 0 { try goOn(store, behind: UInt64(known)) }
  }

  /// New objects get ids that no object had before.
  private func goOn(_ store: LogPersistentStore, behind last: UInt64) throws {
    let before = try GraphContent(store)
    let container = try program.container(store)
    let context = container.newContext()
    Firm(context: context).name = "afterwards"
    Member(context: context).email = "afterwards"
    Unit(context: context).title = "afterwards"
    try context.save()
    let after = try GraphContent(store)
    guard after.rows.count == before.rows.count + 3, after.links == before.links,
      before.rows.allSatisfy({ after.rows[$0.key] == $0.value })
    else { throw Violation("a save after the recovery changed another, or is gone") }
    for row in after.rows.keys where before.rows[row] == nil {
      if let birth = births[row], birth <= last { throw Violation("an id was given out twice") }
    }
  }

  package func isDuringRecovery(_ context: CrashContext) -> Bool { context.recoveries > 0 }
}
