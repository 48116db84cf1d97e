import Foundation

/// A package index on this machine, and its label.
///
/// The names of apt's files contain the host from which they were downloaded. A label never
/// contains the host. The label is made from the part of the name after `_dists_`, or from apt's
/// suite and component.
public struct IndexFile: Hashable, Sendable {
  /// The path of the file. Use it for opening the file, not for display.
  public var path: String
  /// The text to show instead of the path: suite or codename, component and architecture.
  public var label: String
  /// The size of the file on disk, in bytes; 0 if it is unknown. The file may be compressed.
  public var byteCount: Int

  /// Describes an existing file, with a label from apt's data.
  public init(path: String, label: String) {
    self.path = path
    self.label = label
    let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber
    byteCount = size?.intValue ?? 0
  }

  /// Describes an existing file, with a label from its name.
  public init(path: String) {
    self.init(path: path, label: Self.label(forFileName: (path as NSString).lastPathComponent))
  }

  /// The label of a file. For `..._dists_bookworm_main_binary-amd64_Packages.lz4` it is
  /// "bookworm/main amd64". Without `_dists_` in the name, it is the part after the last `_`, or
  /// the whole name if there is no `_`.
  static func label(forFileName name: String) -> String {
    guard let dists = name.range(of: "_dists_", options: .backwards) else {
      return name.split(separator: "_").last.map(String.init) ?? name
    }
    var parts = name[dists.upperBound...].split(separator: "_").map(String.init)
    guard parts.count > 1 else { return parts.first ?? "index" }
    parts.removeLast()
    guard let last = parts.last, last.hasPrefix("binary-") else { return parts.joined(separator: "/") }
    parts.removeLast()
    return parts.joined(separator: "/") + " " + last.dropFirst("binary-".count)
  }
}
