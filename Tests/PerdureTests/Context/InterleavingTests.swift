// Two contexts, three edits each, and every order in which their edits and saves can follow one another.
//
// What each acknowledged save did is replayed on a model of a few dictionaries. At the end the store must
// show exactly the model's state: so no link is lost, no key is taken twice, and no reference leads to
// nothing.

import Perdure
import PerdureModel
import PerdureTestSupport
import Testing

/// One kind of edit.
private enum Edit: Int, CaseIterable, Sendable {
  /// Delete the company; its workers are nullified.
  case delete
  /// Put the context's own worker into the company.
  case link
  /// Take the shared worker out of the company.
  case unlink
  /// Give the context's own worker the key that the other one wants as well.
  case key
  /// Put the context's own worker into the project.
  case join

  /// The ways to take three of them; the order in which they are done is drawn.
  static let triples: [[Edit]] = {
    var triples: [[Edit]] = []
    for a in 0..<allCases.count {
      for b in (a + 1)..<allCases.count {
        for c in (b + 1)..<allCases.count { triples.append([allCases[a], allCases[b], allCases[c]]) }
      }
    }
    return triples
  }()
}

/// The identities of one company, its shared worker, one worker for each context, and a project.
private struct Scene {
  let company: ManagedObjectID
  let shared: ManagedObjectID
  let own: [ManagedObjectID]
  let project: ManagedObjectID
  let key: String

  var workers: [ManagedObjectID] { [shared] + own }

  init(_ container: PersistentContainer, key: String) throws {
    let context = container.newContext()
    let company = context.company("C")
    let workers = ["shared", "first", "second"].map { context.worker($0) }
    let project = Project(context: context)
    workers[0].company = company
    try context.save()
    self.company = company.objectID
    shared = workers[0].objectID
    own = [workers[1].objectID, workers[2].objectID]
    self.project = project.objectID
    self.key = key
  }
}

/// What the acknowledged saves have made of a scene.
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

  /// What a new context sees. Looks at each relationship from both sides.
  init(reading scene: Scene, in container: PersistentContainer) throws {
    let context = container.newContext()
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
      // Whoever sees that the company is gone has nothing to link to.
      if (try? context.existingObject(with: scene.company)) == nil { return }
      worker.company = company
    case .unlink: shared.company = nil
    case .key: worker.email = scene.key
    case .join: worker.projects.insert(project)
    }
    unsaved.append(edit)
  }

  /// Saves; when that is refused, either on top of the newest state or not at all.
  func save(_ expectation: inout Expectation) {
    if tryToSave(&expectation) { return }
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

@Suite("Two contexts at once")
struct InterleavingTests {
  private enum Step {
    case edit(Edit)
    case save
  }

  /// Every way to merge two sequences of a length: for each step, whose turn it is.
  private static func merges(_ length: Int) -> [[Int]] {
    (0..<(1 << (2 * length))).compactMap { bits in
      guard bits.nonzeroBitCount == length else { return nil }
      return (0..<(2 * length)).map { bits >> $0 & 1 }
    }
  }

  /// Runs two programs in one order of turns.
  private func run(
    _ container: PersistentContainer, _ programs: [[[Step]]], _ turns: [Int], key: String, retries: Bool
  ) throws {
    let scene = try Scene(container, key: key)
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
    let found = try Expectation(reading: scene, in: container)
    #expect(found == expectation, "programs \(programs), turns \(turns), retries \(retries)")
  }

  private func runAll(
    _ kind: StoreKind, _ program: ([Edit]) -> [[Step]], length: Int, retries: Bool
  ) throws {
    let stores = try StoreSupply(kind)
    var random = SeededGenerator.forTest("interleavings")
    var number = 0
    for first in Edit.triples {
      for second in Edit.triples {
        for turns in Self.merges(length) {
          number += 1
          // The engine gets every fourth: the orders are the same, and a run takes longer.
          if kind == .engine, number % 4 != 0 { continue }
          let programs = [first, second].map { program($0.shuffled(using: &random)) }
          try run(stores.next(), programs, turns, key: "key \(number)", retries: retries)
        }
      }
    }
  }

  @Test(
    "Three edits and a save each, in every order", arguments: StoreKind.allCases, [false, true])
  func savesAtTheEnd(_ kind: StoreKind, _ retries: Bool) throws {
    try runAll(
      kind, { $0.map { [.edit($0)] } + [[.save]] }, length: 4, retries: retries)
  }

  @Test("Three saved edits each, in every order", arguments: StoreKind.allCases, [false, true])
  func savesAfterEachEdit(_ kind: StoreKind, _ retries: Bool) throws {
    try runAll(kind, { $0.map { [.edit($0), .save] } }, length: 3, retries: retries)
  }

  /// Containers for scene after scene: the naive store is slow when it is full, the engine when it is opened.
  private final class StoreSupply {
    private let kind: StoreKind
    private let model: ManagedObjectModel
    private let schema: StoreSchema
    private var shared: PersistentContainer?

    init(_ kind: StoreKind) throws {
      self.kind = kind
      model = try ManagedObjectModel(Staff.entities)
      schema = StoreSchema(try StoredModel.initial(for: model))
    }

    func next() throws -> PersistentContainer {
      if kind == .engine, let shared { return shared }
      let schema = schema
      let container = PersistentContainer(
        name: "Staff", model: model, classes: Staff.classes, description: .inMemory,
        factory: kind == .engine ? .standard : StoreFactory { _, _ in ReferenceStore(schema) })
      try container.loadPersistentStores()
      shared = container
      return container
    }
  }
}
