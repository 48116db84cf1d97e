import Foundation

/// A package index on this machine, and the label it goes by.
///
/// The names of apt's files carry the host they came from. A label never does: it is made from the
/// part after `_dists_` in such a name, or from apt's suite and component.
public struct IndexFile: Hashable, Sendable {
  /// The path of the file. For opening it, not for displaying it.
  public var path: String
  /// What to show instead of the path: suite or codename, component and architecture.
  public var label: String
  /// The size of the file, compressed as it is.
  public var byteCount: Int

  /// A file with a label that apt's own words give.
  public init(path: String, label: String) {
    self.path = path
    self.label = label
    let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber
    byteCount = size?.intValue ?? 0
  }

  /// A file with the label that its name gives.
  public init(path: String) {
    self.init(path: path, label: Self.label(forFileName: (path as NSString).lastPathComponent))
  }

  /// `..._dists_bookworm_main_binary-amd64_Packages.lz4` is labelled "bookworm/main amd64"; other
  /// files of apt are labelled by their last part, files of other names by their name.
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
