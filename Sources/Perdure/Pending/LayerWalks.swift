// Walks over the changes of a layer, together with a walk over the state below.
//
// The walks are structures instead of local functions. Variables that a local function captures are
// checked for exclusive access at run time. For each row, that check costs more than the rest of
// the walk.

internal import PerdurePredicates

/// The changed rows of an entity that a walk has not reached yet.
struct ChangedRows {
  private var cursor: SortedChunks<LayerRow>.Cursor
  /// A mask for XOR that turns the order of references into the order of the walk.
  private let flip: UInt64
  /// The reference of the next row, as a number in the order of the walk; `.max` at the end.
  private var next: UInt64
  /// The last changed row that the walk has reached, whether it is removed or not.
  private var last: ObjectReference?

  init(_ cursor: SortedChunks<LayerRow>.Cursor, _ isDescending: Bool) {
    self.cursor = cursor
    flip = isDescending ? .max : 0
    next = .max
    findNext()
  }

  private mutating func findNext() { next = cursor.next.map { place(of: $0.reference) } ?? .max }

  @inline(__always)
  private func place(of reference: ObjectReference) -> UInt64 { reference.rawValue ^ flip }

  /// Whether a row precedes the next changed row in the order of the walk.
  @inline(__always)
  func comeAfter(_ reference: ObjectReference) -> Bool { place(of: reference) < next }

  // The next two functions are not inlined, so that their stack space is not part of the caller's
  // frame.

  /// Processes a row of the state below. Passes the changed rows before it to `body`, then the row
  /// itself, with its changes. Skips removed rows.
  ///
  /// - Returns: Whether the walk continues.
  @inline(never)
  mutating func pass(
    _ reference: ObjectReference, _ row: StoredRow, _ body: (ObjectReference, StoredRow) throws -> Bool
  ) throws -> Bool {
    guard try pass(through: place(of: reference), { try body($0, $1.stored) }) else { return false }
    return try last == reference || body(reference, row)
  }

  /// Like `pass(_:_:_:)`, but passes only references.
  @inline(never)
  mutating func pass(
    _ reference: ObjectReference, _ body: (ObjectReference) throws -> Bool
  ) throws -> Bool {
    guard try pass(through: place(of: reference), { reference, _ in try body(reference) }) else {
      return false
    }
    return try last == reference || body(reference)
  }

  /// Passes the remaining changed rows to `body`.
  mutating func passRest(_ body: (ObjectReference, PendingRow) throws -> Bool) throws {
    _ = try pass(through: .max, body)
  }

  private mutating func pass(
    through end: UInt64, _ body: (ObjectReference, PendingRow) throws -> Bool
  ) throws -> Bool {
    while next <= end, let row = cursor.next {
      cursor.advance()
      findNext()
      last = row.reference
      if let pending = row.row, try !body(row.reference, pending) { return false }
    }
    return true
  }
}

/// The differences in a range of an index that a walk has not reached yet.
struct ChangedEntries {
  var added: SortedChunks<LayerEntry>.Cursor
  var hidden: SortedChunks<LayerEntry>.Cursor
  let isDescending: Bool

  /// Passes the added entries before an entry of the state below to `body`.
  ///
  /// - Returns: Whether the walk continues.
  @inline(__always)
  mutating func passAdded(
    before key: UnsafeRawBufferPointer, _ reference: ObjectReference,
    _ body: (UnsafeRawBufferPointer, ObjectReference) throws -> Bool
  ) throws -> Bool {
    while let entry = added.next, entry.comes(before: key, reference, descending: isDescending) {
      added.advance()
      guard try entry.key.withUnsafeBytes({ try body($0, entry.reference) }) else { return false }
    }
    return true
  }

  /// Whether an entry of the state below is hidden.
  @inline(__always)
  mutating func hide(_ key: UnsafeRawBufferPointer, _ reference: ObjectReference) -> Bool {
    while let entry = hidden.next, entry.comes(before: key, reference, descending: isDescending) {
      hidden.advance()
    }
    guard let entry = hidden.next, entry.reference == reference, entry.key.elementsEqual(key) else {
      return false
    }
    hidden.advance()
    return true
  }

  mutating func passRestAdded(
    _ body: (UnsafeRawBufferPointer, ObjectReference) throws -> Bool
  ) throws {
    while let entry = added.next {
      added.advance()
      guard try entry.key.withUnsafeBytes({ try body($0, entry.reference) }) else { return }
    }
  }
}
