import PerdureFileIO
import PerdureFormat

/// The file that holds the four superblock slots.
struct SuperblockFile {
  let file: any File
  private(set) var current: Superblock

  /// Makes the file so that it is there whole or not at all.
  static func create(
    in directory: String, _ superblock: Superblock, _ fileSystem: any FileSystem
  ) throws(FileIOError) -> SuperblockFile {
    let path = directory + "/" + StoreFileName.superblock.string
    let temporary = directory + "/" + StoreFileName.temporary("SUPERBLOCK").string
    if try fileSystem.kind(of: temporary) != nil { try fileSystem.remove(temporary) }
    let file = try fileSystem.open(temporary, .create)
    try file.write([UInt8](repeating: 0, count: Superblock.fileLength), at: 0)
    try write(superblock, to: file)
    try fileSystem.rename(temporary, to: path)
    try fileSystem.syncDirectory(directory)
    try file.close()
    return SuperblockFile(file: try fileSystem.open(path, .readWrite), current: superblock)
  }

  static func open(
    in directory: String, _ mode: FileMode, _ fileSystem: any FileSystem
  ) throws -> SuperblockFile {
    let file = try fileSystem.open(directory + "/" + StoreFileName.superblock.string, mode)
    let bytes = try file.read(Superblock.fileLength, at: 0)
    let newest = try bytes.withUnsafeBytes { try Self.newest(in: $0) }
    return SuperblockFile(file: file, current: newest)
  }

  private static func newest(in bytes: UnsafeRawBufferPointer) throws(StoreError) -> Superblock {
    do {
      return try Superblock.newest(in: bytes)
    } catch {
      let isUnknown = error.reason == .unsupported
      throw StoreError(
        isUnknown ? .unsupportedFormat : .corruption,
        isUnknown
          ? "The store needs a newer version of Perdure: \(error)"
          : "No copy of the superblock is valid: \(error); nothing was changed: restore the store from a backup",
        at: "\(StoreFileName.superblock.string), byte \(error.offset)")
    }
  }

  /// Writes the next generation into the oldest slot, and syncs it.
  mutating func replace(_ change: (inout Superblock) -> Void) throws(FileIOError) {
    var next = current
    change(&next)
    next.generation = current.generation + 1
    try Self.write(next, to: file)
    current = next
  }

  private static func write(_ superblock: Superblock, to file: any File) throws(FileIOError) {
    var bytes = [UInt8](repeating: 0, count: Superblock.slotLength)
    bytes.withUnsafeMutableBytes { superblock.write(to: $0) }
    try file.write(bytes, at: UInt64(superblock.slot * Superblock.slotLength))
    try file.sync(.full)
  }
}
