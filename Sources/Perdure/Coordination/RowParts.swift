// Sets of columns of a row, for example the columns that determine a key, or the changed columns.
// Each slot has a bit.
//
// There are 64 bits, so slots whose numbers differ by a multiple of 64 share a bit. Two sets with a
// common bit may therefore have no common column, which only costs time. Two sets without a common
// bit have no common column.

internal import PerdurePredicates

/// A set of columns of the rows of one entity. It may include columns that were not inserted.
struct RowParts: Equatable {
  private(set) var bits: UInt64 = 0

  static let all = RowParts(bits: .max)

  private init(bits: UInt64) { self.bits = bits }

  init(slots: [Int]) {
    for slot in slots { insert(slot) }
  }

  /// The columns that the condition of a partial index reads; all if the names in the condition do
  /// not determine them.
  init(readBy condition: FetchPredicate, _ entity: EntityStorage) {
    var parts = RowParts(bits: 0)
    condition.forEachExpression { expression in
      switch expression {
      case .constant, .function, .aggregate, .conditional, .set: break
      case .keyPath(let path):
        guard path.aggregate == nil, path.names.count == 1, let slot = entity.slot(named: path.names[0]),
          case .attribute = entity.properties[slot].form
        else { return parts = .all }
        parts.insert(slot)
      case .variable, .evaluatedObject, .member, .element, .subquery: parts = .all
      }
    }
    self = parts
  }

  @inline(__always)
  mutating func insert(_ slot: Int) { bits |= 1 &<< UInt64(slot & 63) }

  mutating func formUnion(_ other: RowParts) { bits |= other.bits }
}

extension RowView {
  /// The columns in which the row differs from an older row of the object; all if their layouts
  /// differ.
  func changedParts(since old: RowView, slotCount: Int) -> RowParts {
    guard fields == old.fields else { return .all }
    var parts = RowParts(slots: [])
    for slot in 0..<slotCount where !hasSame(fields[slot], as: old) { parts.insert(slot) }
    return parts
  }

  /// Whether a field has the same bytes and bits in a row of the same layout.
  @inline(__always)
  private func hasSame(_ field: RowField, as old: RowView) -> Bool {
    if field.kind == .absent { return true }
    guard isPresent(field) == old.isPresent(field) else { return false }
    if field.kind.isVariable {
      return isASCII(field) == old.isASCII(field) && bytes(field).hasSameBytes(as: old.bytes(field))
    }
    return fixedBytes(field).hasSameBytes(as: old.fixedBytes(field))
  }

  @inline(__always)
  private func fixedBytes(_ field: RowField) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: base + Int(field.offset), count: field.kind.fixedSizeBytes)
  }
}

extension UnsafeRawBufferPointer {
  @inline(__always)
  fileprivate func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
    guard count == other.count else { return false }
    var position = 0
    while position &+ 8 <= count {
      let mine = loadUnaligned(fromByteOffset: position, as: UInt64.self)
      if mine != other.loadUnaligned(fromByteOffset: position, as: UInt64.self) { return false }
      position &+= 8
    }
    while position < count {
      if self[position] != other[position] { return false }
      position &+= 1
    }
    return true
  }
}
