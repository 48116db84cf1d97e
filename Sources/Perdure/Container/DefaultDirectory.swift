// The default folder of stores, for programs that do not name a folder.

internal import PerdureFileIO

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// The conventions of platforms about the data of programs, as a function of the environment.
enum DefaultDirectory {
  enum Platform: Sendable, CaseIterable {
    /// Linux and other systems with the XDG base directories.
    case xdg
    case apple
    case windows

    static var current: Platform {
      #if canImport(Darwin)
        .apple
      #elseif os(Windows)
        .windows
      #else
        .xdg
      #endif
    }
  }

  /// The folder for the data of a program.
  ///
  /// - Parameters:
  ///   - environment: The variables of the process. Empty values count as absent, and so do
  ///     relative paths, as the XDG specification says.
  ///   - home: The home folder of the user. Other platforms than Apple's use it only if the
  ///     environment does not name one.
  ///   - process: The name of the program.
  static func path(
    on platform: Platform, environment: [String: String], home: String, process: String
  ) -> String {
    func folder(_ name: String) -> String? {
      environment[name].flatMap { isAbsolute($0, on: platform) ? withoutSeparatorAtEnd($0) : nil }
    }
    let home = withoutSeparatorAtEnd(home)
    switch platform {
    case .xdg: return "\(folder("XDG_DATA_HOME") ?? "\(folder("HOME") ?? home)/.local/share")/\(process)"
    // In a sandbox, the home folder of a program differs from HOME.
    case .apple: return "\(home)/Library/Application Support/\(process)"
    case .windows:
      let data = folder("LOCALAPPDATA") ?? "\(folder("USERPROFILE") ?? home)\\AppData\\Local"
      return "\(data)\\\(process)"
    }
  }

  private static func isAbsolute(_ path: String, on platform: Platform) -> Bool {
    guard platform == .windows else { return path.hasPrefix("/") }
    return path.hasPrefix("\\\\") || path.dropFirst().hasPrefix(":\\") || path.dropFirst().hasPrefix(":/")
  }

  private static func withoutSeparatorAtEnd(_ path: String) -> String {
    path.count > 1 && (path.hasSuffix("/") || path.hasSuffix("\\")) ? String(path.dropLast()) : path
  }

  /// The folder for the data of this process.
  static func ofProcess() -> String {
    let process = ProcessInfo.processInfo
    return path(
      on: .current, environment: process.environment,
      home: FileManager.default.homeDirectoryForCurrentUser.path, process: process.processName)
  }

  /// Creates the missing folders above a path, the highest first. Each is durable when the call
  /// returns.
  static func createFolders(above path: String, in fileSystem: any FileSystem) throws(FileIOError) {
    guard let folder = parent(of: path), try fileSystem.kind(of: folder) == nil else { return }
    try createFolders(above: folder, in: fileSystem)
    do throws(FileIOError) {
      try fileSystem.createDirectory(folder)
    } catch {
      // Another process may have created the folder in the meantime.
      if error.code != .alreadyExists { throw error }
    }
    try fileSystem.syncDirectory(parent(of: folder) ?? ".")
  }

  /// The folder that contains a file; nil if the path has no slash.
  private static func parent(of path: String) -> String? {
    guard let slash = withoutSeparatorAtEnd(path).lastIndex(of: "/") else { return nil }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}
