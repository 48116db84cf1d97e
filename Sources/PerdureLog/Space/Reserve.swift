import PerdureFileIO
import PerdureFormat
import Synchronization

// Space on the medium that is reserved by files without meaning.
//
// A log can free space only by writing: to remove a record is to append a tombstone, and to compact
// a segment is to write its live records again. On a medium without a free byte both would fail. So
// the store keeps files that only take room, and removes them when it needs it.
//
// Invariants
//  RV1  Commits that make the store larger never use the reserve: while it is incomplete
//       (`isShort`), they are refused.
//  RV2  The part for compaction is not used for removals. So a store without free space can always
//       be compacted, and compaction frees more than it takes.
//  RV3  Nothing depends on the files: the next opening may find them or not. They are not synced.

/// The reserve of a store.
// Unchecked: what varies is guarded by `lock`, or atomic.
final class Reserve: @unchecked Sendable {
  /// The purpose of a part. The raw value is the number in its file's name.
  enum Part: UInt64, CaseIterable {
    case removals = 1
    case compaction = 2
  }

  private let lock = Lock()
  private let directory: any Directory
  private var wanted = ReserveSize()
  private var held: [Part: UInt64] = [:]
  /// Whether a compaction is using its part. Until it ends, the reserve is not restored, or a
  /// checkpoint that the compaction requests would take the space.
  private var isLent = false
  private let short = Atomic<Bool>(false)
  /// The system's error when the space was last found to be short.
  private var shortage: FileIOError?

  /// - Parameter numbers: Of the files that are there.
  init(in directory: any Directory, found numbers: [UInt64]) {
    self.directory = directory
    for part in numbers.compactMap(Part.init(rawValue:)) {
      let size = (try? directory.open(Self.name(part), .read)).flatMap { try? $0.size() }
      held[part] = size ?? 0
    }
  }

  /// Whether the reserve is incomplete, because there is no space. RV1
  var isShort: Bool { short.load(ordering: .relaxed) }

  /// The system's error at the last shortage; nil while the reserve is complete.
  var lackOfRoom: FileIOError? { lock.withLock { isShort ? shortage : nil } }

  /// Reserved bytes.
  var heldBytes: UInt64 { lock.withLock { held.values.reduce(0, +) } }

  /// Sets the size of the reserve, and allocates it as far as space allows.
  func hold(_ size: ReserveSize) {
    lock.withLock {
      wanted = size
      for part in Part.allCases where (held[part] ?? 0) > 2 * UInt64(size[part]) { remove(part) }
      fill()
    }
  }

  /// Restores the released part of the reserve.
  ///
  /// - Returns: Whether all of it is allocated.
  @discardableResult
  func restore() -> Bool {
    lock.withLock {
      fill()
      return !isShort
    }
  }

  /// Frees the space of a part.
  ///
  /// - Parameter lack: The system's error.
  /// - Returns: Whether there was any.
  func giveUp(_ part: Part, for lack: FileIOError?) -> Bool {
    lock.withLock {
      noteShort(lack)
      return remove(part)
    }
  }

  /// Frees the part for compaction until `takeBack`.
  ///
  /// - Parameter lack: The system's error.
  /// - Returns: Whether there was any; if not, nothing is lent.
  func lend(for lack: FileIOError?) -> Bool {
    lock.withLock {
      guard remove(.compaction) else { return false }
      noteShort(lack)
      isLent = true
      return true
    }
  }

  /// The compaction has ended: its part of the reserve is restored as far as space allows.
  func takeBack() {
    lock.withLock {
      isLent = false
      fill()
    }
  }

  @discardableResult
  private func remove(_ part: Part) -> Bool {
    guard held[part, default: 0] > 0 else { return false }
    held[part] = nil
    return (try? directory.remove(Self.name(part))) != nil
  }

  private func fill() {
    if isLent { return }
    do {
      // Compaction first: if compaction is possible, the other operations are too.
      for part in [Part.compaction, .removals] { try fill(part) }
      short.store(false, ordering: .relaxed)
    } catch {
      guard error.code.isLackOfRoom else { return short.store(false, ordering: .relaxed) }
      noteShort(error)
    }
  }

  private func noteShort(_ lack: FileIOError?) {
    short.store(true, ordering: .relaxed)
    shortage = lack ?? shortage
  }

  private func fill(_ part: Part) throws(FileIOError) {
    let (length, isHeld) = (UInt64(wanted[part]), held[part, default: 0])
    guard isHeld < length else { return }
    // Not tried in vain: others would find the medium full meanwhile.
    if let free = try? directory.availableBytes(), free < length - isHeld {
      throw FileIOError(.noSpace, operation: "allocate", path: directory.path + "/" + Self.name(part))
    }
    let file = try directory.open(Self.name(part), isHeld > 0 ? .readWrite : .create)
    do {
      try file.allocate(length)
      try file.close()
      held[part] = length
    } catch {
      if isHeld == 0 { try? directory.remove(Self.name(part)) }
      throw error
    }
  }

  private static func name(_ part: Part) -> String { StoreFileName.reserve(part.rawValue).string }
}

extension ReserveSize {
  fileprivate subscript(part: Reserve.Part) -> Int {
    switch part {
    case .removals: removals
    case .compaction: compaction
    }
  }
}
