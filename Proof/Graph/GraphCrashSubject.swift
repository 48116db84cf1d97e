package import PerdureLog
import PerdureProving

/// One kind of program that edits a graph and saves.
package struct GraphCrashSubject: CrashSubject {
  package let name: String
  package let sectorLengths = [64, 512, 4096]
  /// The objects of the program, and its edits.
  package var world: GraphCrashWorld
  package var saves = 24
  /// The number of saves between openings.
  package var reopensEvery = 9
  /// The durabilities of saves. Each opening uses one of them. If the model changes, list only
  /// durabilities that survive a power cut. The reason: an opening adds to the stored model, and
  /// its additions depend on the recovered state (`GraphCrashCheck`).
  package var durabilities: [Durability]
  /// Whether the check expects every save to survive, even if its durability promises nothing. A
  /// test sets this to show that the check reports lost saves.
  package var believesAll = false

  package init(
    name: String, _ world: GraphCrashWorld, reopensEvery: Int = 9, durabilities: [Durability] = [.powerLoss]
  ) {
    (self.name, self.world, self.reopensEvery) = (name, world, reopensEvery)
    self.durabilities = durabilities
  }

  /// False with ordered commits, because a thread of the store syncs them at an unspecified time.
  package var isRepeatable: Bool { !durabilities.contains(.ordered) }

  package func program(seed: UInt64) -> GraphCrashProgram { GraphCrashProgram(subject: self, seed: seed) }

  private static let guild = GraphCrashWorld.GuildEdit.allCases + [.found, .hire, .hire, .befriend]
  private static let market = GraphCrashWorld.MarketEdit.allCases + [.found, .rent, .rent]

  package static let all = [
    GraphCrashSubject(
      name: "graph: cascades",
      .guild([.found, .found, .divide, .divide, .subdivide, .subdivide, .subdivide, .dissolve, .close])),
    GraphCrashSubject(
      name: "graph: uniqueness", .guild([.found, .hire, .hire, .hire, .readdress, .readdress, .dismiss])),
    GraphCrashSubject(
      name: "graph: unique values transferred",
      .guild([.hire, .hire, .hire, .succeed, .succeed, .exchange, .exchange, .readdress])),
    GraphCrashSubject(
      name: "graph: many to many",
      .guild([.hire, .hire, .befriend, .befriend, .befriend, .befriend, .quarrel, .dismiss])),
    GraphCrashSubject(
      name: "graph: orders",
      .guild([
        .found, .hire, .hire, .hire, .subdivide, .subdivide, .appoint, .appoint, .appoint, .rearrange,
        .rearrange, .rearrange, .resign, .dismiss, .dissolve,
      ])),
    GraphCrashSubject(
      name: "graph: ids", .guild([.found, .hire, .divide, .dismiss, .close]), reopensEvery: 2),
    GraphCrashSubject(name: "graph: everything", .guild(guild)),
    GraphCrashSubject(
      name: "graph: all durability levels", .guild(guild), reopensEvery: 6,
      durabilities: Durability.allCases),
    derivedValues,
    largeValues,
    GraphCrashSubject(
      name: "graph: composites", .market([.found, .rent, .rent, .place, .place, .place, .replace, .leave])),
    GraphCrashSubject(
      name: "graph: a market with all durability levels", .market(market), reopensEvery: 6,
      durabilities: Durability.allCases),
    changedModels,
  ]

  package static let derivedValues = GraphCrashSubject(
    name: "graph: derived values",
    .market([.found, .found, .rename, .dissolve, .rent, .rent, .rent, .leave, .move, .move, .earn, .weigh]))

  package static let largeValues = GraphCrashSubject(
    name: "graph: large values",
    .market([.found, .rent, .rent, .paint, .paint, .paint, .unpaint, .tell, .tell, .leave, .earn]),
    reopensEvery: 6)

  package static let changedModels = GraphCrashSubject(
    name: "graph: changed models", .ledger(GraphCrashWorld.LedgerEdit.allCases + [.open, .book, .book]),
    reopensEvery: 4)
}
