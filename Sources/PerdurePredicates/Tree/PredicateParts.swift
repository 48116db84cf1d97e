// The parts of AND, OR and NOT, which are the edges in the tree of a predicate. Every traversal of
// a tree is recursive, and so are its deallocation, comparison and hashing. So no tree may be
// deeper than `levelMax`. If parts make a tree deeper, a fixed predicate replaces them. Every fetch
// rejects this predicate.
//
//   PJ1. Parts and comparisons store the number of their levels. So joining costs O(1) for each
//        part.
//   PJ2. Above `plainMax` levels, AND in AND and OR in OR are flattened, into groups of `groupMax`
//        parts. So a tree that a loop builds stays shallow. Each join copies at most `groupMax`
//        parts of an operand, and rarely flattens more. A loop of `&&`, `||`, `.and(_:)` or
//        `.or(_:)` takes quadratic time in theory, but the factor is small: at 10,000 joins, each
//        join copied 60 parts (counted).

/// The parts of an AND or OR, or the part of a NOT.
public struct PredicateParts: Sendable {
  private let elements: [FetchPredicate]
  /// The number of levels, including the node that has these parts.
  let depth: Int

  /// The maximum number of levels of a tree. A fetch accepts fewer (`FetchPredicate.levelMax`).
  package static let levelMax = 400
  static let plainMax = 50
  /// The maximum number of parts that joining two predicates copies.
  package static let groupMax = 64
  /// Parts with at most this many levels are not flattened again.
  private static let groupLevelMax = 8

  init(_ elements: [FetchPredicate]) {
    let depth = Self.depth(elements)
    self.elements = depth > Self.levelMax ? [.tooDeep] : elements
    self.depth = depth > Self.levelMax ? Self.depth(self.elements) : depth
  }

  /// The parts of an AND or OR.
  init(_ elements: [FetchPredicate], ofAnd isAnd: Bool) {
    if Self.depth(elements) <= Self.plainMax {
      self.init(elements)
    } else {
      self.init(Self.rejoined(elements, ofAnd: isAnd))
    }
  }

  private static func depth(_ elements: [FetchPredicate]) -> Int {
    elements.reduce(0) { Swift.max($0, $1.depth) } + 1
  }

  /// The parts, in order. A deep part with the same operator is replaced by its own parts (PJ2).
  private static func rejoined(_ elements: [FetchPredicate], ofAnd isAnd: Bool) -> [FetchPredicate] {
    var parts: [FetchPredicate] = []
    var waiting = Array(elements.reversed())
    while let next = waiting.popLast() {
      if next.depth > groupLevelMax, let inner = next.parts(ofAnd: isAnd) {
        waiting += inner.reversed()
      } else {
        parts.append(next)
      }
    }
    while parts.count > groupMax {
      parts = stride(from: 0, to: parts.count, by: groupMax).map { start in
        let group = PredicateParts(Array(parts[start..<Swift.min(start + groupMax, parts.count)]))
        return group.count == 1 ? group[0] : isAnd ? .and(group) : .or(group)
      }
    }
    return parts
  }

  /// The part of a NOT.
  package var only: FetchPredicate { elements[0] }
}

extension PredicateParts: RandomAccessCollection {
  /// The position of the first part.
  public var startIndex: Int { 0 }
  /// The position after the last part.
  public var endIndex: Int { elements.count }
  /// The part at a position.
  public subscript(position: Int) -> FetchPredicate { elements[position] }
}

extension PredicateParts: Hashable {
  /// Whether both have equal parts in the same order.
  public static func == (left: Self, right: Self) -> Bool { left.elements == right.elements }

  /// Hashes the parts.
  public func hash(into hasher: inout Hasher) { hasher.combine(elements) }
}

extension FetchPredicate {
  /// True if all parts are true. True without parts.
  ///
  /// - Complexity: O(n) for n parts. Above 50 levels, parts nested in them count too.
  public static func and(_ parts: [FetchPredicate]) -> FetchPredicate {
    .and(PredicateParts(parts, ofAnd: true))
  }

  /// True if at least one part is true. False without parts.
  ///
  /// - Complexity: O(n) for n parts. Above 50 levels, parts nested in them count too.
  public static func or(_ parts: [FetchPredicate]) -> FetchPredicate {
    .or(PredicateParts(parts, ofAnd: false))
  }

  /// True if the part is false.
  public static func not(_ part: FetchPredicate) -> FetchPredicate {
    if case .not(let inner) = part, inner.depth > PredicateParts.plainMax { return inner.only }
    return .not(PredicateParts([part]))
  }

  /// The number of levels, including this one.
  package var depth: Int {
    switch self {
    case .true, .false: 1
    case .and(let parts), .or(let parts), .not(let parts): parts.depth
    case .comparison(let comparison): comparison.depth
    }
  }

  /// The parts of an AND, or of an OR; nil for other predicates.
  package func parts(ofAnd isAnd: Bool) -> PredicateParts? {
    switch self {
    case .and(let parts) where isAnd: parts
    case .or(let parts) where !isAnd: parts
    default: nil
    }
  }
}

/// The operands of a comparison.
struct Operands: Hashable, Sendable {
  let left: FetchExpression
  let right: FetchExpression
  let depth: Int

  init(_ left: FetchExpression, _ right: FetchExpression) {
    let (first, second) = (left.bounded, right.bounded)
    (self.left, self.right) = (first.expression, second.expression)
    depth = max(first.depth, second.depth) + 1
  }
}

extension FetchExpression {
  /// The expression and its number of levels. An expression with too many levels is replaced by a
  /// fixed expression, which every fetch rejects.
  ///
  /// - Complexity: O(n) for n nodes. Nodes inside predicates are not visited.
  package var bounded: (expression: FetchExpression, depth: Int) {
    // The comparison is one more level.
    let limit = PredicateParts.levelMax - 1
    let depth = depth(upTo: limit)
    return depth > limit ? (.tooDeep, FetchPredicate.levelMax + 2) : (self, depth)
  }

  /// The number of levels; more than `limit` if there are more.
  private func depth(upTo limit: Int) -> Int {
    switch self {
    case .constant, .keyPath, .variable, .evaluatedObject: return 1
    default: if limit <= 0 { return 1 }
    }
    var deepest = 0
    forEachChild(
      predicate: { deepest = max(deepest, $0.depth) },
      expression: { if deepest < limit { deepest = max(deepest, $0.depth(upTo: limit - 1)) } })
    return deepest + 1
  }
}
