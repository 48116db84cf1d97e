// Files with several names (hard links) in an image.
//
// The link numbers of equal images are equal: files are numbered in the order of their first paths.
// A file whose other names were lost has no number.

extension CrashImage {
  /// The image with link numbers in the order of the first paths.
  func withNumberedLinks() -> CrashImage {
    var counts: [UInt64: Int] = [:]
    Self.count(root, &counts)
    if counts.isEmpty { return self }
    var numbers: [UInt64: UInt64] = [:]
    return CrashImage(root: Self.numbered(root, counts, &numbers))
  }

  private static func count(_ entries: [String: Node], _ counts: inout [UInt64: Int]) {
    for node in entries.values {
      switch node {
      case .file(_, let link): if let link { counts[link, default: 0] += 1 }
      case .directory(let inner): count(inner, &counts)
      }
    }
  }

  private static func numbered(
    _ entries: [String: Node], _ counts: [UInt64: Int], _ numbers: inout [UInt64: UInt64]
  ) -> [String: Node] {
    var result = entries
    for (name, node) in entries.sorted(by: { $0.key < $1.key }) {
      switch node {
      case .file(_, nil): break
      case .file(let bytes, let link?):
        guard counts[link] ?? 0 > 1 else {
          result[name] = .file(bytes)
          continue
        }
        let number = numbers[link] ?? UInt64(numbers.count)
        numbers[link] = number
        result[name] = .file(bytes, link: number)
      case .directory(let inner): result[name] = .directory(numbered(inner, counts, &numbers))
      }
    }
    return result
  }
}

/// The first path of each file with several names, for code that creates an image's files.
struct ImageLinks {
  private var firsts: [UInt64: String] = [:]

  /// The first path of the file with the number `link`. Nil if `path` is its first path, or if the
  /// file has one name.
  mutating func first(of link: UInt64?, otherwise path: String) -> String? {
    guard let link else { return nil }
    if let first = firsts[link] { return first }
    firsts[link] = path
    return nil
  }
}
