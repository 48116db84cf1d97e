import PerdureFileIO
import PerdureFormat

/// The files in a store's directory, by kind.
struct StoreFiles {
  var segments: [UInt64] = []
  var blobs: [UInt64] = []
  var indexes: [UInt64] = []
  var reserves: [UInt64] = []
  var temporaries: [String] = []
  var hasSuperblock = false
  /// Names of files that do not belong to a store, except hidden files.
  var foreignFiles: [String] = []

  init(in directory: any Directory) throws {
    for string in try directory.contents() {
      switch StoreFileName(string) {
      case .segment(let number): segments.append(number)
      case .blob(let number): blobs.append(number)
      case .index(let number): indexes.append(number)
      case .reserve(let number): reserves.append(number)
      case .temporary: temporaries.append(string)
      case .superblock: hasSuperblock = true
      case .lock, .readers: break
      case nil: if !string.hasPrefix(".") { foreignFiles.append(string) }
      }
    }
  }
}
