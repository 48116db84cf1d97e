import PerdureFileIO

// After a fork, parent and child share the open files of the store. The writer's lock belongs to
// the open file, so both processes hold it. If the child writes, its frames overwrite the parent's
// frames. So only the process that opened a store may use that opening.
//
// Invariants
//  FK1  `mark` identifies the process that opened the store. Each call checks the mark before it
//       acquires a lock. The reason: a thread of the parent may have held the lock at the fork, and
//       that thread does not exist in the child.
//  FK2  In a child every call that can throw throws `.forked`. A snapshot that a child takes has
//       the last state before the fork. Its `sequence` and `count(in:)` return values from memory,
//       and its reads throw. It is not pinned: the memory of the child stays as it was at the fork.
//  FK3  In a child, closing and releasing change no file, release no lock and wait for no lock.
//       They release only the child's own memory and descriptors.

extension Engine {
  /// Checks that this process opened the store. FK1
  ///
  /// - Throws: `.forked` in a child of the process that opened the store.
  @inline(__always)
  func checkProcess() throws(StoreError) {
    if !mark.isOwn { throw forked }
  }

  @inline(never)
  private var forked: StoreError { .forked(at: path) }
}
