// Which columns of a row something follows from, or has changed: a bit for each slot.
//
// There are 64 bits: slots whose numbers are 64 apart share one. So two sets that meet may be of other columns, which
// costs time; two that do not meet are of other columns for certain.

internal import PerdurePredicates

/// Columns of the rows of one entity, or more.
struct RowParts: Equatable {
  private(set) var bits: UInt64 = 0

  static let all = RowParts(bits: .max)

  private init(bits: UInt64) { self.bits = bits }

  init(slots: [Int]) {
    for slot in slots { insert(slot) }
  }

  /// What a condition of a partial index asks of a row: all of it, where that cannot be told from the names.
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
  /// The columns in which the row differs from an older one of the object; all where the rows have not the same layout.
  func changedParts(since old: RowView, slotCount: Int) -> RowParts {
    guard fields == old.fields else { return .all }
    var parts = RowParts(slots: [])
    for slot in 0..<slotCount where !hasSame(fields[slot], as: old) { parts.insert(slot) }
    return parts
  }

  /// Whether a field has the same bytes, and the same marks, in a row of the same layout.
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
