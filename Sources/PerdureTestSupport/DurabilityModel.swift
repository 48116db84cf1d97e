import PerdureFileIO

// The durable content of a disk, and the pending changes that may also be on it.
//
// The model applies the operations of a file system one by one. It has the durable bytes of each
// file, the durable entries of each directory, and a list of pending changes, oldest first. A power
// cut keeps some of the pending changes and loses the others. `DiskCutter` builds the resulting
// disk.
//
// The rules. They guarantee no more than the documentation of FileSystem and File:
//   DM1  `sync(.full)` of a file makes its pending writes durable, but no names.
//   DM2  `syncDirectory` makes the pending changes of that directory's entries durable, but no
//        bytes.
//   DM3  `sync(.ordered)` is a barrier: if a later change is on the disk, all earlier writes to the
//        file are on the disk too.
//   DM4  A rename within a directory is one change. A rename between directories is two changes.
//        The new name may be durable without the removal of the old one, but not vice versa.
//   DM5  A failed sync may forget writes and changes of a directory's entries. They may be on the
//        disk, but a later sync never makes them durable. Names can become durable after they are
//        written again (`rewriteForgottenNames`).
//   DM6  The blocks of a file whose last durable name was removed may be reused. A torn write in a
//        new file may leave the old file's bytes at the same offsets.
//   DM7  A new name of a file (hard link) is a change of its directory's entries like any other
//        change. A file is on the disk as long as it has a durable name.
//   DM8  Each other pending change is kept or lost independently of the rest, in any order.

/// The state of a simulated disk between two operations.
struct DurabilityModel: Sendable {
  typealias NodeID = UInt64

  /// The durable bytes of files that have any, and the durable entries of directories that have
  /// any.
  var files: [NodeID: FileBytes] = [:]
  var directories: [NodeID: [String: NodeID]] = [:]

  /// The files that have had several names at the same time, durable or not.
  private(set) var linked: Set<NodeID> = []

  /// The bytes of the files that were removed last, oldest first. DM6
  private(set) var freed: [FileBytes] = []

  private static let freedMax = 4

  /// The numbers of all directories, durable or not.
  private(set) var directoryNodes: Set<NodeID> = [rootNode]

  /// The changes that may also be on the disk, oldest first.
  private(set) var pending: [PendingChange] = []

  private(set) var barriers: [Barrier] = []
  private var nextChange = 0

  static let rootNode: NodeID = 0

  init() {}
}

/// A change that callers can see but that is not durable.
struct PendingChange: Sendable {
  enum Body: Sendable {
    case write(Write)
    case entries([Entry])
  }

  /// One name of a directory, which is set to a node or removed.
  struct Entry: Sendable {
    let directory: UInt64
    let name: String
    let node: UInt64?
  }

  struct Write: Sendable {
    let file: UInt64
    let offset: Int
    let bytes: [UInt8]

    var range: Range<Int> { offset..<offset + bytes.count }
  }

  let number: Int
  /// The operation that made the change, counted from 1.
  let operation: Int
  var body: Body
  /// The number of a change that must be on the disk if this change is on the disk (DM4).
  var requires: Int?
  /// Whether a failed sync has forgotten the change (DM5).
  var isForgotten = false

  func isWrite(to file: UInt64) -> Bool {
    if case .write(let write) = body { write.file == file } else { false }
  }

  var isEntry: Bool {
    if case .entries = body { true } else { false }
  }

  func isEntry(of directory: UInt64) -> Bool {
    if case .entries(let entries) = body { entries.contains { $0.directory == directory } } else { false }
  }
}

/// The changes that must be on the disk if any change after the operation is on the disk (DM3).
struct Barrier: Sendable {
  let operation: Int
  let covered: Set<Int>
}

/// The effect of an operation on the durability of changes.
enum DiskEvent: Sendable {
  case write(PendingChange.Write)
  case sync(file: UInt64, SyncMode)
  case forget(file: UInt64)
  case forgetEntries(directory: UInt64)
  case rememberEntries
  case create(PendingChange.Entry, isDirectory: Bool)
  case link(PendingChange.Entry)
  case remove(PendingChange.Entry)
  case rename([PendingChange.Entry])
  case syncDirectory(UInt64)
  /// The operation reported success and did nothing.
  case ignored
}

// Applies the operations.
extension DurabilityModel {
  /// Applies the operation with this number.
  mutating func apply(_ event: DiskEvent, operation: Int) {
    switch event {
    case .write(let write):
      add(.write(write), operation)
    case .sync(let file, .full):
      complete { $0.isWrite(to: file) && !$0.isForgotten }
    case .sync(let file, .ordered):
      let covered = pending.filter { $0.isWrite(to: file) && !$0.isForgotten }.map(\.number)
      if !covered.isEmpty { barriers.append(Barrier(operation: operation, covered: Set(covered))) }
    case .forget(let file):
      for index in pending.indices where pending[index].isWrite(to: file) {
        pending[index].isForgotten = true
      }
    case .forgetEntries(let directory):
      for index in pending.indices where pending[index].isEntry(of: directory) {
        pending[index].isForgotten = true
      }
    case .rememberEntries:
      for index in pending.indices where pending[index].isEntry { pending[index].isForgotten = false }
    case .create(let entry, let isDirectory):
      if isDirectory, let node = entry.node { directoryNodes.insert(node) }
      add(.entries([entry]), operation)
    case .link(let entry):
      if let node = entry.node { linked.insert(node) }
      add(.entries([entry]), operation)
    case .remove(let entry):
      add(.entries([entry]), operation)
    case .rename(let entries):
      addRename(entries, operation)
    case .syncDirectory(let directory):
      complete { $0.isEntry(of: directory) && !$0.isForgotten }
    case .ignored:
      break
    }
  }

