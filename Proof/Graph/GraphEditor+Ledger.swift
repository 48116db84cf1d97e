import Perdure
import PerdureTestSupport

extension GraphEditor {
  /// Makes an edit. Parts that the model does not have yet are not changed.
  mutating func edit(_ edit: GraphCrashWorld.LedgerEdit) throws {
    switch edit {
    case .open: try open(name())
    case .resize: try any("Account")?["size"] = number(0..<9)
    case .annotate: try annotate()
    case .close: if let account = try any("Account") { context.delete(account) }
    case .succeed: try succeed()
    case .book: try book()
    case .correct: if version >= 2 { try any("Entry")?["amount"] = number(-50..<50) }
    case .strike: if version >= 2, let entry = try any("Entry") { context.delete(entry) }
    case .pair: try pair()
    }
  }

  private mutating func open(_ name: String) throws {
    let account = context.insertNewObject(forEntityName: "Account")
    account["name"] = name
    account["size"] = number(0..<9)
  }

  private mutating func annotate() throws {
    guard version >= 1, let account = try any("Account") else { return }
    account["note"] = number(0..<4) == 0 ? nil : "Note \(number(0..<5))"
    account["colour"] = ["red", "green", "blue"][number(0..<3)]
  }

  private mutating func succeed() throws {
    guard let account = try any("Account"), let name = account["name"] as? String else { return }
    context.delete(account)
    try open(name)
  }

  private mutating func book() throws {
    guard version >= 2 else { return }
    let entry = context.insertNewObject(forEntityName: "Entry")
    entry["number"] = number(0..<60)
    entry["amount"] = number(-50..<50)
    entry["account"] = try any("Account")
  }

  private mutating func pair() throws {
    guard version >= 4, let one = try any("Account"), let other = try any("Account") else { return }
    var peers = one["peers"] as? Set<ManagedObject> ?? []
    if peers.remove(other) == nil { peers.insert(other) }
    one["peers"] = peers
  }

  /// A name. There are so few names that two objects sometimes have the same one.
  private mutating func name() -> String { "Account \(number(0..<40))" }
}
