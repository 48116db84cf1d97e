import Foundation
import Perdure
import PerdureModel
import PerdurePredicates
import Testing

@Entity private final class Owner: ManagedObject {
  @Attribute(.length(...40)) var name: String?
}

@Entity private final class Firm: ManagedObject {
  var name: String?
  var owner: Owner?
  @Relationship(inverse: "firm") var hands: ToMany<Hand>
  @Attribute(.indexed, derived: "hands.@count") var handCount: Int
  @Attribute(.indexed, derived: "hands.pay.@sum") var payroll: Int
  @Attribute(derived: "hands.@sum.rate") var rates: Double
  @Attribute(derived: "hands.bonus.@sum") var bonuses: Decimal
  @Attribute(derived: "owner.name") var ownerName: String?
  @Attribute(.indexed, derived: "hands.small.@sum") var smallSum: Int16?
}

@Entity private final class Hand: ManagedObject {
  var name: String = ""
  var pay: Int = 0
  var rate: Double?
  var bonus: Decimal?
  var small: Int16?
  @Relationship(inverse: "hands") var firm: Firm?
  @Attribute(derived: "firm.name") var firmName: String?
  @Attribute(derived: "canonical:(name)") private(set) var plainName: String?
  @Attribute(derived: "uppercase:(firm.ownerName)") var shout: String?
  @Attribute(derived: "lowercase:(firmName)") var whisper: String?
  @Attribute(derived: "firm.payroll") var firmPay: Int?
  @Attribute(derived: "name") var alias: String?
}

/// Behaviours D1 to D7 of Core Data (README.md).
@Suite("Derived attributes")
struct DerivedAttributeTests {
  private func sandbox() throws -> Sandbox { try Sandbox(Owner.self, Firm.self, Hand.self) }

  private func hand(_ context: ManagedObjectContext, _ name: String, pay: Int = 0, _ firm: Firm? = nil)
    -> Hand
  {
    let hand = Hand(context: context)
    hand.name = name
    hand.pay = pay
    hand.firm = firm
    return hand
  }

