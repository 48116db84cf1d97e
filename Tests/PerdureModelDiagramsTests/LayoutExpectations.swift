import Testing

@testable import PerdureModelDiagrams

/// Checks that `isTrue` is true for all elements. An expectation for each element is slow.
func expectAll<Element>(
  _ elements: some Sequence<Element>, sourceLocation: SourceLocation = #_sourceLocation,
  _ isTrue: (Element) -> Bool
) {
  let first = elements.first { !isTrue($0) }
  #expect(first == nil, "\(first.map { "\($0)" } ?? "")", sourceLocation: sourceLocation)
}

/// Checks that boxes do not overlap, and that boxes and lines are inside the picture.
func expectSeparateBoxes(_ layout: DiagramLayout) {
  expectAll(layout.frames) { frame in
    frame.x >= 0 && frame.y >= 0 && frame.right <= layout.width && frame.bottom <= layout.height
  }
  let pairs = layout.frames.indices.flatMap { last in (0..<last).map { ($0, last) } }
  expectAll(pairs) { first, last in
    let (frame, other) = (layout.frames[first], layout.frames[last])
    return frame.right < other.x || other.right < frame.x || frame.bottom < other.y
      || other.bottom < frame.y
  }
  expectAll(layout.paths.joined()) { point in
    point.x >= 0 && point.y >= 0 && point.x <= layout.width && point.y <= layout.height
  }
}

/// Checks that lines are horizontal or vertical, leave space for arrow heads, and do not cross
/// boxes.
func expectClearLines(_ layout: DiagramLayout) {
  for path in layout.paths {
    let parts = Array(zip(path, path.dropFirst()))
    expectAll(parts) { start, end in
      (start.x == end.x) != (start.y == end.y)
        && layout.frames.allSatisfy { frame in
          max(start.x, end.x) <= frame.x || frame.right <= min(start.x, end.x)
            || max(start.y, end.y) <= frame.y || frame.bottom <= min(start.y, end.y)
        }
    }
    expectAll([parts.first, parts.last].compactMap(\.self)) { start, end in
      start.y == end.y && abs(start.x - end.x) >= 20
    }
  }
}
