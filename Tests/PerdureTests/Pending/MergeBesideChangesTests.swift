// Merges that skip the unsaved changes, compared with merges that visit each of them.

import PerdureModel
import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Merges into a context with unsaved changes")
struct MergeBesideChangesTests {
  @Test("A merge has the same result whether it visits no unsaved change or every unsaved change")
  func likeFullMerge() throws {
    var random = SeededGenerator.forTest("merges beside changes")
    var counts = MergeScene.Counts()
    let sceneCount = LongRun.count(40, of: 20)
    var number = 0
    // Some models have few merges of one kind, so scenes are added until the test compares enough.
    while number < sceneCount || !counts.areEnough && number < sceneCount + 400 {
      let scene = try MergeScene(SeededGenerator(seed: random.next()))
      try scene.run()
      counts += scene.counts
      number += 1
    }
    #expect(counts.areEnough, "\(counts)")
  }

  @Test("A merge of a removal keeps the layer only if no unsaved change can refer to the removed object")
  func removals() throws {
    let container = try Staff.container(.engine)
    let (here, there) = (container.newContext(), container.newContext())
    here.automaticallyMergesChangesFromParent = true
    let (ada, acme, spare) = (here.worker("Ada"), Company(context: here), Company(context: here))
    (acme.name, spare.name) = ("Acme", "Spare")
    let (department, project, address) = (
      Department(context: here), Project(context: here), Address(context: here)
    )
    ada.address = address
    try here.save()
    ada.company = acme
    // The reference is set back to its saved value, so the row still refers to the address. The
    // rule `.noAction` does not clear the reference.
    ada.address = nil
    ada.address = address
    let request = FetchRequest<Employee>(predicate: try FetchPredicate(format: "salary == 1000"))
    // Relationships without inverse lead from the entity of Ada to that of the project.
    let cases: [(ManagedObject, isKept: Bool)] = [
      (department, true), (spare, true), (address, false), (project, false), (acme, false),
    ]
    for (object, isKept) in cases {
      #expect(try here.fetch(request) == [ada])
      let builder = try #require(here.core.reading.layerFollower.contextLayer).builder
      there.refreshAllObjects()
      there.delete(try there.existingObject(with: object.objectID))
      try there.save()
      #expect(try here.fetch(request) == [ada])
      #expect(
        (here.core.reading.layerFollower.contextLayer?.builder === builder) == isKept, "\(object.objectID)")
      #expect(object.isDeleted)
      try expectLayer(here)
    }
    #expect(ada.company == nil)
  }
}

/// Two contexts on a random model. One merges the saves of the other.
private final class MergeScene {
  struct Counts {
    var quick = 0
    var quickWithRemovals = 0
    var full = 0

    var areEnough: Bool { quick > 20 && quickWithRemovals > 5 && full > 20 }

    static func += (left: inout Counts, right: Counts) {
      left.quick += right.quick
      left.quickWithRemovals += right.quickWithRemovals
      left.full += right.full
    }
  }

  private let model: RandomModel
  private var random: SeededGenerator
  private let container: PersistentContainer
  private let here: ManagedObjectContext
  private let there: ManagedObjectContext
  private var trace: [String] = []
  private(set) var counts = Counts()

  init(_ random: SeededGenerator) throws {
    self.random = random
    var model = RandomModel(&self.random, rules: [.cascade, .deny, .noAction])
    if self.random.chance(50) { model.order(&self.random) }
    self.model = model
    container = PersistentContainer(
      name: "Merges", model: try ManagedObjectModel(model.descriptions), classes: [], description: .inMemory)
    try container.loadPersistentStores()
    (here, there) = (container.newContext(), container.newContext())
  }

  func run() throws {
    for _ in 0..<30 { insert(there) }
    for _ in 0..<20 { edit(there) }
    save(there)
    here.automaticallyMergesChangesFromParent = true
    for _ in 0..<20 {
      for _ in 0..<Int.random(in: 0...3, using: &random) { edit(here) }
      here.processPendingChanges()
      if !here.core.pending.isEmpty { _ = try here.core.reading.layerFollower.shownView() }
      there.refreshAllObjects()
      for _ in 0..<Int.random(in: 1...2, using: &random) { edit(there) }
      let removes = there.deletedObjects.isEmpty == false
      guard save(there) else { continue }
      try merge(removes: removes)
      if random.chance(15) { here.rollback() }
    }
  }