  /// Adds a node to the content of the disk at the start.
  mutating func place(_ node: NodeID, _ name: String, in directory: NodeID, bytes: FileBytes?) {
    directories[directory, default: [:]][name] = node
    if let bytes { files[node] = bytes } else { directoryNodes.insert(node) }
  }

  /// Adds another name of a file to the content of the disk at the start.
  mutating func placeLink(_ node: NodeID, _ name: String, in directory: NodeID) {
    directories[directory, default: [:]][name] = node
    linked.insert(node)
  }

  private mutating func addRename(_ entries: [PendingChange.Entry], _ operation: Int) {
    if Set(entries.map(\.directory)).count == 1 {
      add(.entries(entries), operation)
    } else {
      // The new name comes first in the list. The removal of the old name requires it (DM4).
      var previous: Int?
      for entry in entries { previous = add(.entries([entry]), operation, requires: previous) }
    }
  }

  @discardableResult
  private mutating func add(_ body: PendingChange.Body, _ operation: Int, requires: Int? = nil) -> Int {
    pending.append(
      PendingChange(number: nextChange, operation: operation, body: body, requires: requires))
    nextChange += 1
    return nextChange - 1
  }

  /// Makes changes durable, with the changes that they require.
  private mutating func complete(_ isCovered: (PendingChange) -> Bool) {
    var completed = Set(pending.filter(isCovered).map(\.number))
    guard !completed.isEmpty else { return }
    demand(&completed)
    var written: [NodeID: [UInt8]] = [:]
    for change in pending where completed.contains(change.number) { makeDurable(change, &written) }
    for (file, bytes) in written { files[file] = FileBytes(bytes) }
    pending.removeAll { completed.contains($0.number) }
    barriers.removeAll { $0.covered.isSubset(of: completed) }
  }

  /// Adds to `kept` the changes that DM3 and DM4 require.
  func demand(_ kept: inout Set<Int>) {
    for change in pending where kept.contains(change.number) {
      if let required = change.requires { kept.insert(required) }
    }
    for barrier in barriers.reversed()
    where pending.contains(where: { $0.operation > barrier.operation && kept.contains($0.number) }) {
      kept.formUnion(barrier.covered)
    }
  }

  /// - Parameter written: The new bytes of written files, which are built once for all writes to a
  ///   file.
  private mutating func makeDurable(_ change: PendingChange, _ written: inout [NodeID: [UInt8]]) {
    switch change.body {
    case .write(let write):
      forgetOverwritten(by: write)
      written[write.file, default: files[write.file]?.bytes ?? []].overlay(write.bytes, at: write.offset)
    case .entries(let entries):
      var replaced: [NodeID] = []
      for entry in entries {
        let old = directories[entry.directory]?[entry.name]
        directories[entry.directory, default: [:]][entry.name] = entry.node
        if let old, old != entry.node { replaced.append(old) }
      }
      forgetOlderEntries(than: change, entries)
      for node in replaced { free(node) }
    }
  }

  /// Adds the bytes of a file to `freed`, if the file has no durable or pending name (DM6).
  private mutating func free(_ node: NodeID) {
    guard let bytes = files[node], !bytes.bytes.isEmpty else { return }
    let isNamed = directories.values.contains { $0.values.contains(node) }
    let isPending = pending.contains { change in
      guard case .entries(let entries) = change.body else { return false }
      return entries.contains { $0.node == node }
    }
    guard !isNamed, !isPending else { return }
    freed.append(bytes)
    if freed.count > Self.freedMax { freed.removeFirst() }
  }

  /// Drops older pending changes of a name, because they cannot replace a newer durable change.
  private mutating func forgetOlderEntries(than change: PendingChange, _ durable: [PendingChange.Entry]) {
    for index in pending.indices where pending[index].number < change.number {
      guard case .entries(let older) = pending[index].body else { continue }
      pending[index].body = .entries(
        older.filter { entry in
          !durable.contains { $0.directory == entry.directory && $0.name == entry.name }
        })
    }
    pending.removeAll { if case .entries(let entries) = $0.body { entries.isEmpty } else { false } }
  }

  /// Drops older writes that a failed sync has forgotten, because they cannot replace newer durable
  /// bytes.
  private mutating func forgetOverwritten(by write: PendingChange.Write) {
    pending.removeAll { change in
      guard change.isForgotten, case .write(let forgotten) = change.body else { return false }
      return forgotten.file == write.file && forgotten.range.overlaps(write.range)
    }
  }
}
