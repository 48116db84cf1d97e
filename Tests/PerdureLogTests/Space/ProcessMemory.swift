import PerdureFileIO

/// The system's data about this process's memory.
enum ProcessMemory {
  /// - Parameter name: The name in Linux: `VmHWM` is the largest resident size so far, `VmSize` the
  ///   size of the address space.
  /// - Returns: The number of bytes; nil if the system does not report it.
  static func bytes(_ name: String) -> Int? {
    guard let file = try? POSIXFileSystem().open("/proc/self/status", .read),
      let bytes = try? file.read(1 << 16, at: 0)
    else { return nil }
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    let line = lines.first { $0.hasPrefix(name + ":") }
    return line?.split(separator: " ").compactMap { Int($0) }.first.map { $0 << 10 }
  }
}