  @Test("D1 Copies along to-one paths, text functions, counts and sums are derived, even in chains")
  func kinds() throws {
    let context = try sandbox().container.newContext()
    let firm = Firm(context: context)
    (firm.name, firm.owner) = ("Ärger & Co", Owner(context: context))
    firm.owner?.name = "Straße"
    let one = hand(context, "Ève", pay: 3, firm)
    (one.rate, one.bonus) = (0.5, Decimal(string: "0.1"))
    let two = hand(context, "Zoë", pay: 4, firm)
    (two.rate, two.bonus) = (0.25, Decimal(string: "0.2"))
    #expect(one.firmName == "Ärger & Co" && one.plainName == "eve" && one.shout == "STRASSE")
    #expect(one.whisper == "ärger & co" && one.alias == "Ève" && one.firmPay == 7)
    #expect(
      firm.handCount == 2 && firm.payroll == 7 && firm.rates == 0.75 && firm.bonuses == Decimal(string: "0.3")
    )
    #expect(firm.ownerName == "Straße")
  }

  @Test(
    "D2 Derived values are current before and after a save, and after changes along their paths")
  func atOnce() throws {
    let container = try sandbox().container
    let context = container.newContext()
    let firm = Firm(context: context)
    let hand = hand(context, "h", pay: 5, firm)
    #expect(hand.firmName == nil && hand.shout == nil && firm.payroll == 5)
    firm.name = "One"
    #expect(hand.firmName == "One" && hand.value(forKey: "whisper") as? String == "one")
    try context.save()
    #expect(hand.firmName == "One" && firm.payroll == 5)
    firm.name = "Two"
    let owner = Owner(context: context)
    (owner.name, firm.owner, hand.pay) = ("ann", owner, 6)
    #expect(hand.firmName == "Two" && hand.shout == "ANN" && firm.payroll == 6 && hand.firmPay == 6)
    #expect(hand.committedValues(forKeys: ["firmName", "shout", "firmPay"])["firmName"] as? String == "One")
    context.rollback()
    #expect(hand.firmName == "One" && hand.shout == nil && firm.payroll == 5)
    hand.firm = nil
    #expect(hand.firmName == nil && hand.firmPay == nil && firm.payroll == 0)
    context.delete(firm)
    try context.save()
    #expect(hand.firmName == nil)
  }

  @Test("D2 After another context's save, derived values change only when this context advances")
  func others() throws {
    let container = try sandbox().container
    let context = container.newContext()
    let firm = Firm(context: context)
    firm.name = "One"
    let hand = hand(context, "h", pay: 5, firm)
    try context.save()
    let other = container.newContext()
    let theirs = try #require(try other.fetch(Firm.fetchRequest()).first)
    theirs.name = "Two"
    theirs.hands.first { _ in true }?.pay = 9
    try other.save()
    #expect(hand.firmName == "One" && firm.payroll == 5)
    context.rollback()
    #expect(hand.firmName == "Two" && firm.payroll == 9)
  }

  @Test(
    "D3 Predicates, sort descriptors, aggregates and typed queries use derived values with unsaved changes")
  func queries() throws {
    let context = try sandbox().container.newContext()
    let firms = ["Beta", "alpha", nil].map { name -> Firm in
      let firm = Firm(context: context)
      firm.name = name
      return firm
    }
    for (number, name) in ["Ida", "Ève", "Otto", "eve"].enumerated() {
      _ = hand(context, name, pay: number, number == 3 ? nil : firms[number % 2])
    }
    func hands(_ format: String) throws -> [String] {
      try context.fetch(FetchRequest<Hand>(predicate: try FetchPredicate(format: format))).map(\.name)
        .sorted()
    }
    func check() throws {
      #expect(try hands("firmName == 'Beta'") == ["Ida", "Otto"])
      #expect(try hands("firmName == nil") == ["eve"])
      #expect(try hands("plainName == 'eve'") == ["eve", "Ève"])
      #expect(try hands("whisper BEGINSWITH 'al' AND pay > 0") == ["Ève"])
      #expect(try hands("firm.payroll == 2 AND firm.handCount == 2") == ["Ida", "Otto"])
      #expect(try context.fetch(Firm.fetchRequest { $0.payroll > 0 && $0.handCount == 1 }) == [firms[1]])
      #expect(try context.fetch(Hand.fetchRequest { $0.firmName == "alpha" }).map(\.name) == ["Ève"])
      let anyNamed = FetchRequest<Firm>(predicate: try FetchPredicate(format: "ANY hands.plainName == 'ida'"))
      #expect(try context.fetch(anyNamed) == [firms[0]])
      let summed = FetchRequest<Firm>(predicate: try FetchPredicate(format: "hands.@max.firmPay == 2"))
      #expect(try context.fetch(summed) == [firms[0]])
      let ordered = FetchRequest<Hand>(sortDescriptors: [FetchOrder(\Hand.firmName), FetchOrder("plainName")])
      #expect(try context.fetch(ordered).map(\.name) == ["eve", "Ida", "Otto", "Ève"])
      let byPay = FetchRequest<Firm>(sortDescriptors: [FetchOrder(\Firm.payroll, ascending: false)])
      #expect(try context.fetch(byPay) == [firms[0], firms[1], firms[2]])
    }
    try check()
    try context.save()
    try check()
  }

  @Test(
    "D4 A derived attribute that may have no value must be optional; saves do not validate derived values")
  func optional() throws {
    let context = try sandbox().container.newContext()
    _ = Hand(context: context)
    _ = Firm(context: context)
    try context.save()
    #expect(throws: ModelError.self) {
      try ManagedObjectModel([
        EntityDescription(
          "A",
          properties: [.toOne("a", "A"), .derived("d", "a.e", type: .int64, optional: false), .int64("e")])
      ])
    }
  }

  @Test("D5 Stores in memory have derived values")
  func stores() throws {
    let context = try sandbox().container.newContext()
    let firm = Firm(context: context)
    _ = hand(context, "h", pay: 2, firm)
    try context.save()
    #expect(try context.fetch(Firm.fetchRequest { $0.payroll == 2 }) == [firm])
  }

  @Test("D6 Derived attributes are not among an object's changes")
  func changes() throws {
    let context = try sandbox().container.newContext()
    let firm = Firm(context: context)
    let hand = hand(context, "h", pay: 2, firm)
    try context.save()
    (firm.name, hand.pay) = ("changed", 3)
    #expect(Set(firm.changedValues().keys) == ["name"])
    #expect(Set(hand.changedValues().keys) == ["pay"])
    #expect(hand.firmName == "changed" && firm.payroll == 3)
  }

  @Test("D6 Setting a derived attribute stops the program")
  func setting() async {
    await #expect(processExitsWith: .failure) {
      let context = try Sandbox(Owner.self, Firm.self, Hand.self).container.newContext()
      Firm(context: context).setValue("x", forKey: "ownerName")
    }
  }

  @Test("An index of sums equals the members' sums after moves, deletions and rollbacks")
  func indexedSums() throws {
    let container = try sandbox().container
    let context = container.newContext()
    let firms = [Firm(context: context), Firm(context: context)]
    let hands = (0..<20).map { hand(context, "\($0)", pay: $0 * 3 - 20, firms[$0 % 2]) }
    func check(_ context: ManagedObjectContext) throws {
      for firm in try context.fetch(Firm.fetchRequest()) {
        let sum = firm.hands.reduce(0) { $0 + $1.pay }
        #expect(firm.payroll == sum)
        #expect(try context.count(for: Firm.fetchRequest { $0.payroll == sum }) >= 1)
      }
    }
    try check(context)
    try context.save()
    try check(context)
    hands[0].pay = 1000
    hands[1].firm = firms[0]
    hands[2].firm = nil
    hands[3].pay = -7
    hands[3].firm = firms[0]
    context.delete(hands[4])
    _ = hand(context, "new", pay: 77, firms[1])
    try check(context)
    context.rollback()
    try check(context)
    hands[5].firm = firms[0]
    context.delete(hands[6])
    try context.save()
    try check(context)
    let other = container.newContext()
    try check(other)
    context.delete(firms[1])
    try check(context)
    try context.save()
    try check(context)
  }

  @Test("D7 The operator of a sum can be before or after the attribute")
  func spellings() throws {
    let context = try sandbox().container.newContext()
    let firm = Firm(context: context)
    let hand = hand(context, "h", pay: 2, firm)
    hand.rate = 1.5
    #expect(firm.value(forKeyPath: "hands.@sum.rate") as? Double == firm.rates)
    #expect(firm.value(forKeyPath: "hands.pay.@sum") as? Int == Int(firm.payroll))
    for format in ["hands.@sum.pay == payroll", "hands.pay.@sum == payroll", "hands.rate.@sum == rates"] {
      #expect(try context.count(for: FetchRequest<Firm>(predicate: try FetchPredicate(format: format))) == 1)
    }
  }

  @Test("A sum out of range reads as the nearest value of its type, and predicates use the exact sum")
  func tooLarge() throws {
    let context = try sandbox().container.newContext()
    let firm = Firm(context: context)
    let hands = (0..<2).map { hand(context, "\($0)", pay: .max, firm) }
    for hand in hands { hand.small = .max }
    func count(_ format: String) throws -> Int {
      try context.count(for: FetchRequest<Firm>(predicate: try FetchPredicate(format: format)))
    }
    for state in ["unsaved", "saved"] {
      #expect(firm.smallSum == .max && firm.value(forKey: "smallSum") as? Int16 == .max, "\(state)")
      #expect(firm.payroll == .max && firm.value(forKey: "payroll") as? Int == .max, "\(state)")
      #expect(hands[0].firmPay == .max, "\(state)")
      #expect(try count("smallSum == nil") == 0 && count("smallSum > 32767") == 1, "\(state)")
      #expect(try count("smallSum == 65534") == 1 && count("smallSum == 32767") == 0, "\(state)")
      #expect(try count("payroll > 9223372036854775807") == 1, "\(state)")
      #expect(try count("payroll == %@".replacing("%@", with: "18446744073709551614")) == 1, "\(state)")
      try context.save()
    }
    for hand in hands { hand.pay = .min }
    #expect(firm.payroll == .min)
    try context.save()
    context.refreshAllObjects()
    #expect(firm.payroll == .min)
    hands[0].pay = 1
    #expect(firm.payroll == .min + 1)
    hands[0].small = -1
    #expect(firm.smallSum == Int16.max - 1)
    #expect(try count("smallSum == nil") == 0)
    context.rollback()
    context.delete(firm)
    try context.save()
    #expect(firm.payroll == 0)
  }

  @Test(
    "A decimal sum out of range reads as the greatest decimal, and predicates find it")
  func decimalOutOfRange() throws {
    let context = try sandbox().container.newContext()
    let firm = Firm(context: context)
    for number in 0..<2 { hand(context, "\(number)", firm).bonus = .greatestFiniteMagnitude }
    for state in ["unsaved", "saved"] {
      #expect(firm.bonuses == .greatestFiniteMagnitude, "\(state)")
      for format in ["bonuses > 1", "hands.@sum.bonus > 1", "bonuses != 0", "bonuses != nil"] {
        let request = FetchRequest<Firm>(predicate: try FetchPredicate(format: format))
        #expect(try context.count(for: request) == 1, "\(state): \(format)")
        #expect(try request.predicate?.evaluate(with: firm) == true, "\(state): \(format)")
      }
      try context.save()
    }
  }

  @Test("Snapshots and key paths contain derived values")
  func elsewhere() throws {
    let context = try sandbox().container.newContext()
    let firm = Firm(context: context)
    firm.name = "F"
    let hand = hand(context, "h", pay: 2, firm)
    #expect(hand.value(forKeyPath: "firm.payroll") as? Int == 2)
    #expect(firm.value(forKeyPath: "hands.firmName") as? [String] == ["F"])
    #expect(try hand.snapshot()["firmName"]?.value == .string("F"))
  }
}
