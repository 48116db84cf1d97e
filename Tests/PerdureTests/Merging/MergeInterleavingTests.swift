// Each of two contexts makes three edits of one object, with every policy, with and without a rule
// for a property. The edits are interleaved in every way, or in some ways in a debug build. A long
// run has every order of each context's edits; other runs have a random order. A simple model
// defines the result of each merge.

import Perdure
import PerdureModel
import PerdureTestSupport
import Testing

/// One kind of edit of the object.
private enum Edit: Int, CaseIterable, Sendable {
  /// Both contexts set the same name.
  case name
  /// Each context sets a different salary.
  case salary
  /// Each context sets a different company.
  case company
  /// Each context adds a different friend.
  case friend
  /// Both contexts remove the initial friend.
  case unfriend
  case delete

  /// Every set of three edits.
  static let programs: [[Edit]] = allCases.flatMap { a in
    allCases.flatMap { b in
      allCases.compactMap { c in a.rawValue < b.rawValue && b.rawValue < c.rawValue ? [a, b, c] : nil }
    }
  }
}

/// The compared state of the object.
private struct Content: Equatable {
  /// The value of each column, by the edit that sets the column. 0 is the initial value. For a
  /// salary or a company, the value is the number (1 or 2) of the context that set it. The value of
  /// the new name is 2.
  var columns: [Edit: Int] = [.name: 0, .salary: 0, .company: 0]
  /// The numbers of the friends: 0 and 1 for those that the contexts add, 2 for the initial friend.
  var friends: Set<Int> = [2]
}

/// One of the policies, sometimes with a rule for one property: the greater of two salaries is
/// saved.
private struct PlayedPolicy: Sendable, CustomTestStringConvertible {
  let standard: StandardPolicy
  let hasRule: Bool

  static let all = [false, true].flatMap { hasRule in
    StandardPolicy.allCases.map { PlayedPolicy(standard: $0, hasRule: hasRule) }
  }

  var policy: MergePolicy {
    hasRule ? standard.policy.merging("salary", of: "Employee", by: .maximum) : standard.policy
  }

  var testDescription: String { hasRule ? "\(standard), the greater salary" : "\(standard)" }
}

/// A model of a store with one object.
private struct Model: Equatable {
  var content: Content? = Content()
  /// The numbers of writes of the row and of its links.
  var (rowVersion, linkVersion) = (0, 0)

  /// - Returns: Whether the save was refused.
  mutating func save(_ base: Model, _ local: Local, _ policy: PlayedPolicy) -> Bool {
    if local.isEmpty { return false }
    let before = content
    let isRefused = local.isDeleted ? saveDeletion(base, policy) : saveChanges(base, local, policy)
    if content?.columns != before?.columns { rowVersion += 1 }
    if content?.friends != before?.friends { linkVersion += 1 }
    return isRefused
  }

  private mutating func saveDeletion(_ base: Model, _ policy: PlayedPolicy) -> Bool {
    if content != nil, rowVersion != base.rowVersion || linkVersion != base.linkVersion {
      switch policy.standard {
      case .error: return true
      case .mergeByPropertyStoreTrump, .rollback: return false
      case .mergeByPropertyObjectTrump, .overwrite: break
      }
    }
    content = nil
    return false
  }

