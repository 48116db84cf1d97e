// Keeps retired items (nodes and blob files) while readers may still reach them.
//
// An item that was created with version b and retired with version d belongs to the states b ..< d.
// It is kept exactly as long as one of these states is held. States older than b do not need it.
// Checking every item against every pin repeatedly is too expensive. So an item is listed under the
// newest version that holds it. It is checked again only when that version is released. Then it is
// freed, or listed under an older version.
//
// Invariants
//  HB1  An item listed under v was created with v or before, and was retired after v. Version v was
//       held when the item was listed.
//  HB2  No version between v and the item's retirement was held when the item was listed, and no
//       such version is held later. A new pin can hold only the published version. Readers that
//       have not loaded their root yet (`unsettledFrom`) load no root older than the version they
//       noted. Items that such a reader may reach are not listed yet.
//  HB3  So each item is listed at most once for every version that was held when it was retired.
//       The work is bounded by the number of releases, not by the number of checks.

/// The retired items that readers still need, listed under the newest version that holds them.
struct HeldBack<Element> {
  private struct File {
    var version: UInt64
    var elements: [Element]
  }

  /// The groups of items listed under the same version, in ascending order of the versions.
  private var files: [File] = []

  var isEmpty: Bool { files.isEmpty }

  /// The number of items.
  var count: Int { files.reduce(0) { $0 + $1.elements.count } }

  /// Keeps an item until this version is released. HB1
  mutating func file(_ element: Element, under version: UInt64) {
    var (low, high) = (0, files.count)
    while low < high {
      let middle = (low + high) / 2
      if files[middle].version < version { low = middle + 1 } else { high = middle }
    }
    if low < files.count, files[low].version == version {
      files[low].elements.append(element)
    } else {
      files.insert(File(version: version, elements: [element]), at: low)
    }
  }

  func forEach(_ body: (Element) -> Void) {
    for file in files { file.elements.forEach(body) }
  }

  /// Removes and returns the items listed under versions that are no longer held. The caller frees
  /// each item, or lists it again. HB2
  mutating func takeUnheld(_ pinned: PinnedVersions) -> [Element] {
    var taken: [Element] = []
    for file in files where !pinned.mayHold(file.version...file.version) { taken += file.elements }
    if !taken.isEmpty { files.removeAll { !pinned.mayHold($0.version...$0.version) } }
    return taken
  }
}
