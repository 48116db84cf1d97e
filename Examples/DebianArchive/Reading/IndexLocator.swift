import Foundation

/// Finds the package indexes of this machine.
public enum IndexLocator {
  /// The file in which dpkg lists installed packages.
  static let dpkgStatusPath = "/var/lib/dpkg/status"

  /// The indexes to read, in a stable order.
  ///
  /// - Parameter path: A file, or a folder of package indexes. Indexes are files named `Packages`,
  ///   `..._Packages` or `status`; these names may end in `.lz4`. Without a path, the indexes of
  ///   apt are used. If apt has none, the status file of dpkg is used.
  /// - Returns: At least one file.
  /// - Throws: `.notFound` with the remedy.
  public static func indexes(at path: String? = nil) throws(ArchiveReadError) -> [IndexFile] {
    if let path { return try indexes(inPath: path) }
    let arguments = ["indextargets", "--format", aptFormat, "Created-By: Packages"]
    return try indexes(aptListing: ToolRun.output(of: "apt-get", arguments), statusPath: dpkgStatusPath)
  }

  /// The readable indexes in apt's listing. If there are none, the packages that dpkg has
  /// installed.
  static func indexes(aptListing: String?, statusPath: String) throws(ArchiveReadError) -> [IndexFile] {
    let fromApt = indexes(inAptListing: aptListing ?? "").filter {
      FileManager.default.isReadableFile(atPath: $0.path)
    }
    if !fromApt.isEmpty { return fromApt }
    guard FileManager.default.isReadableFile(atPath: statusPath) else {
      throw ArchiveReadError(
        .notFound,
        "There is no package index here. Run 'apt-get update', or give the path of a Packages file.")
    }
    return [IndexFile(path: statusPath, label: "installed packages")]
  }

  private static func indexes(inPath path: String) throws(ArchiveReadError) -> [IndexFile] {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
      throw ArchiveReadError(.notFound, "There is no file or folder at this path.")
    }
    guard isFolder.boolValue else { return [IndexFile(path: path)] }
    let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    let found = names.filter(isIndexName).sorted().map {
      IndexFile(path: (path as NSString).appendingPathComponent($0))
    }
    guard !found.isEmpty else {
      throw ArchiveReadError(.notFound, "The folder has no file named Packages or Packages.lz4.")
    }
    return withLabelsApart(found)
  }

  /// The files with unique labels: a repeated label gets a number. The progress of an import is
  /// stored under its label.
  private static func withLabelsApart(_ files: [IndexFile]) -> [IndexFile] {
    var counts: [String: Int] = [:]
    return files.map { file in
      var file = file
      let count = counts[file.label, default: 0] + 1
      counts[file.label] = count
      if count > 1 { file.label += " (\(count))" }
      return file
    }
  }

  static func isIndexName(_ name: String) -> Bool {
    let plain = name.hasSuffix(".lz4") ? String(name.dropLast(".lz4".count)) : name
    return plain == "Packages" || plain.hasSuffix("_Packages") || plain == "status"
  }

  // MARK: apt

  /// apt's data about each index, as tab-separated fields. It contains the file's path and the
  /// words of the label, so the label has no host name.
  private static let aptFormat = "$(FILENAME)\t$(CODENAME)\t$(SUITE)\t$(COMPONENT)\t$(ARCHITECTURE)"

  static func indexes(inAptListing listing: String) -> [IndexFile] {
    var seen: Set<String> = []
    let found: [IndexFile] = listing.split(separator: "\n").compactMap { line in
      let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
      guard fields.count == 5, !fields[0].isEmpty, seen.insert(fields[0]).inserted else { return nil }
      return IndexFile(path: fields[0], label: label(fields))
    }
    return withLabelsApart(found)
  }

  private static func label(_ fields: [String]) -> String {
    let suite = [fields[1], fields[2]].first { !$0.isEmpty } ?? "archive"
    let component = fields[3].isEmpty ? "" : "/" + fields[3]
    let architecture = fields[4].isEmpty ? "" : " " + fields[4]
    return suite + component + architecture
  }
}
