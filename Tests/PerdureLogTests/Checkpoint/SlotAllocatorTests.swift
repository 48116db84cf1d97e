import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Units of an index file")
struct SlotAllocatorTests {
  @Test("A unit is not allocated while it is in use, or while an older checkpoint may reach it")
  func model() throws {
    var random = SeededGenerator.forTest("slot allocator")
    for round in 0..<30 {
      var slots = SlotAllocator()
      var inUse: [SlotAllocator.Run] = []
      /// Units in use, or waiting for release. The value is the first checkpoint that does not
      /// reach the unit.
      var blocked: [UInt32: UInt64] = [:]
      var (checkpoint, confirmed) = (1 as UInt64, 0 as UInt64)
      for _ in 0..<400 {
        switch Int.random(in: 0..<8, using: &random) {
        case 0:
          checkpoint += 1
          confirmed = checkpoint - UInt64.random(in: 1...2, using: &random)
          slots.release(upTo: confirmed)
        case 1...3 where !inUse.isEmpty:
          let run = inUse.remove(at: Int.random(in: 0..<inUse.count, using: &random))
          slots.free(run, notReachedFrom: checkpoint)
          for unit in run.slot..<run.end { blocked[unit] = checkpoint }
        default:
          let count = [9, 16, 17, Int.random(in: 1...90, using: &random)].randomElement(using: &random) ?? 1
          let run = SlotAllocator.Run(slot: try slots.allocate(count), unitCount: count)
          for unit in run.slot..<run.end {
            let until = blocked[unit] ?? 0
            if until > confirmed { Issue.record("seed \(random.seed), round \(round): unit \(unit)") }
            blocked[unit] = .max
          }
          inUse.append(run)
        }
        let expected = inUse.reduce(0) { $0 + $1.unitCount }
        #expect(slots.unitsInUse == expected, "seed \(random.seed), round \(round)")
      }
    }
  }

  @Test("Adjacent free runs are joined, and runs cut from a joined run are adjacent")
  func joining() throws {
    var slots = SlotAllocator()
    let runs = try (0..<20).map { _ in SlotAllocator.Run(slot: try slots.allocate(16), unitCount: 16) }
    let end = slots.end
    var random = SeededGenerator.forTest("joining of units")
    for run in runs.shuffled(using: &random) { slots.free(run, notReachedFrom: 1) }
    #expect(slots.waitingUnitCount == 320 && slots.freeUnitCount == 0)
    slots.release(upTo: 1)
    #expect(slots.waitingUnitCount == 0 && slots.freeUnitCount == 320)
    #expect(try (0..<4).map { _ in try slots.allocate(80) } == [1, 81, 161, 241])
    #expect(slots.end == end && slots.freeUnitCount == 0)
    #expect(try slots.allocate(1) == end)
  }

  @Test("Units that no checkpoint reaches become free, and the header stays in use")
  func reached() throws {
    var map = SlotMap(unitCount: 100)
    #expect(map.claim(.none, unitCount: 1) && map.claim(NodeSlot(number: 10), unitCount: 40))
    var slots = SlotAllocator(map, notReachedFrom: 7)
    #expect(slots.unitsInUse == 40 && slots.freeUnitCount == 0 && slots.waitingUnitCount == 59)
    slots.release(upTo: 6)
    #expect(slots.freeUnitCount == 0)
    slots.release(upTo: 7)
    #expect(slots.unitsInUse == 40 && slots.freeUnitCount == 59 && slots.end == 100)
    #expect(try slots.allocate(50) == 50)
    #expect(try slots.allocate(9) == 1)
    #expect(try slots.allocate(1) == 100)
  }

  @Test("A unit map claims a run completely or not at all, and matches a set")
  func map() {
    var random = SeededGenerator.forTest("slot map")
    var map = SlotMap(unitCount: 1000)
    var model: Set<Int> = []
    for _ in 0..<3000 {
      let start = Int.random(in: 0..<1010, using: &random)
      let count = Int.random(in: 0...(Bool.random(using: &random) ? 3 : 200), using: &random)
      let units = start..<(start + count)
      let fits = units.upperBound <= 1000 && model.isDisjoint(with: units)
      #expect(map.claim(NodeSlot(number: UInt32(start)), unitCount: count) == fits, "seed \(random.seed)")
      if fits { model.formUnion(units) }
    }
    #expect(map.takenCount == model.count && model.count > 300)
    #expect((0..<1000).allSatisfy { map.isTaken($0) == model.contains($0) }, "seed \(random.seed)")
    let free = map.freeRuns().flatMap { Int($0.slot.number)..<(Int($0.slot.number) + $0.unitCount) }
    #expect(Set(free) == Set(0..<1000).subtracting(model), "seed \(random.seed)")
  }
}