  private func merge(removes: Bool) throws {
    let layer = here.core.reading.layerFollower.contextLayer
    here.processPendingChanges()
    guard let layer, here.core.reading.layerFollower.contextLayer?.builder === layer.builder,
      layer.builder.base === here.core.viewState.view
    else {
      counts.full += 1
      return
    }
    counts.quick += 1
    if removes { counts.quickWithRemovals += 1 }
    try expectLayer(here)
    let quick = try content()
    here.core.editing.advancing.show(here.core.viewState.view)
    here.processPendingChanges()
    let full = try content()
    for (name, value) in full {
      #expect(quick[name] == value, "\(name), after\n\(model.text)\n\(trace.joined(separator: "\n"))")
    }
    #expect(quick.count == full.count)
    try expectLayer(here)
  }

  /// All values that the context shows, each with a description as its key.
  private func content() throws -> [String: String] {
    findLeftBehind()
    var content: [String: String] = [:]
    for object in objects(here) {
      content["\(object.objectID) is deleted"] = "\(object.isDeleted)"
      let shape = here.core.graph.shape(of: object.reference)
      for relationship in shape.relationships {
        let targets = here.core.reading.links.targets(of: object.reference, relationship)
        let shown = relationship.order == nil ? targets.sorted { $0.rawValue < $1.rawValue } : targets
        content["\(object.objectID).\(relationship.name)"] = "\(shown.map(\.rawValue))"
        content["\(object.objectID).\(relationship.name) has"] =
          "\(here.core.reading.links.targetCount(of: object.reference, relationship))"
      }
    }
    return content
  }

  /// The context detects a reference that `.noAction` left to a deleted object only when it reads
  /// the reference. A merge that visits all changes discards the detected references.
  private func findLeftBehind() {
    for object in objects(here) {
      for relationship in here.core.graph.shape(of: object.reference).columns {
        guard let target = here.core.reading.rows.column(object.reference, relationship.slot) else {
          continue
        }
        _ = here.core.editing.linkEditor.isLeftBehind(target, at: relationship)
      }
    }
  }

  // MARK: Edits

  private func objects(_ context: ManagedObjectContext) -> [ManagedObject] {
    let roots = model.entities.indices.filter { model.entities[$0].parent == nil }
    let fetched = roots.flatMap {
      (try? context.fetch(FetchRequest<ManagedObject>(entityName: model.entities[$0].name))) ?? []
    }
    return fetched.sorted { $0.reference.rawValue < $1.reference.rawValue }
  }

  private func insert(_ context: ManagedObjectContext) {
    let object = context.insertNewObject(forEntityName: model.entities[random.pick(model.concrete)].name)
    note(context, "inserts \(object.reference)")
  }

  private func edit(_ context: ManagedObjectContext) {
    let all = objects(context)
    guard let object = all.randomElement(using: &random), random.chance(85) else { return insert(context) }
    if random.chance(20) {
      note(context, "deletes \(object.reference)")
      return context.delete(object)
    }
    let entity = model.entities.firstIndex { $0.name == object.entity.name }!
    guard let end = model.ends(of: entity).randomElement(using: &random), random.chance(80) else {
      return object.setValue(Int64.random(in: 0..<9, using: &random), forKey: "number")
    }
    connect(object, end, to: all, context)
  }

  private func connect(
    _ object: ManagedObject, _ end: RandomEnd, to all: [ManagedObject], _ context: ManagedObjectContext
  ) {
    let targets = all.filter { target in
      model.isKind(model.entities.firstIndex { $0.name == target.entity.name }!, of: end.destination)
    }
    guard let target = targets.randomElement(using: &random) else { return }
    note(context, "\(object.reference).\(end.name) and \(target.reference)")
    guard end.isToMany else {
      // Sometimes sets the property back to its earlier value.
      let was = object.value(forKey: end.name)
      object.setValue(random.chance(25) ? nil : target, forKey: end.name)
      if random.chance(20) { object.setValue(was, forKey: end.name) }
      return
    }
    if end.isOrdered {
      let members = object.mutableOrderedSetValue(forKey: end.name)
      if members.contains(target) { members.remove(target) } else { members.insert(target, at: 0) }
    } else {
      let members = object.mutableSetValue(forKey: end.name)
      if members.contains(target) { members.remove(target) } else { members.insert(target) }
    }
  }

  /// - Returns: Whether something was saved.
  @discardableResult
  private func save(_ context: ManagedObjectContext) -> Bool {
    guard context.hasChanges else { return false }
    do {
      try context.save()
      note(context, "is saved")
      return true
    } catch {
      note(context, "is not saved")
      context.rollback()
      return false
    }
  }

  private func note(_ context: ManagedObjectContext, _ text: String) {
    trace.append("\(context === here ? "here" : "there") \(text)")
  }
}
