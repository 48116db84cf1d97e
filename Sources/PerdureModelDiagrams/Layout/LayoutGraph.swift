/// The boxes and lines of one connected part of a diagram, as numbers.
struct LayoutGraph {
  struct Line: Hashable {
    /// The indexes of the two boxes, and the y coordinate of each end of the line, measured from
    /// the top of its box.
    var left: Int
    var leftY: Int
    var right: Int
    var rightY: Int
    /// The priority of the direction from `left` to `right`; 0 is the highest.
    var rank: Int
    /// Whether this line may merge with other lines that end at the same place. Such lines lead to
    /// the name of an entity.
    var mergesAtLeft = false
    var mergesAtRight = false
    /// Whether the line was reversed: `left` is the end that was given as `right`.
    var isTurned = false

    var isLoop: Bool { left == right }

    mutating func turn() {
      (left, right) = (right, left)
      (leftY, rightY) = (rightY, leftY)
      (mergesAtLeft, mergesAtRight) = (mergesAtRight, mergesAtLeft)
      isTurned.toggle()
    }
  }

  /// The size of each box.
  var sizes: [(width: Int, height: Int)]
  var lines: [Line]
}

extension LayoutGraph {
  /// Reverses lines until no lines form a cycle from left to right.
  ///
  /// Lines are added by rank. Lines of the same rank are added in the order of `lines`. A line that
  /// closes a cycle with the lines before it is reversed. So a line of high priority is reversed
  /// only if lines of at least this priority form a cycle with it.
  ///
  /// - Complexity: O(l · (b + l)) for b boxes and l lines.
  mutating func breakCycles(_ work: inout LayoutWork) {
    var right = Array(repeating: [Int](), count: sizes.count)
    let order = lines.indices.sorted { (lines[$0].rank, $0) < (lines[$1].rank, $1) }
    for position in order where !lines[position].isLoop {
      if Self.reaches(lines[position].left, from: lines[position].right, right, &work) {
        lines[position].turn()
      }
      right[lines[position].left].append(lines[position].right)
    }
  }

  private static func reaches(
    _ goal: Int, from start: Int, _ right: [[Int]], _ work: inout LayoutWork
  ) -> Bool {
    var seen = Set([start])
    var stack = [start]
    while let box = stack.popLast() {
      if box == goal { return true }
      for next in right[box] where seen.insert(next).inserted { stack.append(next) }
      work.add(right[box].count + 1)
    }
    return false
  }
}

/// Counts the steps of a layout, so that a test can bound them without a clock.
struct LayoutWork: Sendable, Hashable {
  private(set) var stepCount = 0

  mutating func add(_ count: Int) { stepCount += count }
}
