import FoundationEssentials
import Perdure
import PerdureTestSupport

extension GraphEditor {
  mutating func edit(_ edit: GraphCrashWorld.MarketEdit) throws {
    switch edit {
    case .found: Market(context: context).name = name()
    case .rename: try any(Market.self)?.name = name()
    case .dissolve: if let market = try any(Market.self) { context.delete(market) }
    case .rent: try rent()
    case .leave: if let stall = try any(Stall.self) { context.delete(stall) }
    case .move: try any(Stall.self)?.market = number(0..<4) == 0 ? nil : any(Market.self)
    case .earn: try earn()
    // Multiples of a quarter add up without rounding.
    case .weigh: try any(Stall.self)?.weight = number(0..<5) == 0 ? nil : Double(number(-40..<400)) / 4
    case .place: try any(Stall.self)?.place = place()
    case .replace: try any(Stall.self)?.place?.row = row()
    case .paint: try any(Stall.self)?.sign = Data(repeating: UInt8(number(0..<256)), count: length())
    case .unpaint: try any(Stall.self)?.sign = nil
    case .tell: try any(Stall.self)?.story = String(repeating: "story ", count: length() / 6)
    }
  }

  private mutating func rent() throws {
    let stall = Stall(context: context)
    stall.title = "stall \(number(0..<9))"
    stall.takings = number(0..<50)
    stall.market = try any(Market.self)
  }

  private mutating func earn() throws {
    guard let stall = try any(Stall.self) else { return }
    stall.takings += number(-20..<80)
    stall.debt = number(0..<9)
  }

  private mutating func place() -> Place? {
    if number(0..<5) == 0 { return nil }
    let spot = number(0..<3) == 0 ? nil : Spot(number: number(0..<6), isRoofed: Bool.random(using: &random))
    return Place(row: row(), spot: spot)
  }

  private mutating func row() -> String? { number(0..<6) == 0 ? nil : "row \(number(0..<4))" }

  /// A name. There are so few names that two objects sometimes have the same one.
  private mutating func name() -> String { "Market \(number(0..<60))" }

  /// A length near the threshold at which a value gets its own file, or sometimes a much greater
  /// one.
  private mutating func length() -> Int {
    number(0..<4) == 0 ? number(2000..<9000) : number(700..<1500)
  }
}
