// The exact bytes of orders in the log, which later versions must be able to read.

import PerdureLog
import PerdureModel
import Testing

@testable import Perdure

@Suite("Bytes of orders")
struct OrderBytesTests {
  /// The entries of the keyspace for the items of lists, in hexadecimal: key, `ff` and value.
  private func entries(_ scene: ModelScene) throws -> [String] {
    let store = try #require(scene.context.core.store as? LogPersistentStore)
    let number = try #require(store.schema.entity(named: "List")?.properties[1].number)
    let keyspace = try #require(try store.store.keyspaces.first { $0.name == "order/\(number)" })
    var found: [String] = []
    try store.store.snapshot().forEach(in: keyspace, range: .all) { key, value in
      let bytes = { (span: RawSpan) in span.withUnsafeBytes { Array($0) } }
      let text = (bytes(key) + [0xFF] + bytes(value)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
      found.append(text.joined())
      return true
    }
    return found
  }

  @Test("An entry's key has the owner and the member, and its value is the order key")
  func entries() throws {
    guard StoreKind.current == .engine else { return }
    let scene = try listScene()
    let list = scene.new("List")
    let items = (0..<3).map { _ in scene.new("Item") }
    list.ordered("items").append(contentsOf: items)
    try scene.saveWhole()
    let store = scene.context.core.graph.store
    let (owner, member) = (
      try #require(store.entity(named: "List")).number, try #require(store.entity(named: "Item")).number
    )
    func key(_ item: Int) -> String { "000\(owner)000000000001" + "000\(member)00000000000\(item)" + "ff" }
    #expect(try entries(scene) == [key(1) + "800001", key(2) + "800011", key(3) + "800021"])
    let front = scene.new("Item")
    list.ordered("items").insert(front, at: 0)
    list.ordered("items").move(items[2], to: 2)
    list.ordered("items").remove(items[0])
    try scene.saveWhole()
    #expect(try entries(scene) == [key(2) + "800011", key(3) + "800009", key(4) + "7ffff1"])
  }

  @Test("An index key is the owner and the escaped order key")
  func indexKey() throws {
    let owner = ObjectReference(entity: 2, id: 3)
    let key = try #require(OrderKey([128, 0, 1]))
    let bytes = OrderIndexes.indexKey(owner, key)
    #expect(bytes == [0, 2, 0, 0, 0, 0, 0, 3, 128, 0, 255, 1, 0, 0])
    #expect(bytes.withUnsafeBytes { OrderIndexes.orderKey(in: $0) } == key)
    #expect([0, 1].withUnsafeBytes { OrderIndexes.orderKey(in: $0) } == nil)
  }
}
