import Perdure
import PerdureTestSupport

/// Edits a graph at random, like a program that uses the graph.
struct GraphEditor {
  let context: ManagedObjectContext
  let world: GraphCrashWorld
  /// The number of the model that the store has.
  let version: Int
  var random: SeededGenerator

  init(context: ManagedObjectContext, world: GraphCrashWorld, version: Int, random: SeededGenerator) {
    (self.context, self.world, self.version, self.random) = (context, world, version, random)
  }

  /// Makes a few edits, and saves them.
  ///
  /// - Returns: False if there was nothing to save, or if a uniqueness constraint refused the save
  ///   and the edits were rolled back.
  mutating func save() throws -> Bool {
    for _ in 0..<Int.random(in: 1...4, using: &random) { try edit() }
    guard context.hasChanges else { return false }
    do {
      try context.save()
      return true
    } catch {
      guard error.code == .constraintConflict else { throw error }
      context.rollback()
      return false
    }
  }

  private mutating func edit() throws {
    switch world {
    case .guild(let edits): try edit(random.pick(edits))
    case .market(let edits): try edit(random.pick(edits))
    case .ledger(let edits): try edit(random.pick(edits))
    }
  }

  mutating func any<Object: ManagedObject>(_ type: Object.Type) throws -> Object? {
    let all = try context.fetch(FetchRequest<Object>())
    return all.isEmpty ? nil : random.pick(all)
  }

  mutating func any(_ entity: String) throws -> ManagedObject? {
    let all = try context.fetch(FetchRequest<ManagedObject>(entityName: entity))
    return all.isEmpty ? nil : random.pick(all)
  }

  mutating func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }
}
