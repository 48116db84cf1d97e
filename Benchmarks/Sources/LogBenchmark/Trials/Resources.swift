import Foundation

/// What the process and its files take.
enum Resources {
  /// Blocks that all files of a folder take, in bytes.
  static func diskBytes(of folder: String) -> Int {
    let paths = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
    return paths.reduce(0) { sum, path in
      var status = stat()
      guard lstat(folder + "/" + path, &status) == 0 else { return sum }
      return sum + Int(status.st_blocks) * 512
    }
  }

  /// Private memory that is resident; mapped files do not count. 0 where the system does not say.
  static var privateMemoryBytes: Int {
    guard let text = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return 0 }
    for line in text.split(separator: "\n") where line.hasPrefix("RssAnon:") {
      let digits = line.filter(\.isNumber)
      return (Int(digits) ?? 0) * 1024
    }
    return 0
  }
}
