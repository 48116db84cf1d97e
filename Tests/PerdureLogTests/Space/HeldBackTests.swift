import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Items that snapshots retain, by the interval in which the items were live")
struct HeldBackTests {
  private struct Thing: Hashable {
    var born: UInt64
    var gone: UInt64
  }

  @Test("A search finds the newest held version in an interval, and no version outside of it")
  func newest() {
    var pinned = PinnedVersions()
    #expect(pinned.newest(from: 0, before: 100) == nil)
    #expect(!pinned.mayHold(0...100) && pinned.settledEnd(published: 7) == 7)
    pinned.exact = [3, 3, 5, 9]
    #expect(pinned.newest(from: 0, before: 3) == nil)
    #expect(pinned.newest(from: 0, before: 4) == 3)
    #expect(pinned.newest(from: 3, before: 9) == 5)
    #expect(pinned.newest(from: 6, before: 9) == nil)
    #expect(pinned.newest(from: 6, before: 10) == 9)
    #expect(pinned.newest(from: 10, before: 20) == nil)
    #expect(pinned.newest(from: 5, before: 5) == nil)
    #expect(pinned.mayHold(5...5) && !pinned.mayHold(6...8) && !pinned.mayHold(10...20))
    pinned.unsettledFrom = 8
    #expect(pinned.mayHold(6...8) && pinned.mayHold(10...20) && !pinned.mayHold(6...7))
    #expect(pinned.settledEnd(published: 20) == 8)
  }

  @Test("Only items of held versions stay, and each item is checked at most once per version")
  func model() {
    var random = SeededGenerator.forTest("held back")
    for _ in 0..<40 {
      var held = HeldBack<Thing>()
      var model: Set<Thing> = []
      var exact: [UInt64] = []
      var (looks, looksMax) = (0, 0)
      func settle(_ things: [Thing], _ pinned: PinnedVersions) {
        for thing in things {
          looks += 1
          if let version = pinned.newest(from: thing.born, before: thing.gone) {
            held.file(thing, under: version)
          } else {
            model.remove(thing)
          }
        }
      }
      for now in 1...120 as ClosedRange<UInt64> {
        if random.chance(35) { exact.append(now) }
        if !exact.isEmpty, random.chance(25) {
          exact.remove(at: .random(in: 0..<exact.count, using: &random))
        }
        let pinned = PinnedVersions(exact: exact)
        settle(held.takeUnheld(pinned), pinned)
        let things = (0..<3).map { _ in Thing(born: .random(in: 0...now, using: &random), gone: now) }
        for thing in Set(things) {
          model.insert(thing)
          looksMax += 1 + exact.count { (thing.born..<thing.gone).contains($0) }
          settle([thing], pinned)
        }
        let needed = model.filter { thing in exact.contains { (thing.born..<thing.gone).contains($0) } }
        #expect(model == needed && held.count == model.count)
      }
      #expect(looks <= looksMax)
      let pinned = PinnedVersions()
      settle(held.takeUnheld(pinned), pinned)
      #expect(held.isEmpty && model.isEmpty)
    }
  }

  @Test("An arena frees the nodes that no pinned version has, and keeps all other nodes")
  func arena() {
    let arena = NodeArena()
    var node = arena.allocate(.denseLeaf, level: 0)
    arena.publish()
    for _ in 0..<9 {
      node = arena.writable(node)
      arena.publish()
    }
    // Nine nodes were retired. The nodes of versions 3 and 6 are held.
    #expect(arena.reclaim(PinnedVersions(exact: [3, 6])) == 7)
    #expect(arena.retiredCount == 2 && arena.uncheckedByteCount == 0)
    #expect(arena.liveByteCount == 3 * DenseNode.leafByteCount)
    #expect(arena.reclaim(PinnedVersions(exact: [3, 6])) == 0)
    #expect(arena.reclaim(PinnedVersions(exact: [6], unsettledFrom: 2)) == 0)
    #expect(arena.reclaim(PinnedVersions(exact: [6], unsettledFrom: 4)) == 1)
    #expect(arena.reclaim(PinnedVersions()) == 1)
    #expect(arena.retiredByteCount == 0 && arena.liveByteCount == DenseNode.leafByteCount)
  }
}
