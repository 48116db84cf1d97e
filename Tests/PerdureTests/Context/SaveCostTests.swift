import Foundation
import Perdure
import PerdureLog
import PerdureModel
import PerdureTestSupport
import Synchronization
import Testing

@Entity private final class Firm: ManagedObject {
  var name: String = ""
  @Relationship(inverse: "firm") var hands: ToMany<Hand>
  @Attribute(.indexed, derived: "hands.@count") var handCount: Int
  @Attribute(.indexed, derived: "hands.pay.@sum") var payroll: Int
  @Attribute(.indexed, derived: "hands.bonus.@sum") var bonuses: Decimal
}

@Entity private final class Hand: ManagedObject {
  @Attribute(.indexed) var number: Int = 0
  var pay: Int = 0
  var bonus: Decimal?
  @Relationship(inverse: "hands") var firm: Firm?
}

/// The reads of a save. The number of children is `PERDURE_CHILDREN`, or 3,000 if it is not set.
@Suite("The reads of a save")
struct SaveCostTests {
  /// The log engine, with a count of its reads.
  private final class Look: Sendable {
    let counts = ReadCounts()
    let store = Mutex<LogPersistentStore?>(nil)

    var factory: StoreFactory {
      StoreFactory { [self] description, model in
        guard case .directory(let path) = description.location else { throw CocoaError(.featureUnsupported) }
        let opened = try LogPersistentStore(at: path, model: model)
        store.withLock { $0 = opened }
        return CountingStore(opened, counts)
      }
    }

    /// The number of pages of the index file that were read since the store was opened.
    func indexPagesRead() throws -> Int {
      let opened = try #require(store.withLock { $0 })
      return opened.store.indexPagesRead
    }
  }

  private static let childCount =
    ProcessInfo.processInfo.environment["PERDURE_CHILDREN"].flatMap { Int($0) } ?? 3000

  private func container(_ path: String, _ look: Look) throws -> PersistentContainer {
    let classes: [ManagedObject.Type] = [Firm.self, Hand.self]
    let container = PersistentContainer(
      name: "Cost", model: try ManagedObjectModel(classes.map { $0.entityDescription }), classes: classes,
      description: .init(path: path), factory: look.factory)
    try container.loadPersistentStores()
    return container
  }

  private func fill(_ container: PersistentContainer) throws -> (firm: String, hands: [String]) {
    let context = container.newContext()
    let firm = Firm(context: context)
    var hands: [String] = []
    for number in 0..<Self.childCount {
      let hand = Hand(context: context)
      (hand.number, hand.pay, hand.firm) = (number, number % 100, firm)
      hand.bonus = Decimal(number % 10) / 4
      if number % max(8, Self.childCount / 8) == 7 { hands.append(hand.objectID.uri) }
      if number % 10_000 == 9_999 { try context.save() }
    }
    try context.save()
    return (firm.objectID.uri, hands)
  }

  @Test("If one of many children is changed, a save reads at most eight index pages and two rows")
  func oneOfMany() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("cost.perdure")
    var look = Look()
    var filled = try container(path, look)
    let (firmID, handIDs) = try fill(filled)
    try look.store.withLock { $0 }?.store.checkpoint()
    try filled.close()
    for (position, id) in handIDs.enumerated() {
      // Opens the store again for each child, so that no data is cached.
      look = Look()
      filled = try container(path, look)
      let context = filled.newContext()
      let hand = try #require(
        try filled.managedObjectID(forURI: id).flatMap { try context.existingObject(with: $0) as? Hand })
      let rows = look.counts.rows
      let pages = try look.indexPagesRead()
      hand.pay += 1
      hand.bonus = Decimal(string: "1e50")
      try context.save()
      // The commit itself reads each replaced row once more, to find its index entries. The count
      // of rows does not contain these reads.
      let rowsRead = look.counts.rows - rows + look.counts.puts
      #expect(rowsRead <= 2, "\(rowsRead) rows")
      let pagesRead = try look.indexPagesRead() - pages
      #expect(pagesRead <= 8, "\(pagesRead) pages")
      #expect(look.counts.entries == 0)
      let firm = try #require(
        try filled.managedObjectID(forURI: firmID).flatMap { try context.existingObject(with: $0) as? Firm })
      let before = look.counts.rows
      let pay = (0..<Self.childCount).reduce(0) { $0 + $1 % 100 }
      #expect(firm.payroll == pay + position + 1 && firm.handCount == Self.childCount)
      #expect(firm.bonuses > Decimal(sign: .plus, exponent: 49, significand: 1))
      #expect(look.counts.rows - before <= 1)
      try filled.close()
    }
  }
}
