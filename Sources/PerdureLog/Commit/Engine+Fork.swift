import PerdureFileIO

// After a fork, parent and child share the open files of the store. The writer's lock belongs to
// the open file, so both processes hold it. If the child wrote, its frames would overwrite the
// parent's. So only the process that opened a store may use that opening.
//
// Invariants
//  FK1  `mark` says which process opened the store. A call checks it before it acquires a lock. A
//       thread of the parent may have held the lock at the fork, and the child lacks that thread.
//  FK2  In a child every call that can throw throws `.forked`. A snapshot that a child takes is the
//       last state before the fork. Its `sequence` and `count(in:)` answer from memory, and its
//       reads throw. It is not pinned: the memory of the child stays as it was at the fork.
//  FK3  Closing and releasing in a child change no file, release no lock and wait for none. They
//       release the child's own memory and descriptors only.

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
