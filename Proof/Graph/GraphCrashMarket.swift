import FoundationEssentials
import Perdure

// A small model for interrupted saves: derived values, long values in separate files, and
// composites.

@Entity final class Market: ManagedObject {
  @Attribute(.unique) var name: String
  @Relationship(inverse: "market", deleteRule: .cascade) var stalls: ToMany<Stall>
  @Attribute(.indexed, derived: "stalls.@count") var stallCount: Int
  @Attribute(.indexed, derived: "stalls.takings.@sum") var takings: Int
  @Attribute(.indexed, derived: "stalls.weight.@sum") var weight: Double
  /// A derived value without an index that maintains it.
  @Attribute(derived: "stalls.@sum.debt") var debt: Int
  @Attribute(.indexed, derived: "canonical:(name)") var plainName: String?
}

@Entity(indexes: [["place.row"], ["place.spot.number", "title"]])
final class Stall: ManagedObject {
  var title: String
  var takings: Int = 0
  var weight: Double?
  var debt: Int = 0
  @Attribute(.composite) var place: Place?
  /// A long value has its own file.
  var sign: Data?
  var story: String?
  @Relationship(inverse: "stalls") var market: Market?
  @Attribute(.indexed, derived: "market.name") var marketName: String?
  @Attribute(.indexed, derived: "market.takings") var marketTakings: Int?
  @Attribute(derived: "canonical:(market.name)") var plainMarket: String?
}

@Composite struct Place {
  var row: String?
  var spot: Spot?
}

@Composite struct Spot {
  var number: Int?
  var isRoofed: Bool?
}

enum GraphCrashMarket {
  static let classes: [ManagedObject.Type] = [Market.self, Stall.self]

  static func models() throws -> [ManagedObjectModel] {
    [try ManagedObjectModel(classes.map { $0.entityDescription })]
  }
}