  private mutating func saveChanges(_ base: Model, _ local: Local, _ policy: PlayedPolicy) -> Bool {
    guard let old = base.content else { return false }
    // A property set to its earlier value is not changed.
    let changed = local.columns.filter { old.columns[$0.key] != $0.value }
    guard var merged = content else { return saveToNothing(old, local, changed, policy) }
    if local.columns.isEmpty || rowVersion == base.rowVersion {
      merged.columns.merge(local.columns) { $1 }
      // The save writes the row, even with the same content.
      if !local.columns.isEmpty, merged.columns == content?.columns { rowVersion += 1 }
    } else if !changed.isEmpty || !local.friends.isEmpty || !local.unfriended.isEmpty {
      if policy.standard == .rollback { return false }
      var byRule: [Edit: Int] = [:]
      for (edit, value) in changed {
        let isContested = merged.columns[edit] != old.columns[edit] && merged.columns[edit] != value
        if isContested, policy.hasRule, edit == .salary {
          byRule[edit] = max(value, merged.columns[edit] ?? 0)
        } else if isContested, policy.standard == .error {
          return true
        } else if !isContested || policy.standard != .mergeByPropertyStoreTrump {
          merged.columns[edit] = value
        }
      }
      if policy.standard == .overwrite { merged.columns = old.columns.merging(changed) { $1 } }
      merged.columns.merge(byRule) { $1 }
    }
    merged.friends = merged.friends.union(local.friends).subtracting(local.unfriended)
    content = merged
    return false
  }

  private mutating func saveToNothing(
    _ old: Content, _ local: Local, _ changed: [Edit: Int], _ policy: PlayedPolicy
  ) -> Bool {
    if changed.isEmpty, local.friends.isEmpty { return false }
    switch policy.standard {
    case .error: return true
    case .mergeByPropertyStoreTrump, .rollback: return false
    case .mergeByPropertyObjectTrump, .overwrite:
      if local.columns.isEmpty { return true }
      content = Content(columns: old.columns.merging(changed) { $1 }, friends: local.friends)
      return false
    }
  }
}

/// The unsaved changes of a context.
private struct Local {
  var columns: [Edit: Int] = [:]
  var friends: Set<Int> = []
  var unfriended: Set<Int> = []
  var isDeleted = false

  var isEmpty: Bool { columns.isEmpty && friends.isEmpty && unfriended.isEmpty && !isDeleted }
}

/// The objects of one play: the edited object, a company and a friend for each context, and an
/// initial friend.
private struct Scene {
  let object: ManagedObjectID
  let companies: [ManagedObjectID]
  let friends: [ManagedObjectID]

  init(_ context: ManagedObjectContext) {
    let old = context.worker("old")
    let others = (0..<3).map { context.worker("friend \($0)") }
    old.friends.insert(others[2])
    object = old.objectID
    companies = (0..<2).map { context.company("\($0)").objectID }
    friends = others.map(\.objectID)
  }

  func read(_ context: ManagedObjectContext) throws -> Content? {
    guard let object = (try? context.existingObject(with: object)) as? Employee, !object.isDeleted else {
      return nil
    }
    let names = ["old": 0, "new": 2]
    return Content(
      columns: [
        .name: try #require(names[object.name]), .salary: object.salary == 1000 ? 0 : Int(object.salary),
        .company: object.company.flatMap { companies.firstIndex(of: $0.objectID) }.map { $0 + 1 } ?? 0,
      ], friends: Set(friends.indices.filter { object.friends.objectIDs.contains(friends[$0]) }))
  }
}

/// One of the two contexts.
private struct Actor {
  let context: ManagedObjectContext
  let number: Int
  let scene: Scene
  var base = Model()
  var local = Local()

