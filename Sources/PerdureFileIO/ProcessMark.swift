import CPerdureShims

/// Detects a fork: checks whether code still runs in the process that made the mark. A fork clears
/// the mark in the child.
///
/// A child has its parent's memory and descriptors, but only one thread. Parent and child share the
/// locks of open files, so files opened before a fork belong to the parent. The child must not
/// write to them, unlock them, or wait for a lock that a thread of the parent held.
// Unchecked: the word behind the pointer is constant in each process, and it is never freed.
package struct ProcessMark: @unchecked Sendable {
  @usableFromInline let word: UnsafePointer<UInt64>

  @usableFromInline
  init(_ word: UnsafePointer<UInt64>) { self.word = word }

  /// The mark of this process.
  ///
  /// - Throws: `.outOfMemory` if the system has no memory page left for the mark.
  package static func current() throws(FileIOError) -> ProcessMark {
    guard let mark = currentIfAny() else {
      throw FileIOError(.outOfMemory, operation: .reserve, path: "a page that a fork clears")
    }
    return mark
  }

  /// The mark of this process; nil if the system has no memory page left for it.
  package static func currentIfAny() -> ProcessMark? { perdure_process_mark().map(ProcessMark.init) }

  /// Selects the fork handler as the only way to clear the marks of this process. Systems whose
  /// kernel cannot clear a page use this way. Tests call this function before the first mark.
  ///
  /// - Returns: False if the process already has a mark. Then nothing has changed.
  package static func clearByHandlerOnly() -> Bool { perdure_process_mark_by_handler() != 0 }

  /// A mark that no fork clears. Tests use it to fork without the check.
  package static let unchecked: ProcessMark = {
    let word = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)
    word.initialize(to: 1)
    return ProcessMark(UnsafePointer(word))
  }()

  /// Whether this process made the mark. False in a forked child of that process.
  ///
  /// - Complexity: One load, without a system call.
  @inlinable package var isOwn: Bool {
    @inline(__always) get { word.pointee != 0 }
  }
}
