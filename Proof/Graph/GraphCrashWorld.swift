import Perdure

/// The objects of a program, and its operations on them.
package enum GraphCrashWorld: Sendable {
  case guild([GuildEdit])
  case market([MarketEdit])
  case ledger([LedgerEdit])

  /// Some break a rule now and then: the save is refused then.
  package enum GuildEdit: Sendable, CaseIterable {
    case found, dissolve, divide, subdivide, close, hire, dismiss, move, readdress, befriend, quarrel
    /// Within one save one object is removed and another gets its address; or two exchange theirs.
    case succeed, exchange
    /// A member is added to an order, moved in it, or removed from it.
    case appoint, rearrange, resign
  }

  package enum MarketEdit: Sendable, CaseIterable {
    case found, rename, dissolve, rent, leave, move, earn, weigh, place, replace
    /// Long values: made, made longer or shorter around the length from which they have files,
    /// taken away.
    case paint, unpaint, tell
  }

  package enum LedgerEdit: Sendable, CaseIterable {
    case open, resize, annotate, close, succeed, book, correct, strike, pair
  }

  var classes: [ManagedObject.Type] {
    switch self {
    case .guild: GraphCrashModel.classes
    case .market: GraphCrashMarket.classes
    case .ledger: []
    }
  }

  /// The models of the openings, in order.
  func models() throws -> [ManagedObjectModel] {
    switch self {
    case .guild: [try ManagedObjectModel(classes.map { $0.entityDescription })]
    case .market: try GraphCrashMarket.models()
    case .ledger: try GraphCrashLedger.models()
    }
  }

  /// The refusals of an opening.
  func misfits() throws -> [ManagedObjectModel] {
    if case .ledger = self { try GraphCrashLedger.misfits() } else { [] }
  }

  /// Whether there are several models.
  var isGrowing: Bool { if case .ledger = self { true } else { false } }

  /// Whether long values have files, in this world of short ones. The stored model is among them.
  var hasBlobs: Bool { if case .guild = self { false } else { true } }

  /// Objects that there were never before.
  ///
  /// - Returns: Their number.
  func insertMore(_ context: ManagedObjectContext) -> Int {
    switch self {
    case .guild:
      Firm(context: context).name = "afterwards"
      Member(context: context).email = "afterwards"
      Unit(context: context).title = "afterwards"
      return 3
    case .market:
      let market = Market(context: context)
      market.name = "afterwards"
      let stall = Stall(context: context)
      (stall.title, stall.market, stall.takings) = ("afterwards", market, 3)
      stall.story = String(repeating: "x", count: GraphCrashProgram.blobThresholdMin + 1)
      return 2
    case .ledger:
      context.insertNewObject(forEntityName: "Account")["name"] = "afterwards"
      return 1
    }
  }
}