  mutating func perform(_ edit: Edit) throws {
    guard let object = (try? context.existingObject(with: scene.object)) as? Employee, !object.isDeleted
    else {
      return
    }
    switch edit {
    case .name: object.name = "new"
    case .salary: object.salary = Int64(number + 1)
    case .company: object.company = try context.existingObject(with: scene.companies[number]) as? Company
    case .friend:
      let friend = try #require(try context.existingObject(with: scene.friends[number]) as? Employee)
      object.friends.insert(friend)
    case .unfriend:
      object.friends.remove(try #require(try context.existingObject(with: scene.friends[2]) as? Employee))
    case .delete: context.delete(object)
    }
    switch edit {
    case .name: local.columns[edit] = 2
    case .salary, .company: local.columns[edit] = number + 1
    case .friend: if base.content?.friends.contains(number) == false { local.friends.insert(number) }
    case .unfriend: if base.content?.friends.contains(2) == true { local.unfriended.insert(2) }
    case .delete: local.isDeleted = true
    }
  }

  mutating func save(_ model: inout Model, _ policy: PlayedPolicy, _ words: String) throws {
    let isNothing = local.isEmpty
    let isRefused = model.save(base, local, policy)
    local = Local()
    do throws(PerdureError) {
      try context.save()
      #expect(!isRefused, "\(words)")
    } catch {
      #expect(isRefused && error.code == .mergeConflict, "\(words): \(error)")
      context.rollback()
    }
    if isNothing, !isRefused { return }
    base = model
    #expect(try scene.read(context) == model.content, "\(words): the context")
  }
}

@Suite("Merging: interleaved edits and saves of two contexts")
struct MergeInterleavingTests {
  /// Every interleaving of three turns of each context.
  private static let merges: [[Int]] = (0..<64).compactMap { bits in
    bits.nonzeroBitCount == 3 ? (0..<6).map { bits >> $0 & 1 } : nil
  }

  /// Runs plays on one store. Their scenes are created and checked together.
  private func run(
    _ policy: PlayedPolicy, _ plays: [(programs: [[Edit]], turns: [Int], savesEach: Bool)]
  ) throws {
    let container = try Staff.container(.engine)
    let maker = container.newContext()
    let scenes = plays.map { _ in Scene(maker) }
    try maker.save()
    var models: [Model] = []
    for (play, scene) in zip(plays, scenes) {
      let programs = play.programs.map { $0.map(\.rawValue) }
      let words = "\(policy.testDescription) \(programs) \(play.turns) \(play.savesEach)"
      var model = Model()
      var actors = (0..<2).map { number in
        let context = container.newContext()
        context.mergePolicy = policy.policy
        return Actor(context: context, number: number, scene: scene)
      }
      var positions = [0, 0]
      for turn in play.turns {
        try actors[turn].perform(play.programs[turn][positions[turn]])
        positions[turn] += 1
        if play.savesEach || positions[turn] == 3 { try actors[turn].save(&model, policy, words) }
      }
      models.append(model)
    }
    let reader = container.newContext()
    for (position, scene) in scenes.enumerated() {
      #expect(try scene.read(reader) == models[position].content, "\(plays[position])")
    }
    try expectWhole(container)
  }

  /// The orders of three edits.
  private static let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]

  /// Returns plays for all interleavings, or for a part of them in a debug build. Each play has a
  /// random order of each program's edits, and random positions of the saves. A long run has all
  /// orders and positions: 1,440 plays.
  private func plays(
    _ first: [Edit], _ second: [Edit], _ random: inout SeededGenerator
  ) -> [(programs: [[Edit]], turns: [Int], savesEach: Bool)] {
    LongRun.cases(Self.merges, &random).flatMap {
      turns -> [(programs: [[Edit]], turns: [Int], savesEach: Bool)] in
      if !LongRun.isLong {
        let programs = [first.shuffled(using: &random), second.shuffled(using: &random)]
        return [(programs, turns, Bool.random(using: &random))]
      }
      return Self.orders.flatMap { one in
        Self.orders.flatMap { other in
          [false, true].map { ([one.map { first[$0] }, other.map { second[$0] }], turns, $0) }
        }
      }
    }
  }

  @Test(
    "Three of six edits in each of two contexts merge as in a simple model, with every policy",
    arguments: PlayedPolicy.all)
  fileprivate func all(_ policy: PlayedPolicy) throws {
    var random = SeededGenerator.forTest("merge interleavings")
    for (position, first) in Edit.programs.enumerated() {
      var all: [(programs: [[Edit]], turns: [Int], savesEach: Bool)] = []
      for second in Edit.programs[position...] {
        all += plays(first, second, &random)
        if LongRun.isLong {
          try run(policy, all)
          all = []
        }
      }
      if !all.isEmpty { try run(policy, all) }
    }
  }
}
