import PerdureFileIO

// Files that have a second name outside the store's directory.
//
// Programs such as `cp -al` copy a directory with hard links. Then each file of the copy is also a
// file of the original, and a write to it in place changes both stores. So if a file has a second
// name when the store is opened, the writer does not write new content into that file. FORMAT.md,
// "Copies and backups".
//
// Invariants
//  SF1  The log does not continue in a last segment with a second name. The next commit begins a
//       new segment, as after a torn tail. Recovery may write the bytes of the log to it again,
//       exactly as they were read (R11).
//  SF2  The first write to a SUPERBLOCK with a second name replaces it by a new file. This happens
//       in the opening.
//  SF3  Checkpoints do not continue in an index file with a second name: the first one begins
//       another file. If the file is damaged, its name is removed and its bytes are unchanged.
//  SF4  A prepared segment with a second name is removed, and its number is used by a new file.
//  SF5  A reserve with a second name is removed in the opening, because removing it later frees no
//       space.
//
// LOCK and READERS stay shared. Their content has no meaning when the locks on them are released.
// Sharing LOCK prevents both stores from being open for writing at the same time. Sharing READERS
// makes each writer respect the readers of both stores. If one store replaces READERS by a new
// file, the other store's writer does not see the slots in the new file. That writer may then
// remove a file that a reader needs.

extension File {
  /// Whether the file has a second name.
  func isShared() throws(FileIOError) -> Bool { try linkCount() > 1 }
}
