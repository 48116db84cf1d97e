import Perdure
import PerdureTestSupport

extension GraphEditor {
  mutating func edit(_ edit: GraphCrashWorld.GuildEdit) throws {
    switch edit {
    case .found: Firm(context: context).name = "firm \(number(0..<200))"
    case .dissolve: if let firm = try any(Firm.self) { context.delete(firm) }
    case .divide: try divide(nil)
    case .subdivide: try divide(any(Unit.self))
    case .close: if let unit = try any(Unit.self) { context.delete(unit) }
    case .hire: try hire(address())
    case .dismiss: if let member = try any(Member.self) { context.delete(member) }
    case .move: try any(Member.self)?.firm = any(Firm.self)
    case .readdress: try any(Member.self)?.email = address()
    case .befriend: try befriend(true)
    case .quarrel: try befriend(false)
    case .succeed: try succeed()
    case .exchange: try exchange()
    case .appoint: try appoint()
    case .rearrange: try rearrange()
    case .resign: try resign()
    }
  }

  private mutating func divide(_ parent: Unit?) throws {
    let unit = Unit(context: context)
    unit.title = "unit \(number(0..<9))"
    unit.parent = parent
    unit.firm = try any(Firm.self)
  }

  private mutating func hire(_ email: String) throws {
    let member = Member(context: context)
    member.email = email
    member.firm = try any(Firm.self)
  }

  private mutating func befriend(_ isFriend: Bool) throws {
    guard let one = try any(Member.self), let other = try any(Member.self) else { return }
    if isFriend { one.friends.insert(other) } else { one.friends.remove(other) }
  }

  private mutating func succeed() throws {
    guard let member = try any(Member.self) else { return }
    let email = member.email
    context.delete(member)
    try hire(email)
  }

  private mutating func exchange() throws {
    guard let one = try any(Member.self), let other = try any(Member.self) else { return }
    (one.email, other.email) = (other.email, one.email)
  }

  private mutating func appoint() throws {
    guard let firm = try any(Firm.self), let member = try any(Member.self), !firm.board.contains(member)
    else {
      return
    }
    firm.board.insert(member, at: number(0..<firm.board.count + 1))
  }

  private mutating func rearrange() throws {
    if let firm = try any(Firm.self) { rearrange(firm.board) }
    if let unit = try any(Unit.self) { rearrange(unit.children) }
  }

  private mutating func rearrange<Object: ManagedObject>(_ order: OrderedToMany<Object>) {
    if !order.isEmpty { order.move(from: number(0..<order.count), to: number(0..<order.count)) }
  }

  private mutating func resign() throws {
    guard let firm = try any(Firm.self), !firm.board.isEmpty else { return }
    firm.board.remove(at: number(0..<firm.board.count))
  }

  /// An address. There are so few addresses that two objects sometimes have the same one.
  private mutating func address() -> String { "\(number(0..<40))@example.org" }
}
