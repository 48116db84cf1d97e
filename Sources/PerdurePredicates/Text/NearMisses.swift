// Suggestions for misspelt names. All errors about a name that is not in a known set use this file.

/// Finds known names that are similar to a given name.
package enum NearMisses {
  /// Longer names are not compared: the time for two names is proportional to the product of their
  /// lengths.
  private static let lengthMax = 255

  /// Returns at most three known names, nearest first. Their distance is at most a third of the
  /// name's characters, or 1 for a name of two characters. Names with the same distance are in
  /// ascending order. Case is ignored. Empty if the name has more than 255 characters.
  ///
  /// - Complexity: O(k · m²) for k known names and a name of m characters.
  package static func of(_ name: String, in known: some Sequence<String>) -> [String] {
    let wanted = Array(name.lowercased())
    guard wanted.count <= lengthMax else { return [] }
    // A name of one character matches only itself, in either case.
    let limit = wanted.count < 2 ? 0 : max(1, wanted.count / 3)
    var near: [(name: String, distance: Int)] = []
    for name in Set(known) {
      let other = Array(name.lowercased().prefix(lengthMax + 1))
      if let distance = distance(wanted, other, atMost: limit) { near.append((name, distance)) }
    }
    return near.sorted { ($0.distance, $0.name) < ($1.distance, $1.name) }.prefix(3).map(\.name)
  }

  /// Returns a question for the end of a message, with a space in front: " Did you mean salary?".
  /// Empty if no name is near.
  package static func question(_ name: String, in known: some Sequence<String>) -> String {
    question(of(name, in: known))
  }

  /// Returns the question about names that `of` found.
  package static func question(_ names: [String]) -> String {
    names.isEmpty ? "" : " Did you mean \(names.joined(separator: " or "))?"
  }

  /// The number of insertions, removals, replacements and exchanges of neighbours that convert one
  /// name to the other. Returns nil if it exceeds the limit.
  private static func distance(_ left: [Character], _ right: [Character], atMost limit: Int) -> Int? {
    guard abs(left.count - right.count) <= limit else { return nil }
    // Each row has the distances from one prefix of the left name to every prefix of the right
    // name. `above` is the previous row, and `before` the row before it.
    var (before, above) = ([Int](), Array(0...right.count))
    for position in left.indices {
      var row = [position + 1]
      for column in right.indices {
        let isSame = left[position] == right[column]
        var least = min(above[column] + (isSame ? 0 : 1), above[column + 1] + 1, row[column] + 1)
        if position > 0, column > 0, left[position] == right[column - 1], left[position - 1] == right[column]
        {
          least = min(least, before[column - 1] + 1)
        }
        row.append(least)
      }
      (before, above) = (above, row)
    }
    return above[right.count] <= limit ? above[right.count] : nil
  }
}
