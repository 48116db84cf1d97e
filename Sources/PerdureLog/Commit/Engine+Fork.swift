import PerdureFileIO

// A process that forks has its stores in two processes, with the same descriptors: those of the
// parent and of the child lead to the same open files, so the writer's lock, which belongs to the
// open file, admits both. A child that wrote would put its frames where the parent puts its own. So
// an opening belongs to the process that made it.
//
// Invariants
//  Y1  `mark` says which process opened the store. A call asks it before it takes a lock: a thread
//      of the parent may have held the lock at the fork, and the child does not have that thread.
//  Y2  In a child every call that can throw throws `.forked`. A snapshot that a child takes is the
//      last state before the fork; its `sequence` and `count(in:)` answer from memory, and its
//      reads throw. It is not pinned: the memory of the child stays as it was at the fork.
//  Y3  Closing and releasing in a child change no file, release no lock and wait for none. What a
//      child releases is its own memory and its own descriptors.

extension Engine {
  /// Y1
  ///
  /// - Throws: `.forked` in a child of the process that opened the store.
  @inline(__always)
  func checkProcess() throws(StoreError) {
    if !mark.isOwn { throw forked }
  }

  @inline(never)
  private var forked: StoreError { .forked(at: path) }
}
