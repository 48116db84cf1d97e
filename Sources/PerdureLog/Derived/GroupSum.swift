import PerdureFormat
package import PerdureNumbers

/// A number in a sum.
public enum SumTerm: Hashable, Sendable {
  /// A whole number.
  case integer(Int64)
  /// A double. NaN and infinities are counted, and have the same effect as in an addition.
  case double(Double)
  /// The coefficient times ten to the power of the exponent. If the exponent is outside -2,048 to
  /// 2,047, the term counts as NaN.
  case decimal(isNegative: Bool, coefficient: UInt128, exponent: Int)

  /// Converts a term of the adder.
  package init(_ term: ExactSum.Term) {
    switch term {
    case .integer(let value): self = .integer(value)
    case .double(let value): self = .double(value)
    case .decimal(let isNegative, let coefficient, let exponent):
      self = .decimal(isNegative: isNegative, coefficient: coefficient, exponent: exponent)
    }
  }

  var term: ExactSum.Term {
    switch self {
    case .integer(let value): .integer(value)
    case .double(let value): .double(value)
    case .decimal(let isNegative, let coefficient, let exponent):
      .decimal(isNegative: isNegative, coefficient: coefficient, exponent: exponent)
    }
  }
}

/// An exact sum of numbers. Equal numbers give equal sums, regardless of the order in which they
/// were added and removed. A sum is rounded once, when it is read as a double or a decimal.
///
/// `Snapshot.sum(of:in:)` returns the sums of an index. A program can also create and change a sum,
/// for example to add unsaved numbers to saved numbers.
public struct GroupSum: Equatable, Sendable {
  /// The kind of the numbers. Numbers of the other kind count as NaN, because an exact sum of
  /// doubles and decimals can need a very large number of digits.
  public enum Kind: Hashable, Sendable {
    /// Whole numbers and doubles.
    case integersAndDoubles
    /// Whole numbers and decimals.
    case integersAndDecimals

    var radix: ExactSum.Radix { self == .integersAndDoubles ? .binary : .decimal }
  }

  package var sum: ExactSum

  init(_ sum: ExactSum) { self.sum = sum }

  /// Creates a sum without numbers.
  public init(of kind: Kind) { sum = ExactSum(kind.radix) }

  /// The kind of the numbers.
  public var kind: Kind { sum.radix == .binary ? .integersAndDoubles : .integersAndDecimals }

  /// The number of terms, including those that are not numbers.
  public var termCount: Int { sum.termCount }
  /// The number of terms that are NaN or of the other kind.
  public var notNumberCount: Int { sum.notNumberCount }
  /// The number of infinite terms.
  public var infinityCount: Int { sum.positiveInfinityCount + sum.negativeInfinityCount }

  /// Adds a number.
  public mutating func add(_ term: SumTerm) { sum.apply(term.term, isRemoval: false) }

  /// Removes a number that was added before.
  public mutating func remove(_ term: SumTerm) { sum.apply(term.term, isRemoval: true) }

  /// Adds all numbers of another sum.
  /// - Precondition: Both sums have the same kind.
  public mutating func add(_ other: GroupSum) { sum.merge(other.sum) }

  /// The sum, if it is a whole number that fits in 64 bits; nil otherwise.
  public var int64: Int64? { sum.int64 }

  /// The double nearest to the sum. A tie rounds to even. The result is infinite if the sum exceeds
  /// the range of doubles. NaN and infinite terms have the same effect as in additions, regardless
  /// of their order.
  public var double: Double { sum.double }

  /// The sum in decimal digits. If there are more than 38 digits, the sum is rounded to the nearest
  /// value with 38 digits. A tie rounds to even. Nil if a number in the sum is NaN or infinite.
  public var decimal: (isNegative: Bool, coefficient: UInt128, exponent: Int)? {
    sum.isFinite ? sum.coefficientAndExponent : nil
  }

  /// The key of the sum in an index of `IndexDefinition.Source.sumOrder`. NaN is first. The numbers
  /// follow in their order. Sums of one kind have the same key if they are exactly equal.
  public var orderKey: [UInt8] { sum.orderKey }
}

extension IndexEntries {
  /// Adds a number to the sum of a group (`IndexDefinition.Source.groupSums`).
  public mutating func add(_ term: SumTerm, to group: UInt64) {
    add(reference: group) { key in
      withUnsafeBytes(of: group.bigEndian) { key.append(contentsOf: $0) }
      term.term.append(to: &key)
      return true
    }
  }
}

extension Snapshot {
  /// The sum that an index of `IndexDefinition.Source.groupSums` has for a group; nil if the group
  /// has no number, or if the index is newer than the snapshot.
  ///
  /// - Throws: `StoreError`: `.indexUnavailable`; `.invalidArgument` if the index has no sums,
  ///   belongs to another store or was removed; `.corruption` if the index file is damaged, or if
  ///   the entry does not decode as a sum of the index's kind.
  /// - Complexity: O(log n) for n groups.
  public func sum(of group: UInt64, in index: DerivedIndex) throws -> GroupSum? {
    try engine.checkAvailable(index)
    let tree = try tree(of: index)
    // The index may be newer than the snapshot.
    guard Int(index.id) < root.pointee.indexCount else { return nil }
    guard let radix = root.pointee.indexMarks[Int(index.id)].sums else {
      throw StoreError(.invalidArgument, "Index \(index.name) is not an index of sums")
    }
    let found = SumEntry.find(group, in: tree)
    try check(tree.file)
    guard let found else { return nil }
    guard let sum = found.sum, sum.radix == radix else {
      throw StoreError(
        .corruption,
        "The entry of group \(group) in index \(index.name) is not a sum; no record is lost. Close the store, remove its "
          + "index file, and open it again. The index is then built from the log")
    }
    return GroupSum(sum)
  }
}
