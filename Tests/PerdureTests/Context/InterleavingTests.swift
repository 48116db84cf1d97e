// Each of two contexts makes three edits, in every order of their edits and saves. A debug build
// runs a random part of these orders.
//
// The changes of each acknowledged save are replayed on a model of a few sets. At the end, the
// store must have exactly the model's state. Then no link is lost, no key is used twice, and no
// reference leads to a missing object.
//
// The two contexts are equivalent. Therefore each pair of programs is given to the contexts in one
// way only. Edits are not visible to other contexts before they are saved. If each context saves
// once, after three edits, only one number matters: the number of edits that the later context
// makes before the earlier context saves. Each such number is run with every order of the edits.
// All orders of turns are run with one order of the edits.

import Perdure
import PerdureModel
import PerdureTestSupport
import Testing

/// One kind of edit.
private enum Edit: Int, CaseIterable, Sendable {
  /// Deletes the company, which nullifies the references of its workers.
  case delete
  /// Adds the context's own worker to the company.
  case link
  /// Removes the shared worker from the company.
  case unlink
  /// Gives the context's own worker the key that the other context also uses.
  case key
  /// Adds the context's own worker to the project.
  case join

  /// All sequences of three different edits that satisfy a condition.
  static func programs(where holds: (Edit, Edit, Edit) -> Bool) -> [[Edit]] {
    allCases.flatMap { a in
      allCases.flatMap { b in
        allCases.compactMap { c in a != b && b != c && a != c && holds(a, b, c) ? [a, b, c] : nil }
      }
    }
  }

  /// All sequences of three edits out of delete, link, unlink and key.
  static let ordered = programs { $0 != .join && $1 != .join && $2 != .join }

  /// All sets of three edits, each in one order.
  static let sets = programs { $0.rawValue < $1.rawValue && $1.rawValue < $2.rawValue }
}

/// The identities of one company, its shared worker, one worker for each context, and a project.
private struct Scene {
  let company: ManagedObjectID
  let shared: ManagedObjectID
  let own: [ManagedObjectID]
  let project: ManagedObjectID
  let key: String

  var workers: [ManagedObjectID] { [shared] + own }

  /// The objects exist after the context is saved.
  init(_ context: ManagedObjectContext, key: String) {
    let company = context.company("C")
    let workers = ["shared", "first", "second"].map { context.worker($0) }
    let project = Project(context: context)
    workers[0].company = company
    self.company = company.objectID
    shared = workers[0].objectID
    own = [workers[1].objectID, workers[2].objectID]
    self.project = project.objectID
    self.key = key
  }
}

/// The state of a scene after the acknowledged saves.
private struct Expectation: Equatable {
  var companyExists = true
  var members: Set<ManagedObjectID>
  var keyHolder: ManagedObjectID?
  var joined: Set<ManagedObjectID> = []

  init(_ scene: Scene) {
    members = [scene.shared]
  }

  mutating func apply(_ edits: [Edit], by own: ManagedObjectID, _ scene: Scene) {
    for edit in edits {
      switch edit {
      case .delete: companyExists = false
      case .link: members.insert(own)
      case .unlink: members.remove(scene.shared)
      case .key: keyHolder = own
      case .join: joined.insert(own)
      }
    }
    if !companyExists { members = [] }
  }

  /// Reads the state from a new context, and checks each relationship at both ends.
  init(reading scene: Scene, in context: ManagedObjectContext) throws {
    let workers = try scene.workers.map { id in
      try #require(try context.existingObject(with: id) as? Employee)
    }
    let project = try #require(try context.existingObject(with: scene.project) as? Project)
    let company = try? context.existingObject(with: scene.company) as? Company
    companyExists = company != nil
    members = Set(workers.filter { $0.company != nil }.map(\.objectID))
    joined = Set(workers.filter { $0.projects.contains(project) }.map(\.objectID))
    let holders = workers.filter { $0.email == scene.key }.map(\.objectID)
    keyHolder = holders.first
    #expect(holders.count <= 1)
    #expect(workers.allSatisfy { $0.company === company } || members.count < workers.count)
    #expect(Set(company?.workers.objectIDs ?? []) == members)
    #expect(company?.workerCount ?? 0 == members.count)
    #expect(Set(project.members.objectIDs) == joined && project.memberCount == joined.count)
    for worker in workers { #expect(worker.company?.isDeleted != true) }
  }
}

/// One of the two contexts.
private final class Actor {
  let context: ManagedObjectContext
  let scene: Scene
  let own: ManagedObjectID
  let retries: Bool
  private let company: Company
  private let shared: Employee
  private let worker: Employee
  private let project: Project
  private var unsaved: [Edit] = []
  /// Whether a save was refused.
  private(set) var wasRefused = false

  init(_ container: PersistentContainer, _ scene: Scene, _ number: Int, retries: Bool) throws {
    context = container.newContext()
    self.scene = scene
    own = scene.own[number]
    self.retries = retries
    company = try #require(try context.existingObject(with: scene.company) as? Company)
    shared = try #require(try context.existingObject(with: scene.shared) as? Employee)
    worker = try #require(try context.existingObject(with: own) as? Employee)
    project = try #require(try context.existingObject(with: scene.project) as? Project)
  }

  func perform(_ edit: Edit) {
    switch edit {
    case .delete: context.delete(company)
    case .link:
      // A context that sees the company's deletion cannot link its worker to it.
      if (try? context.existingObject(with: scene.company)) == nil { return }
      worker.company = company
    case .unlink: shared.company = nil
    case .key: worker.email = scene.key
    case .join: worker.projects.insert(project)
    }
    unsaved.append(edit)
  }

