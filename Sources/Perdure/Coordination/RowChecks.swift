package import PerdurePredicates

/// The layouts of all entities in raw memory, for scans that change no reference count.
// Unchecked: the pointers are to memory of `owners`, which live as long as this object.
package final class RowChecks: @unchecked Sendable {
  private let owners: [RowLayouts?]
  private let table: UnsafeBufferPointer<UnsafeBufferPointer<RowLayouts.Entry>>

  init(_ layouts: [RowLayouts?]) {
    owners = layouts
    let none = UnsafeBufferPointer<RowLayouts.Entry>(start: nil, count: 0)
    let memory = UnsafeMutableBufferPointer<UnsafeBufferPointer<RowLayouts.Entry>>.allocate(
      capacity: max(1, layouts.count))
    memory.initialize(repeating: none)
    for (position, layouts) in layouts.enumerated() {
      if let layouts { memory[position] = layouts.entries }
    }
    table = UnsafeBufferPointer(memory)
  }

  deinit {
    table.deallocate()
  }

  /// The layouts of an entity's rows; nil for an entity without rows.
  func layouts(ofEntity number: UInt16) -> RowLayouts? {
    Int(number) < owners.count ? owners[Int(number)] : nil
  }

  /// Checks the row of an object. For any bytes and any reference, the result is a view or an
  /// error.
  @inline(__always)
  package func view(
    _ bytes: UnsafeRawBufferPointer, of reference: ObjectReference
  ) throws(RowError) -> RowView {
    let number = Int(reference.entityNumber)
    guard number < table.count else { throw RowError(code: .unknownLayout, offset: 0) }
    return try RowView(checking: bytes, table[number])
  }
}
