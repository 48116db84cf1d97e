import PerdureFileIO
import PerdureFormat
import Synchronization

// Reserves space on the medium with files whose content has no meaning.
//
// A log can free space only by writing. A removal appends a tombstone, and the compaction of a
// segment writes its live records again. If the medium has no free byte, both fail. So the store
// keeps files that only occupy space, and removes them when it needs the space.
//
// Invariants
//  RV1  Commits that make the store larger never use the reserve. While the reserve is incomplete
//       (`isShort`), they are refused.
//  RV2  The part for compaction is not used for removals. So a store without free space can always
//       be compacted, and compaction frees more space than it uses.
//  RV3  No data depends on the files: the next opening may find them or not. They are not synced.

/// The reserve of a store.
// Unchecked: its state is guarded by `lock`, or atomic.
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
  /// Whether a compaction is using its part. The reserve is not restored before the compaction
  /// ends. Otherwise a checkpoint that the compaction requests restores the reserve, and takes the
  /// space from the compaction.
  private var isLent = false
  private let short = Atomic<Bool>(false)
  /// The system's error when the space was last found to be short.
  private var shortage: FileIOError?

  /// - Parameter numbers: The numbers of the reserve files that exist.
  init(in directory: any Directory, found numbers: [UInt64]) {
    self.directory = directory
    for part in numbers.compactMap(Part.init(rawValue:)) {
      let file = try? directory.open(Self.name(part), .read)
      if let file, (try? file.isShared()) == true {
        // SharedFiles, SF5. If the file cannot be removed, the store has no reserve for this part.
        try? directory.remove(Self.name(part))
      } else {
        held[part] = file.flatMap { try? $0.size() } ?? 0
      }
    }
  }

  /// Whether the reserve is incomplete because of a lack of space. RV1
  var isShort: Bool { short.load(ordering: .relaxed) }

  /// The system's error at the last shortage; nil while the reserve is complete.
  var lackOfSpace: FileIOError? { lock.withLock { isShort ? shortage : nil } }

  /// The number of reserved bytes.
  var heldBytes: UInt64 { lock.withLock { held.values.reduce(0, +) } }

  /// Sets the size of the reserve, and allocates the missing parts for which there is space. Frees
  /// a part first if it is more than twice as long as needed.
  func hold(_ size: ReserveSize) {
    lock.withLock {
      wanted = size
      for part in Part.allCases where (held[part] ?? 0) > 2 * UInt64(size[part]) { remove(part) }
      fill()
    }
  }

  /// Restores the released parts of the reserve.
  ///
  /// - Returns: False if the reserve is still incomplete because of a lack of space.
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
  /// - Returns: Whether space was freed.
  func free(_ part: Part, for lack: FileIOError?) -> Bool {
    lock.withLock {
      noteShort(lack)
      return remove(part)
    }
  }

  /// Frees the space of the part for compaction. The caller must then call `reclaim`.
  ///
  /// - Parameter lack: The system's error.
  /// - Returns: Whether space was freed. If not, the caller need not call `reclaim`.
  func lend(for lack: FileIOError?) -> Bool {
    lock.withLock {
      guard remove(.compaction) else { return false }
      noteShort(lack)
      isLent = true
      return true
    }
  }

  /// Restores the parts of the reserve for which there is space, after the compaction has ended.
  func reclaim() {
    lock.withLock {
      isLent = false
      fill()
    }
  }

  @discardableResult
  private func remove(_ part: Part) -> Bool {
    guard held[part, default: 0] > 0 else { return false }
    do throws(FileIOError) { try directory.remove(Self.name(part)) } catch {
      // After any other error, the file still exists and occupies the space.
      if error.code == .notFound { held[part] = nil }
      return false
    }
    held[part] = nil
    return true
  }

  private func fill() {
    if isLent { return }
    do {
      // The part for compaction is filled first: if compaction is possible, removals are possible
      // too.
      for part in [Part.compaction, .removals] { try fill(part) }
      short.store(false, ordering: .relaxed)
    } catch {
      // Other errors give no information about the space, so a known lack of space stays recorded.
      if error.code.isLackOfSpace { noteShort(error) }
    }
  }

  private func noteShort(_ lack: FileIOError?) {
    short.store(true, ordering: .relaxed)
    shortage = lack ?? shortage
  }

  private func fill(_ part: Part) throws(FileIOError) {
    let (length, heldLength) = (UInt64(wanted[part]), held[part, default: 0])
    guard heldLength < length else { return }
    // Does not try an allocation that is too large. The attempt can fill the medium for a moment,
    // so that writes of other programs fail.
    if let free = try? directory.availableBytes(), free < length - heldLength {
      throw FileIOError(.noSpace, operation: .allocate, path: directory.path + "/" + Self.name(part))
    }
    let file = try directory.open(Self.name(part), heldLength > 0 ? .readWrite : .create)
    do {
      try file.allocate(length)
      try file.close()
      held[part] = length
    } catch {
      if heldLength == 0 { try? directory.remove(Self.name(part)) }
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