  /// Saves. After a refusal, either refreshes and saves again, or rolls back.
  func save(_ expectation: inout Expectation) {
    if tryToSave(&expectation) { return }
    wasRefused = true
    if retries {
      context.refreshAllObjects()
      if tryToSave(&expectation) { return }
    }
    context.rollback()
    unsaved = []
  }

  private func tryToSave(_ expectation: inout Expectation) -> Bool {
    do throws(PerdureError) {
      try context.save()
    } catch {
      #expect(error.code == .mergeConflict || error.code == .constraintConflict, "\(error)")
      #expect(!error.conflicts.isEmpty)
      return false
    }
    expectation.apply(unsaved, by: own, scene)
    unsaved = []
    return true
  }
}

/// Two programs, and the order of their steps.
private struct Play {
  enum Step {
    case edit(Edit)
    case save
  }

  /// For each context, the operations of each of its turns.
  let programs: [[[Step]]]
  /// The context of each turn.
  let turns: [Int]

  /// Each edit is a turn, and one save is the last turn.
  static func savedAtOnce(_ edits: [[Edit]], _ turns: [Int]) -> Play {
    Play(programs: edits.map { $0.map { [.edit($0)] } + [[.save]] }, turns: turns)
  }

  /// Each edit is a turn with its save.
  static func savedEach(_ edits: [[Edit]], _ turns: [Int]) -> Play {
    Play(programs: edits.map { $0.map { [.edit($0), .save] } }, turns: turns)
  }

  /// All interleavings of two sequences of the same length.
  static func merges(_ length: Int) -> [[Int]] {
    (0..<(1 << (2 * length))).compactMap { bits in
      guard bits.nonzeroBitCount == length else { return nil }
      return (0..<(2 * length)).map { bits >> $0 & 1 }
    }
  }

  /// One interleaving for each choice of the context that saves first, and for each number of the
  /// other context's edits before that save.
  static let savesFirst: [[Int]] = [0, 1].flatMap { first in
    (0...3).map { count in
      let before = [Int](repeating: 1 - first, count: count) + [Int](repeating: first, count: 4)
      return before + [Int](repeating: 1 - first, count: 4 - count)
    }
  }

  /// - Returns: The state that the store must show, and whether a save was refused.
  func run(
    _ container: PersistentContainer, _ scene: Scene, retries: Bool
  ) throws -> (expectation: Expectation, wasRefused: Bool) {
    var expectation = Expectation(scene)
    let actors = try (0..<2).map { try Actor(container, scene, $0, retries: retries) }
    var positions = [0, 0]
    for turn in turns {
      for step in programs[turn][positions[turn]] {
        switch step {
        case .edit(let edit): actors[turn].perform(edit)
        case .save: actors[turn].save(&expectation)
        }
      }
      positions[turn] += 1
    }
    return (expectation, actors.contains { $0.wasRefused })
  }
}

@Suite("Interleaved edits and saves of two contexts")
struct InterleavingTests {
  /// Runs the plays of each pair of programs on one store of the engine. In the first run, refused
  /// saves are not retried. Plays with a refused save then run again, with a retry.
  private func runAll(
    _ programs: [[Edit]], _ random: SeededGenerator,
    _ plays: (_ first: [Edit], _ second: [Edit]) -> [Play]
  ) throws {
    let container = try Staff.container(.engine)
    var random = random
    for first in programs.indices {
      for second in first..<programs.count {
        let plays = LongRun.cases(plays(programs[first], programs[second]), &random)
        let refused = try run(plays, in: container, retries: false)
        _ = try run(refused, in: container, retries: true)
      }
    }
  }

  /// - Returns: The plays in which a save was refused.
  private func run(_ plays: [Play], in container: PersistentContainer, retries: Bool) throws -> [Play] {
    // Scenes are created and checked together, because separate creation and checks take most of
    // the time.
    let maker = container.newContext()
    let number = try maker.count(for: FetchRequest<Employee>())
    let scenes = plays.indices.map { Scene(maker, key: "key \(number + $0)") }
    try maker.save()
    let results = try zip(plays, scenes).map { try $0.run(container, $1, retries: retries) }
    let reader = container.newContext()
    for (position, scene) in scenes.enumerated() {
      let found = try Expectation(reading: scene, in: reader)
      #expect(found == results[position].expectation, "\(plays[position]), retries \(retries)")
    }
    return zip(plays, results).filter { $1.wasRefused }.map { $0.0 }
  }

  @Test("Three edits of two contexts with a save for each edit are correct in all interleavings")
  func savesAfterEachEdit() throws {
    let turns = Play.merges(3)
    try runAll(Edit.ordered, .forTest("interleaved saves")) { first, second in
      turns.map { .savedEach([first, second], $0) }
    }
  }

  @Test("Three edits of two contexts with one save for all are correct in all interleavings")
  func savesAtTheEnd() throws {
    try runAll(Edit.ordered, .forTest("interleaved edits")) { first, second in
      Play.savesFirst.map { .savedAtOnce([first, second], $0) }
    }
  }

  @Test(
    "Any three of five edits of two contexts, with one save or three, are correct in all interleavings"
  )
  func drawn() throws {
    var random = SeededGenerator.forTest("interleavings")
    let (ofThree, ofFour) = (Play.merges(3), Play.merges(4))
    try runAll(Edit.sets, .forTest("drawn interleavings")) { first, second in
      func edits() -> [[Edit]] { [first.shuffled(using: &random), second.shuffled(using: &random)] }
      return ofThree.map { .savedEach(edits(), $0) } + ofFour.map { .savedAtOnce(edits(), $0) }
    }
  }
}
