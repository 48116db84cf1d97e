import Perdure

/// The objects of a program, and its edits.
package enum GraphCrashWorld: Sendable {
  case guild([GuildEdit])
  case market([MarketEdit])
  case ledger([LedgerEdit])

  /// Some edits sometimes break a rule. The save is then refused.
  package enum GuildEdit: Sendable, CaseIterable {
    case found, dissolve, divide, subdivide, close, hire, dismiss, move, readdress, befriend, quarrel
    /// One save deletes an object and gives its address to another one. Or two objects exchange
    /// their addresses.
    case succeed, exchange
    /// A member is added to an ordered relationship, moved in it, or removed from it.
    case appoint, rearrange, resign
  }

  package enum MarketEdit: Sendable, CaseIterable {
    case found, rename, dissolve, rent, leave, move, earn, weigh, place, replace
    /// A long value is set, removed, or replaced by a value of another length. Most lengths are
    /// near the threshold at which a value gets its own file.
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

  /// The successive models of the openings.
  func models() throws -> [ManagedObjectModel] {
    switch self {
    case .guild: [try ManagedObjectModel(classes.map { $0.entityDescription })]
    case .market: try GraphCrashMarket.models()
    case .ledger: try GraphCrashLedger.models()
    }
  }

  /// Models that an opening must refuse.
  func misfits() throws -> [ManagedObjectModel] {
    if case .ledger = self { try GraphCrashLedger.misfits() } else { [] }
  }

  /// Whether the world has several models.
  var isGrowing: Bool { if case .ledger = self { true } else { false } }

  /// Whether long values have files. The threshold is low for this purpose, so the stored model has
  /// a file too.
  var hasBlobs: Bool { if case .guild = self { false } else { true } }

  /// Inserts objects that did not exist before.
  ///
  /// - Returns: The number of inserted objects.
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
