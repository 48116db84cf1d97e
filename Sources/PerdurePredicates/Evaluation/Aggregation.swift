// Aggregates, which compute one value from many values: @count, @sum, @avg, @min, @max and the
// functions with the same names. Nulls are ignored except in counts. Sums are in Sums.swift.
// Minimum and maximum use the sort order, so values of different kinds can be mixed.

package enum Aggregation {
  static func apply(
    _ aggregate: CollectionOperator, to elements: [Operand]
  ) throws(PredicateEvaluationError) -> Operand {
    switch aggregate {
    case .count: return .value(.integer(Int64(elements.count)))
    case .sum: return .value(try sum(try present(elements)))
    case .avg: return .value(try average(try present(elements)))
    case .min: return .value(least(try present(elements)))
    case .max: return .value(greatest(try present(elements)))
    case .unionOfObjects: return .collection(elements)
    case .distinctUnionOfObjects: return .collection(try Operand.distinct(elements))
    }
  }

  /// The values other than null.
  static func present(_ elements: [Operand]) throws(PredicateEvaluationError) -> [Value] {
    try Operand.plain(elements).filter { !$0.isNull }
  }

  private static func precedes(_ left: Value, _ right: Value) -> Bool {
    Value.sortOrder(left, right) == .ascending
  }

  /// The mean of numbers; null if there are none.
  package static func average(_ values: [Value]) throws(PredicateEvaluationError) -> Value {
    if values.isEmpty { return .null }
    return try Arithmetic.apply(.divide, try sum(values), .integer(Int64(values.count)))
  }

  static func least(_ values: [Value]) -> Value {
    leastIndex(of: values).map { values[$0] } ?? .null
  }

  static func greatest(_ values: [Value]) -> Value {
    greatestIndex(of: values).map { values[$0] } ?? .null
  }

  /// The position of the least value; nil for an empty list.
  package static func leastIndex(of values: [Value]) -> Int? {
    values.indices.min { precedes(values[$0], values[$1]) }
  }

  /// The position of the greatest value; nil for an empty list.
  package static func greatestIndex(of values: [Value]) -> Int? {
    values.indices.max { precedes(values[$0], values[$1]) }
  }

  /// The positions of the values that equal no earlier value, in order.
  package static func firstAppearances(in values: [Value]) -> [Int] { Operand.distinctIndices(values) }

  static func median(_ values: [Value]) throws(PredicateEvaluationError) -> Value {
    let sorted = values.sorted(by: precedes)
    if sorted.isEmpty { return .null }
    let middle = sorted.count / 2
    if sorted.count % 2 == 1 { return sorted[middle] }
    return try average([sorted[middle - 1], sorted[middle]])
  }

  /// The values that occur most often, in order of first appearance.
  static func mode(_ values: [Value]) -> Value {
    let groups = Operand.equalGroups(values)
    let most = groups.map(\.count).max()
    return .list(groups.filter { $0.count == most }.map { values[$0.first] })
  }

  static func standardDeviation(_ values: [Value]) throws(PredicateEvaluationError) -> Value {
    if values.isEmpty { return .null }
    var numbers: [Double] = []
    for value in values { numbers.append(try Arithmetic.double(value)) }
    numbers.sort()
    let mean = numbers.reduce(0, +) / Double(numbers.count)
    let squares = numbers.map { ($0 - mean) * ($0 - mean) }
    return .double((squares.reduce(0, +) / Double(numbers.count)).squareRoot())
  }
}
