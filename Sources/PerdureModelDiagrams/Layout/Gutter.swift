/// The space at the right of a layer. Lines change their y coordinates only in gutters.
///
/// A line crosses a gutter in three parts: horizontally to its *track*, vertically along the track,
/// and horizontally to the next layer. So lines run through gutters, and through the space that a
/// layer reserves for them (*bends*, LayeredGraph.swift). They never run through boxes.
struct Gutter {
  static let trackWidth = 10
  /// The width of the space for arrow heads, at each side.
  static let margin = 24
  private static let widthMin = 60

  /// One line in a gutter, or several lines that share a track.
  struct Wire {
    /// The y coordinates of the ends at the left side and at the right side.
    var lefts: [Int]
    var rights: [Int]

    var top: Int { min(lefts.min() ?? .max, rights.min() ?? .max) }
    var bottom: Int { max(lefts.max() ?? .min, rights.max() ?? .min) }
    var isLevel: Bool { top == bottom }
  }

  let width: Int
  /// The x coordinate of the track of each wire, from the left of the gutter.
  let tracks: [Int]

  init(_ wires: [Wire], _ work: inout LayoutWork) {
    let order = Self.order(wires, &work)
    let numbers = Self.numbers(wires, order, &work)
    let trackCount = (numbers.max() ?? -1) + 1
    let used = 2 * Self.margin + max(0, trackCount - 1) * Self.trackWidth
    let width = max(Self.widthMin, used)
    tracks = numbers.map { (width - used) / 2 + Self.margin + max(0, $0) * Self.trackWidth }
    self.width = width
  }

  /// The wires that need a track, from left to right, with few crossings.
  ///
  /// Exchanges adjacent wires as long as that reduces the cost, in a limited number of passes.
  private static func order(_ wires: [Wire], _ work: inout LayoutWork) -> [Int] {
    var order = wires.indices.filter { !wires[$0].isLevel }.sorted { first, second in
      (wires[first].bottom, first) > (wires[second].bottom, second)
    }
    for _ in order.indices {
      var hasChanged = false
      for position in order.indices.dropLast() {
        let (first, second) = (wires[order[position]], wires[order[position + 1]])
        work.add(1)
        if cost(of: second, atLeftOf: first) < cost(of: first, atLeftOf: second) {
          order.swapAt(position, position + 1)
          hasChanged = true
        }
      }
      if !hasChanged { break }
    }
    return order
  }

  /// The cost of two wires if the track of `left` is at the left of the track of `right`. It is the
  /// number of crossings, plus 1000 for each place where one wire covers the other.
  private static func cost(of left: Wire, atLeftOf right: Wire) -> Int {
    let crossings =
      right.lefts.count { left.top < $0 && $0 < left.bottom }
      + left.rights.count { right.top < $0 && $0 < right.bottom }
    let covered = left.rights.reduce(0) { count, y in count + right.lefts.count { abs($0 - y) < 4 } }
    return crossings + 1000 * covered
  }

  /// The number of the track of each wire; -1 for horizontal wires. Two wires can share a track
  /// only if there is a vertical space between them.
  private static func numbers(_ wires: [Wire], _ order: [Int], _ work: inout LayoutWork) -> [Int] {
    var numbers = Array(repeating: -1, count: wires.count)
    for (position, wire) in order.enumerated() {
      let (top, bottom) = (wires[wire].top - trackWidth, wires[wire].bottom + trackWidth)
      let met = order[..<position].filter { wires[$0].top <= bottom && top <= wires[$0].bottom }
      numbers[wire] = (met.map { numbers[$0] }.max() ?? -1) + 1
      work.add(position)
    }
    return numbers
  }
}
