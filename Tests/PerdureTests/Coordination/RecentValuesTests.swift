import PerdureModel
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Values that a process has computed before")
struct RecentValuesTests {
  private struct Refusal: Error {}

  @Test("A value is computed once while its key is among the most recently requested keys")
  func bound() {
    let recent = RecentValues<Int, Int>(countMax: 3)
    var computed: [Int] = []
    func ask(_ key: Int) -> Int {
      recent.value(of: key) {
        computed.append(key)
        return key * 10
      }
    }
    for key in [1, 2, 3, 1, 2, 3] { #expect(ask(key) == key * 10) }
    #expect(computed == [1, 2, 3])
    // The key 1 was requested least recently, so it is evicted.
    #expect([4, 3, 2, 4].map(ask) == [40, 30, 20, 40])
    #expect(computed == [1, 2, 3, 4])
    #expect(ask(1) == 10)
    #expect(computed == [1, 2, 3, 4, 1])
  }

  @Test("After an error, the value is computed again")
  func errors() throws {
    let recent = RecentValues<Int, Int>(countMax: 3)
    #expect(throws: Refusal.self) {
      try recent.value(of: 1) { () throws(Refusal) in throw Refusal() }
    }
    #expect(recent.value(of: 1) { 10 } == 10)
  }

  @Test("Containers with the same classes share a model, and containers with other classes do not")
  func models() throws {
    let one = try PersistentContainer(
      name: "One", classes: [KeyedCustomer.self], description: .inMemory)
    let two = try PersistentContainer(
      name: "Two", classes: [KeyedCustomer.self], description: .inMemory)
    let other = try PersistentContainer(
      name: "Other", classes: [KeyedOwner.self, KeyedPart.self], description: .inMemory)
    #expect(one.managedObjectModel === two.managedObjectModel)
    #expect(one.managedObjectModel !== other.managedObjectModel)
    // The stores are separate.
    try one.loadPersistentStores()
    try two.loadPersistentStores()
    let context = one.newContext()
    _ = try context.findOrInsert(KeyedCustomer.self, where: \.key, equals: 1)
    try context.save()
    #expect(try two.newContext().count(for: KeyedCustomer.fetchRequest()) == 0)
    #expect(try one.newContext().count(for: KeyedCustomer.fetchRequest()) == 1)
  }
}
