// The value of an expression during evaluation: a plain value, an object, or a collection of both.

indirect enum Operand {
  case value(Value)
  case object(any PropertySource)
  case collection([Operand])

  static var null: Operand { .value(.null) }

  var isNull: Bool {
    if case .value(.null) = self { true } else { false }
  }

  /// The elements of a collection or list; nil for anything else.
  var elements: [Operand]? {
    switch self {
    case .collection(let elements): elements
    case .value(.list(let values)): values.map(Operand.value)
    default: nil
    }
  }

  /// The elements to which ANY, ALL and aggregate functions apply. Null has no elements, and a
  /// single value is one element.
  var spread: [Operand] {
    if let elements { return elements }
    return isNull ? [] : [self]
  }

  /// The operand as a plain value: an object becomes its reference, a collection a list.
  func plain() throws(PredicateEvaluationError) -> Value {
    switch self {
    case .value(let value): return value
    case .object(let source):
      if let reference = source.reference { return .reference(reference) }
      throw PredicateEvaluationError(
        .invalidOperand, "An object without identity was compared; compare its properties instead.")
    case .collection(let elements): return .list(try Self.plain(elements))
    }
  }

  static func plain(_ operands: [Operand]) throws(PredicateEvaluationError) -> [Value] {
    var values: [Value] = []
    values.reserveCapacity(operands.count)
    for operand in operands { values.append(try operand.plain()) }
    return values
  }
}

// MARK: Sets of operands

extension Operand {
  /// The operands that equal no earlier operand, in order.
  static func distinct(_ operands: [Operand]) throws(PredicateEvaluationError) -> [Operand] {
    let values = try plain(operands)
    return distinctIndices(values).map { operands[$0] }
  }

  /// The indices of values that equal no earlier value, ascending.
  static func distinctIndices(_ values: [Value]) -> [Int] { equalGroups(values).map(\.first) }

  /// The groups of equal values: the index of the first value and the number of values, by
  /// ascending index. Equal values are neighbours after sorting (VC1 in Value+Comparison.swift).
  ///
  /// - Complexity: O(n log n) for n values.
  static func equalGroups(_ values: [Value]) -> [(first: Int, count: Int)] {
    let sorted = values.indices.sorted { left, right in
      let order = Value.sortOrder(values[left], values[right])
      return order == .ascending || (order == .same && left < right)
    }
    var groups: [(first: Int, count: Int)] = []
    for index in sorted {
      if let group = groups.last, Value.sortOrder(values[group.first], values[index]) == .same {
        groups[groups.count - 1].count += 1
      } else {
        groups.append((index, 1))
      }
    }
    return groups.sorted { $0.first < $1.first }
  }

  static func combine(
    _ operation: FetchExpression.SetOperation, _ left: [Operand], _ right: [Operand]
  ) throws(PredicateEvaluationError) -> [Operand] {
    if operation == .union { return try distinct(left + right) }
    let wanted = SortedValues(try plain(right))
    var kept: [Operand] = []
    for operand in try distinct(left) where wanted.contains(try operand.plain()) == (operation == .intersect)
    {
      kept.append(operand)
    }
    return kept
  }
}

/// Values in sort order, for fast membership tests.
struct SortedValues {
  private let values: [Value]

  init(_ values: [Value]) {
    self.values = values.sorted { Value.sortOrder($0, $1) == .ascending }
  }

  func contains(_ value: Value) -> Bool {
    var range = values.startIndex..<values.endIndex
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      switch Value.sortOrder(values[middle], value) {
      case .same: return true
      case .ascending: range = middle + 1..<range.upperBound
      case .descending: range = range.lowerBound..<middle
      }
    }
    return false
  }
}
