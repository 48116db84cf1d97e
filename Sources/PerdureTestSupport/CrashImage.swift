/// The content of a disk after a power cut: directories, names and bytes, all durable.
///
/// An image is a value and is cheap to copy. A `SimulatedFileSystem` made from an image does not
/// change the image.
public struct CrashImage: Sendable, Hashable {
  indirect enum Node: Sendable, Hashable {
    /// - Parameter link: The number of the file in the image if it has several names; otherwise
    ///   nil.
    case file(FileBytes, link: UInt64? = nil)
    case directory([String: Node])
  }

  /// The content of the root directory.
  var root: [String: Node]

  init(root: [String: Node]) {
    self.root = root
  }

  /// An image of an empty disk.
  public static let empty = CrashImage(root: [:])

  /// The paths of all files and directories, sorted. Paths of directories end with `/`. O(n log n).
  public var paths: [String] {
    Self.paths(in: root, under: "").sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// The bytes of the file at `path`, which starts at the root; nil if no such file exists.
  public func bytes(at path: String) -> [UInt8]? {
    var node = Node.directory(root)
    for name in path.split(separator: "/") {
      guard case .directory(let entries) = node, let next = entries[String(name)] else { return nil }
      node = next
    }
    guard case .file(let file, _) = node else { return nil }
    return file.bytes
  }

  /// Replaces the bytes of the file at `path`, to test the effects of damage. If the file has other
  /// names, they then refer to a separate file with the original bytes.
  ///
  /// - Returns: False, without any change, if no such file exists.
  @discardableResult
  public mutating func setBytes(_ bytes: [UInt8], at path: String) -> Bool {
    guard self.bytes(at: path) != nil else { return false }
    root = Self.replacing(path.split(separator: "/")[...], in: root, with: bytes)
    self = withNumberedLinks()
    return true
  }

  private static func replacing(
    _ names: ArraySlice<Substring>, in entries: [String: Node], with bytes: [UInt8]
  )
    -> [String: Node]
  {
    guard let name = names.first.map(String.init) else { return entries }
    var entries = entries
    if case .directory(let inner)? = entries[name] {
      entries[name] = .directory(replacing(names.dropFirst(), in: inner, with: bytes))
    } else {
      entries[name] = .file(FileBytes(bytes))
    }
    return entries
  }

  /// A new file system with this content on its disk.
  public func fileSystem() -> SimulatedFileSystem {
    SimulatedFileSystem(self)
  }

  private static func paths(in entries: [String: Node], under prefix: String) -> [String] {
    entries.flatMap { name, node in
      switch node {
      case .file: ["\(prefix)/\(name)"]
      case .directory(let inner): ["\(prefix)/\(name)/"] + paths(in: inner, under: "\(prefix)/\(name)")
      }
    }
  }
}

extension CrashImage {
  /// A hash of the image. Different images have the same hash with a probability of 2^-64. The hash
  /// is valid only within one process.
  var fingerprint: Int { Self.fingerprint(root) }

  /// The sum of the hashes of all names. All names are different, so their order has no effect.
  private static func fingerprint(_ entries: [String: Node]) -> Int {
    var sum = entries.count
    for (name, node) in entries {
      var hasher = Hasher()
      hasher.combine(name)
      switch node {
      case .file(let bytes, let link):
        hasher.combine(bytes.fingerprint)
        hasher.combine(link)
      case .directory(let inner):
        hasher.combine(-1)
        hasher.combine(fingerprint(inner))
      }
      sum &+= hasher.finalize()
    }
    return sum
  }
}
