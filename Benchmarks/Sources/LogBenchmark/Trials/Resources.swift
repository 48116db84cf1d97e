import Foundation

/// The resources that the process and its files use.
enum Resources {
  /// The bytes of the blocks of all files in a folder, without reserved space.
  static func diskBytes(of folder: String) -> Int { bytes(of: folder) { !isReserve($0) } }

  /// The size of the reserve that keeps a store usable on a full disk, in bytes.
  static func reservedBytes(of folder: String) -> Int { bytes(of: folder, isReserve) }

  /// The bytes that the process has passed to write calls; 0 if the system does not report them.
  /// Bytes that are stored into maps are not included.
  static var writtenBytes: Int {
    guard let text = try? String(contentsOfFile: "/proc/self/io", encoding: .utf8) else { return 0 }
    for line in text.split(separator: "\n") where line.hasPrefix("wchar:") {
      return Int(line.filter(\.isNumber)) ?? 0
    }
    return 0
  }

  private static func isReserve(_ path: String) -> Bool { path.hasSuffix(".reserve") }

  private static func bytes(of folder: String, _ isWanted: (String) -> Bool) -> Int {
    let paths = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
    return paths.filter(isWanted).reduce(0) { sum, path in
      var status = stat()
      guard lstat(folder + "/" + path, &status) == 0 else { return sum }
      return sum + Int(status.st_blocks) * 512
    }
  }

  /// The resident private memory, without mapped files; 0 if the system does not report it.
  static var privateMemoryBytes: Int {
    guard let text = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return 0 }
    for line in text.split(separator: "\n") where line.hasPrefix("RssAnon:") {
      let digits = line.filter(\.isNumber)
      return (Int(digits) ?? 0) * 1024
    }
    return 0
  }
}
