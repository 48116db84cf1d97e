// Things that went out of use while readers may still hold a state that has them: nodes, blob files.
//
// A thing that was born with version b and went with version d belongs to the states b ..< d. It has to stay while
// one of these is held, and no longer, however old other states are that somebody holds. To ask every pin about every
// thing again and again would cost their product. So a thing is filed under the newest version that holds it,
// and looked at again only when nobody holds that one any more: then it goes, or is filed under an older one.
//
// Invariants
//  I1  What is filed under v was born with v or before, went after v, and v was held when it was filed.
//  I2  No version between v and its end was held when a thing was filed, and none comes to be: only the version
//      that is published gets new pins, and readers that have not found their root yet (`unsettledFrom`) find none
//      before what they noted. Things that such a reader may find are not filed yet.
//  I3  So each thing is filed at most once for every version that was held when it went: the work is bounded by
//      what readers let go of, not by how often somebody looks.

/// What readers hold back, by the newest version that does.
struct HeldBack<Element> {
  private struct File {
    var version: UInt64
    var elements: [Element]
  }

  /// In order of their versions.
  private var files: [File] = []

  var isEmpty: Bool { files.isEmpty }

  /// How many things there are.
  var count: Int { files.reduce(0) { $0 + $1.elements.count } }

  /// Keeps something until nobody holds this version. I1
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

  /// Takes out what is filed under versions that nobody holds any more: to go, or to be filed again. I2
  mutating func takeUnheld(_ pinned: PinnedVersions) -> [Element] {
    var taken: [Element] = []
    for file in files where !pinned.mayHold(file.version...file.version) { taken += file.elements }
    if !taken.isEmpty { files.removeAll { !pinned.mayHold($0.version...$0.version) } }
    return taken
  }
}
