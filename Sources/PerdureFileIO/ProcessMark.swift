import CPerdureShims

/// Recognises whether code still runs in the process that made the mark. A fork clears it in the
/// child.
///
/// A child has its parent's memory and descriptors, but none of its other threads. Locks of open
/// files belong to both. So files opened before a fork belong to the parent. The child must not
/// write to them or unlock them, or wait for a lock that a thread of the parent held.
// Unchecked: the word behind the pointer is constant in one process, and is never freed.
package struct ProcessMark: @unchecked Sendable {
  @usableFromInline let word: UnsafePointer<UInt64>

  @usableFromInline
  init(_ word: UnsafePointer<UInt64>) { self.word = word }

  /// The mark of this process.
  ///
  /// - Throws: `.outOfMemory` if the system has no page left for it.
  package static func current() throws(FileIOError) -> ProcessMark {
    guard let mark = currentIfAny() else {
      throw FileIOError(.outOfMemory, operation: "reserve", path: "a page that a fork clears")
    }
    return mark
  }

  /// The mark of this process; nil if the system has no page left for it.
  package static func currentIfAny() -> ProcessMark? { perdure_process_mark().map(ProcessMark.init) }

  /// A mark that no fork clears, for tests of a fork without the check.
  package static let unchecked: ProcessMark = {
    let word = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)
    word.initialize(to: 1)
    return ProcessMark(UnsafePointer(word))
  }()

  /// Whether this process made the mark; false in a process forked from that one.
  ///
  /// - Complexity: one load; no call into the system.
  @inlinable package var isOwn: Bool {
    @inline(__always) get { word.pointee != 0 }
  }
}
