// The bounds of index keys that follow from a comparison: ranges of bytes of one component.

internal import PerdurePredicates

/// The values of a property for which a predicate can hold.
struct SearchBounds {
  /// Ranges of the component's bytes, ascending and disjoint.
  var ranges: [KeyRange]
  /// Whether each range contains the bytes of a single value.
  var arePoints: Bool
  /// Whether every value in the ranges satisfies the predicate.
  var areExact: Bool

  /// Whether the ranges do not contain null.
  var excludeNull: Bool { !ranges.contains { $0.contains([0]) } }

  static let nothing = SearchBounds(ranges: [], arePoints: true, areExact: true)

  /// The values in both bounds. O(n + m) for n and m ranges, because both are ascending.
  func intersected(_ other: SearchBounds) -> SearchBounds {
    var both: [KeyRange] = []
    var (left, right) = (ranges[...], other.ranges[...])
    while let mine = left.first, let theirs = right.first {
      let range = mine.intersection(theirs)
      if !range.isEmpty { both.append(range) }
      if mine.endsBefore(theirs) { left.removeFirst() } else { right.removeFirst() }
    }
    return SearchBounds(
      ranges: both, arePoints: arePoints || other.arePoints, areExact: areExact && other.areExact)
  }

  /// The values in at least one of the bounds. Points stay points, because two points are equal or
  /// disjoint. O(n log n) for n ranges.
  static func union(_ all: [SearchBounds]) -> SearchBounds {
    let arePoints = all.allSatisfy(\.arePoints)
    var joined: [KeyRange] = []
    for range in all.flatMap(\.ranges).sorted(by: { $0.lower.lexicographicallyPrecedes($1.lower) }) {
      guard let last = joined.last, last.upper.map({ !$0.lexicographicallyPrecedes(range.lower) }) ?? true,
        !arePoints || last == range
      else {
        joined.append(range)
        continue
      }
      // The two ranges overlap, so they become one range that ends at the greater end.
      if last.endsBefore(range) { joined[joined.count - 1].upper = range.upper }
    }
    return SearchBounds(ranges: joined, arePoints: arePoints, areExact: all.allSatisfy(\.areExact))
  }

  /// The bounds of a component that is stored in descending order: all bytes are flipped
  /// (OrderedKey.swift).
  func flipped() -> SearchBounds {
    var flipped = self
    flipped.ranges = ranges.reversed().map { range in
      KeyRange(
        lower: range.upper.flatMap { Self.flip($0).afterPrefix() } ?? [],
        upper: Self.flip(range.lower).afterPrefix())
    }
    // A point is the range of the keys that begin with its bytes, also after flipping.
    if arePoints {
      flipped.ranges = ranges.reversed().map { .prefix(Self.flip($0.lower)) }
    }
    return flipped
  }

  private static func flip(_ bytes: [UInt8]) -> [UInt8] { bytes.map { ~$0 } }
}

extension SearchBounds {
  /// The bounds of a field that follow from a comparison with a constant; nil if an index does not
  /// help.
  init?(_ kind: FieldKind, _ op: FetchComparison.Operator, _ value: Value, _ options: StringOptions) {
    switch (op, value) {
    case (.equal, .null): self.init(ranges: [.prefix([0])], arePoints: true, areExact: true)
    case (.notEqual, .null): self.init(ranges: [.prefix([1])], arePoints: false, areExact: true)
    case (_, .null): return nil
    case (.in, .list(let list)):
      self.init(kind, anyOf: list, options)
    case (.between, .list(let ends)) where ends.count == 2:
      guard let low = SearchBounds(kind, .greaterThanOrEqual, ends[0], options),
        let high = SearchBounds(kind, .lessThanOrEqual, ends[1], options)
      else { return nil }
      self = low.intersected(high)
    default:
      guard let bounds = Self.bounds(kind, op, value, options) else { return nil }
      self = bounds
    }
  }

  private init?(_ kind: FieldKind, anyOf list: [Value], _ options: StringOptions) {
    var points: Set<KeyRange> = []
    var areExact = true
    for value in list {
      guard let bounds = SearchBounds(kind, .equal, value, options), bounds.arePoints else { return nil }
      points.formUnion(bounds.ranges)
      areExact = areExact && bounds.areExact
    }
    self.init(
      ranges: points.sorted { $0.lower.lexicographicallyPrecedes($1.lower) }, arePoints: true,
      areExact: areExact)
  }

