import Perdure
import PerdureTestSupport

/// Edits a graph at random, as a user would.
struct GraphEditor {
  let context: ManagedObjectContext
  let edits: [GraphCrashSubject.Edit]
  private(set) var random: SeededGenerator

  init(context: ManagedObjectContext, edits: [GraphCrashSubject.Edit], random: SeededGenerator) {
    (self.context, self.edits, self.random) = (context, edits, random)
  }

  /// A few edits, and a save.
  ///
  /// - Returns: False when there was nothing to save, or an edit broke a rule and the save was refused.
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
    switch random.pick(edits) {
    case .found: Firm(context: context).name = "firm \(Int.random(in: 0..<200, using: &random))"
    case .dissolve: if let firm = try any(Firm.self) { context.delete(firm) }
    case .divide: try divide(nil)
    case .subdivide: try divide(any(Unit.self))
    case .close: if let unit = try any(Unit.self) { context.delete(unit) }
    case .hire: try hire()
    case .dismiss: if let member = try any(Member.self) { context.delete(member) }
    case .move: try any(Member.self)?.firm = any(Firm.self)
    case .readdress: try any(Member.self)?.email = address()
    case .befriend: try befriend(true)
    case .quarrel: try befriend(false)
    }
  }

  private mutating func divide(_ parent: Unit?) throws {
    let unit = Unit(context: context)
    unit.title = "unit \(Int.random(in: 0..<9, using: &random))"
    unit.parent = parent
    unit.firm = try any(Firm.self)
  }

  private mutating func hire() throws {
    let member = Member(context: context)
    member.email = address()
    member.firm = try any(Firm.self)
  }

  private mutating func befriend(_ isFriend: Bool) throws {
    guard let one = try any(Member.self), let other = try any(Member.self) else { return }
    if isFriend { one.friends.insert(other) } else { one.friends.remove(other) }
  }

  /// So few that two have the same now and then.
  private mutating func address() -> String { "\(Int.random(in: 0..<40, using: &random))@example.org" }

  private mutating func any<Object: ManagedObject>(_ type: Object.Type) throws -> Object? {
    let all = try context.fetch(FetchRequest<Object>())
    return all.isEmpty ? nil : random.pick(all)
  }
}
