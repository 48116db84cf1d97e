import PerdureFileIO
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Salvaging stores with random damage")
struct SalvagePropertyTests {
  private func salvage(_ damaged: SalvageDamage) throws -> (SalvageReport, [StoredKey: [UInt8]]) {
    let report = try Store.salvage(
      from: SalvagedStore.path, to: SalvagedStore.target,
      options: SalvagedStore.options(damaged.fileSystem, 64 << 10))
    return (report, try SalvagedStore.content(of: SalvagedStore.target, damaged.fileSystem))
  }

  private func run(
    _ name: String, stores: Int, damages: Int, movesSectors: Bool, packs: Bool = false
  ) throws {
    let root = SeededGenerator.forTest(name)
    var (clean, withDamage) = (0, 0)
    for number in 0..<UInt64(stores) {
      var random = root.derived(number)
      let store = try SalvagedStore(
        &random, commits: random.pick(20...120), segmentCapacityBytes: random.pick([4096, 16384, 1 << 20]),
        SalvagedStore.Features(
          compacts: random.chance(packs ? 90 : 50), packs: packs, deceives: packs && random.chance(50)))
      for round in 0..<damages {
        let damaged = try SalvageDamage(store, count: random.pick(1...8), movesSectors: movesSectors, &random)
        let before = damaged.fileSystem.currentImage
        do {
          let (report, found) = try salvage(damaged)
          do { try damaged.check(found) } catch { throw Violation("\(error); \(report)") }
          if report.isClean { clean += 1 } else { withDamage += 1 }
          for path in before.paths where !path.hasSuffix("/") {
            guard damaged.fileSystem.currentImage.bytes(at: path) == before.bytes(at: path) else {
              throw Violation("\(path) was changed")
            }
          }
        } catch let error as StoreError where error.code == .notAStore {
          #expect(!before.paths.contains { $0.hasSuffix(".segment") || $0.hasSuffix("SUPERBLOCK") })
        } catch {
          Issue.record("store \(number), round \(round): \(error); \(damaged.steps)")
          return
        }
      }
    }
    print("\(name): \(withDamage) with damage, \(clean) without")
    #expect(withDamage > stores * damages / 2)
  }

  @Test("All records outside of the damage are restored, and no others")
  func damage() throws {
    try run("salvage", stores: LongRun.count(4, long: 8), damages: 12, movesSectors: false)
  }

  @Test("Packed values and groups outside the damage are restored, even if values look like parts of the log")
  func packed() throws {
    try run("salvage of groups", stores: 3, damages: 8, movesSectors: false, packs: true)
  }

  @Test(
    "If sectors are exchanged, no false value is restored, and only the keys in these sectors are lost")
  func movedSectors() throws {
    try run(
      "salvage with moved sectors", stores: LongRun.count(3, long: 6), damages: 10, movesSectors: true)
  }
}