  private static func bounds(
    _ kind: FieldKind, _ op: FetchComparison.Operator, _ value: Value, _ options: StringOptions
  ) -> SearchBounds? {
    switch kind {
    case .bool, .int16, .int32, .int64, .float, .double, .date, .reference:
      return words(kind, op, value)
    case .string: return text(op, value, options)
    case .uuid, .data, .url: return value.stored(as: kind).flatMap { key(kind, op, $0, from: [1]) }
    case .decimal: return decimal(op, value)
    case .absent: return nil
    }
  }

  private static func words(
    _ kind: FieldKind, _ op: FetchComparison.Operator, _ value: Value
  ) -> SearchBounds? {
    let ordering: [FetchComparison.Operator] = [
      .equal, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual,
    ]
    guard let domain = WordDomain(kind), ordering.contains(op) else { return nil }
    guard var words = domain.words(op, value) else { return .nothing }
    if kind == .bool {
      let bools = WordDomain.word(0)...WordDomain.word(1)
      guard words.overlaps(bools) else { return .nothing }
      words = words.clamped(to: bools)
    }
    let high = bytes(kind, words.upperBound)
    // The two words for zero have one key: the key of the greater word.
    let low = op == .equal ? high : bytes(kind, words.lowerBound)
    return SearchBounds(
      ranges: [KeyRange(lower: low, upper: high.afterPrefix())], arePoints: low == high, areExact: true)
  }

  /// The key bytes of a word.
  private static func bytes(_ kind: FieldKind, _ word: UInt64) -> [UInt8] {
    if kind == .bool { return [1, UInt8(word & 1)] }
    return [1] + withUnsafeBytes(of: word.bigEndian) { Array($0) }
  }

  private static func text(
    _ op: FetchComparison.Operator, _ value: Value, _ options: StringOptions
  ) -> SearchBounds? {
    guard case .string(let text) = value,
      options.isDisjoint(with: [.caseInsensitive, .diacriticInsensitive])
    else { return nil }
    let isVerbatim = options.contains(.normalized)
    switch op {
    // With [n], bytes are compared, and no index has their order. But equal bytes are equal text.
    case _ where isVerbatim && op != .equal: return nil
    case .beginsWith: return prefix(text)
    case .like: return literalPrefix(text).map { prefix($0) }
    default:
      var bounds = key(.string, op, value, from: [1])
      if isVerbatim { bounds?.areExact = false }
      return bounds
    }
  }

  /// The text that every match of a LIKE pattern begins with; nil if there is none.
  ///
  /// Compares scalars, as the match does. A `Character` joins a wildcard with a combining mark
  /// after it.
  static func literalPrefix(_ pattern: String) -> String? {
    let literal = pattern.unicodeScalars.prefix { $0 != "*" && $0 != "?" && $0 != "\\" }
    return literal.isEmpty ? nil : String(literal)
  }

  static func prefix(_ text: String) -> SearchBounds {
    var key = OrderedKey()
    key.appendPrefix(ofText: text)
    return SearchBounds(ranges: [.prefix(key.bytes)], arePoints: false, areExact: false)
  }

  private static func decimal(_ op: FetchComparison.Operator, _ value: Value) -> SearchBounds? {
    guard let stored = value.stored(as: .decimal), case .decimal(let decimal) = stored else { return nil }
    if DecimalParts(decimal).isNaN {
      switch op {
      case .equal: return key(.decimal, op, stored, from: [1])
      case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual: return .nothing
      default: return nil
      }
    }
    return key(.decimal, op, stored, from: [1, 1])
  }

  /// The bounds that follow from the key of a constant.
  ///
  /// - Parameter start: The first key of a comparable value, after null and after NaN.
  private static func key(
    _ kind: FieldKind, _ op: FetchComparison.Operator, _ value: Value, from start: [UInt8]
  ) -> SearchBounds? {
    var key = OrderedKey()
    key.append(value, as: kind)
    let after = key.bytes.afterPrefix()
    let range: KeyRange
    switch op {
    case .equal:
      return SearchBounds(ranges: [.prefix(key.bytes)], arePoints: true, areExact: true)
    case .lessThan: range = KeyRange(lower: start, upper: key.bytes)
    case .lessThanOrEqual: range = KeyRange(lower: start, upper: after)
    case .greaterThan: range = KeyRange(lower: after ?? key.bytes, upper: nil)
    case .greaterThanOrEqual: range = KeyRange(lower: key.bytes, upper: nil)
    default: return nil
    }
    return SearchBounds(ranges: range.isEmpty ? [] : [range], arePoints: false, areExact: true)
  }
}

extension KeyRange {
  /// Whether another range ends after this one.
  fileprivate func endsBefore(_ other: KeyRange) -> Bool {
    guard let upper else { return false }
    return other.upper.map { upper.lexicographicallyPrecedes($0) } ?? true
  }
}
