import PerdureFormat

// Allocates the units of an index file to nodes.
//
// Invariants
//  SA1  Every unit from the first after the header to `end` is in exactly one state: in use,
//       waiting or free. Units at `end` and after it were never used.
//  SA2  If checkpoint n is the first that does not reach a run of units, the run waits with tag n.
//       It becomes free under two conditions. First, the two newest superblocks reference
//       checkpoint n or a later one. Second, no reader in another opening may use an earlier
//       checkpoint that reaches the run (ReaderTable, RT4). Then no root that can still be opened
//       contains the run. (The readers of this opening have released a run before it is passed to
//       `free`.)
//  SA3  Right after `release`, no two free runs are adjacent, because adjacent runs are joined.
//
// Nodes have few sizes. Free runs of up to 32 units are grouped by length, so a node usually gets a
// run of exactly its length. Longer runs are cut from the front, so that successive nodes are
// adjacent in the file.

/// The units of an index file.
struct SlotAllocator {
  /// Adjacent units.
  struct Run: Equatable {
    var slot: UInt32
    var unitCount: Int

    var end: UInt32 { slot + UInt32(unitCount) }

    init(slot: UInt32, unitCount: Int) {
      self.slot = slot
      self.unitCount = unitCount
    }

    init(_ freed: FreedSlot) { self.init(slot: freed.slot.number, unitCount: freed.unitCount) }
  }

  /// The file has no unit number left.
  struct Full: Error {}

  private static let shortMax = 32

  /// The first unit that was never used.
  private(set) var end: UInt32
  /// The starts of short free runs, by length. Right after `release`, the lowest is last.
  private var short = [[UInt32]](repeating: [], count: shortMax + 1)
  /// The longer free runs. Right after `release`, the lowest is last.
  private var long: [Run] = []
  private var waiting: [(reached: Range<UInt64>, run: Run)] = []
  private(set) var freeUnitCount = 0
  private(set) var waitingUnitCount = 0

  /// Creates an allocator for a file that ends after its header.
  init() { end = UInt32(IndexFileHeader.length / IndexFileHeader.unitLength) }

  /// Creates an allocator for a file whose checkpoint uses the units in `reached`. The other units
  /// wait, because readers that began earlier may use an older checkpoint.
  init(_ reached: SlotMap, notReachedFrom checkpoint: UInt64) {
    self.init()
    end = max(end, UInt32(reached.unitCount))
    for run in reached.freeRuns() { free(Run(run), notReachedFrom: checkpoint) }
  }

  /// The number of units in use, without the header.
  var unitsInUse: Int { Int(end) - 1 - freeUnitCount - waitingUnitCount }

  /// Allocates a run of units.
  mutating func allocate(_ unitCount: Int) throws(Full) -> UInt32 {
    if let run = takeFree(unitCount) {
      freeUnitCount -= unitCount
      return run
    }
    let (next, overflow) = end.addingReportingOverflow(UInt32(unitCount))
    guard !overflow else { throw Full() }
    defer { end = next }
    return end
  }

  private mutating func takeFree(_ unitCount: Int) -> UInt32? {
    if unitCount <= Self.shortMax, let slot = short[unitCount].popLast() { return slot }
    if let index = long.lastIndex(where: { $0.unitCount >= unitCount }) {
      return cut(unitCount, from: long.remove(at: index))
    }
    guard unitCount < Self.shortMax else { return nil }
    for length in (unitCount + 1)...Self.shortMax {
      guard let slot = short[length].popLast() else { continue }
      return cut(unitCount, from: Run(slot: slot, unitCount: length))
    }
    return nil
  }

  private mutating func cut(_ unitCount: Int, from run: Run) -> UInt32 {
    let rest = Run(slot: run.slot + UInt32(unitCount), unitCount: run.unitCount - unitCount)
    if rest.unitCount > Self.shortMax {
      long.append(rest)
    } else if rest.unitCount > 0 {
      short[rest.unitCount].append(rest.slot)
    }
    return run.slot
  }

  /// Adds a run that neither `checkpoint` nor a later checkpoint reaches. The run waits until
  /// `release` frees it. SA2
  ///
  /// - Parameter first: Checkpoints before `first` also do not reach the run.
  mutating func free(_ run: Run, reachedFrom first: UInt64 = 0, notReachedFrom checkpoint: UInt64) {
    waiting.append((min(first, checkpoint)..<checkpoint, run))
    waitingUnitCount += run.unitCount
  }

  /// Frees the runs that wait with the tag `checkpoint` or a lower tag. The two newest superblocks
  /// must reference `checkpoint` or a later one. SA2, SA3
  ///
  /// - Parameter isRead: Whether a reader uses one of the given checkpoints.
  /// - Complexity: O(n log n) for n free runs.
  mutating func release(upTo checkpoint: UInt64, unless isRead: (Range<UInt64>) -> Bool = { _ in false }) {
    var released: [Run] = []
    waiting.removeAll { entry in
      guard entry.reached.upperBound <= checkpoint, !isRead(entry.reached) else { return false }
      released.append(entry.run)
      return true
    }
    guard !released.isEmpty else { return }
    waitingUnitCount -= released.reduce(0) { $0 + $1.unitCount }
    var all = released + long
    for length in 1...Self.shortMax {
      all += short[length].map { Run(slot: $0, unitCount: length) }
      short[length] = []
    }
    long = []
    freeUnitCount = 0
    insert(Self.joined(all))
  }

  /// The runs in ascending order, with adjacent runs joined.
  private static func joined(_ runs: [Run]) -> [Run] {
    var joined: [Run] = []
    for run in runs.sorted(by: { $0.slot < $1.slot }) {
      if let last = joined.last, last.end == run.slot {
        joined[joined.count - 1].unitCount += run.unitCount
      } else {
        joined.append(run)
      }
    }
    return joined
  }

  /// - Parameter runs: Ascending.
  private mutating func insert(_ runs: [Run]) {
    for run in runs.reversed() {
      freeUnitCount += run.unitCount
      if run.unitCount > Self.shortMax {
        long.append(run)
      } else {
        short[run.unitCount].append(run.slot)
      }
    }
  }
}
