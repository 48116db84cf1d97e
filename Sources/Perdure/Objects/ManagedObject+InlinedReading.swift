// Property reads that the compiler inlines into the program.
//
// Most reads find a loaded row that is current and has no unsaved changes. Such a read takes a few
// loads. A call, with a retain and a release around it, costs five times as much. So the accessors
// below are inlinable: they check the row and the field, and load the value. In all other cases
// they call a function that is not inlined: `loaded` (ManagedObject+FrequentTypes.swift), `related`
// and `siblingsAnew` (ManagedObject+Reading.swift), `objectAnew` (SiblingWalk.swift). These
// functions fire faults, call hooks and read unsaved changes. They repeat the check, so they work
// without the accessors below.
//
// The compiler retains the object only around such a call. The call may run hooks that release the
// last reference to the object.
//
// The inlined code relies on these invariants:
//   IR1. If `isReady` is true, the object has a checked row without unsaved changes (H1 in
//       ObjectHeader.swift). The word before the row is the address of its fields.
//   IR2. The table of fields has `slotCount` entries. Accessors of a wrong class may have larger
//       slots, so each read compares the slot with `slotCount`. If the slot is too large, `loaded`
//       stops the program with a message.
//   IR3. While the stamp of a cached relationship is current, its objects are in memory (KR1 and
//       KR3 in KeptRelations.swift).
//   IR4. Between a check and the loads that depend on it, no other code runs. So the row and the
//       objects stay in memory, although nothing retains them.
//
// Programs and Perdure are built from source by the same compiler, so layouts may change freely.

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension ManagedObject {
  /// The row and the field of a slot, if the row may be read directly and the field has this
  /// kind.
  @inlinable @inline(__always)
  final func readyField(_ slot: Int, _ kind: FieldKind) -> (row: RowView, field: RowField)? {
    checkOwner()
    let header = header
    guard header.pointee.isReady, UInt(bitPattern: slot) < UInt(header.pointee.slotCount),
      let row = header.pointee.loadedRow
    else { return nil }
    let field = row.fields[slot]
    return field.kind == kind ? (row, field) : nil
  }

  /// The value of a slot; nil if it cannot be read directly, or if there is no value.
  @inlinable @inline(__always)
  final func ready<T>(_ slot: Int, _ kind: FieldKind, _ read: (RowView, RowField) -> T) -> T? {
    guard let (row, field) = readyField(slot, kind), row.isPresent(field) else { return nil }
    return read(row, field)
  }

  /// In debug builds, stops a program that uses the object in the wrong isolation.
  @inlinable @inline(__always)
  final func checkOwner() { assert(isInIsolation, isolationComplaint) }

  @usableFromInline final var isInIsolation: Bool { core.ownership.isCurrent }

  @usableFromInline final var isolationComplaint: String { core.ownership.complaint }
}

// MARK: - Attributes

extension ManagedObject {
  // The other getters call `ready`. The optional getters repeat its code. A common function returns
  // a double optional. The compiler then retains the object around the call.

  /// Reads a whole number.
  @inlinable @inline(__always)
  public final func _get(_ slot: Int) -> Int64 {
    ready(slot, .int64) { $0.integer($1) } ?? loaded(slot)
  }

  /// Reads a whole number; nil if there is no value.
  @inlinable @inline(__always)
  public final func _get(_ slot: Int) -> Int64? {
    if let (row, field) = readyField(slot, .int64) {
      return row.isPresent(field) ? row.integer(field) : nil
    }
    return loaded(slot)
  }

  /// Reads a whole number.
  @inlinable @inline(__always)
  public final func _get(_ slot: Int) -> Int {
    ready(slot, .int64) { Int(truncatingIfNeeded: $0.integer($1)) } ?? loaded(slot)
  }

  /// Reads a whole number; nil if there is no value.
  @inlinable @inline(__always)
  public final func _get(_ slot: Int) -> Int? {
    if let (row, field) = readyField(slot, .int64) {
      return row.isPresent(field) ? Int(truncatingIfNeeded: row.integer(field)) : nil
    }
    return loaded(slot)
  }

  /// Reads a whole number.
  @inlinable @inline(__always)
  public final func _get(_ slot: Int) -> Int32 {
    ready(slot, .int32) { Int32(truncatingIfNeeded: $0.integer($1)) } ?? loaded(slot)
  }

  /// Reads a whole number; nil if there is no value.
  @inlinable @inline(__always)
  public final func _get(_ slot: Int) -> Int32? {
    if let (row, field) = readyField(slot, .int32) {
      return row.isPresent(field) ? Int32(truncatingIfNeeded: row.integer(field)) : nil
    }
    return loaded(slot)
  }

  /// Reads a whole number.
  @inlinable @inline(__always)
  public final func _get(_ slot: Int) -> Int16 {
    ready(slot, .int16) { Int16(truncatingIfNeeded: $0.integer($1)) } ?? loaded(slot)
  }

  /// Reads a whole number; nil if there is no value.
  @inlinable @inline(__always)
  public final func _get(_ slot: Int) -> Int16? {
    if let (row, field) = readyField(slot, .int16) {
      return row.isPresent(field) ? Int16(truncatingIfNeeded: row.integer(field)) : nil
    }
    return loaded(slot)
  }

  /// Reads a truth value.
  @inlinable @inline(__always)
  public final func _get(_ slot: Int) -> Bool {
    ready(slot, .bool) { $0.bool($1) } ?? loaded(slot)
  }

  /// Reads a truth value; nil if there is no value.
  @inlinable @inline(__always)
  public final func _get(_ slot: Int) -> Bool? {
    if let (row, field) = readyField(slot, .bool) {
      return row.isPresent(field) ? row.bool(field) : nil
    }
    return loaded(slot)
  }

  /// Reads a floating-point number.
  @inlinable @inline(__always)
  public final func _get(_ slot: Int) -> Double {
    ready(slot, .double) { $0.double($1) } ?? loaded(slot)
  }

  /// Reads a floating-point number; nil if there is no value.
  @inlinable @inline(__always)
  public final func _get(_ slot: Int) -> Double? {
    if let (row, field) = readyField(slot, .double) {
      return row.isPresent(field) ? row.double(field) : nil
    }
    return loaded(slot)
  }

  /// Reads a floating-point number.
  @inlinable @inline(__always)
  public final func _get(_ slot: Int) -> Float {
    ready(slot, .float) { Float($0.double($1)) } ?? loaded(slot)
  }

  /// Reads a floating-point number; nil if there is no value.
  @inlinable @inline(__always)
  public final func _get(_ slot: Int) -> Float? {
    if let (row, field) = readyField(slot, .float) {
      return row.isPresent(field) ? Float(row.double(field)) : nil
    }
    return loaded(slot)
  }

  /// Reads a date.
  @inlinable @inline(__always)
  public final func _get(_ slot: Int) -> Date {
    ready(slot, .date) { Date(timeIntervalSinceReferenceDate: $0.double($1)) } ?? loaded(slot)
  }

  /// Reads a date; nil if there is no value.
  @inlinable @inline(__always)
  public final func _get(_ slot: Int) -> Date? {
    if let (row, field) = readyField(slot, .date) {
      return row.isPresent(field) ? Date(timeIntervalSinceReferenceDate: row.double(field)) : nil
    }
    return loaded(slot)
  }

  /// Reads a UUID.
  @inlinable @inline(__always)
  public final func _get(_ slot: Int) -> UUID {
    ready(slot, .uuid) { UUID(uuid: $0.load($1, uuid_t.self)) } ?? loaded(slot)
  }

  /// Reads a UUID; nil if there is no value.
  @inlinable @inline(__always)
  public final func _get(_ slot: Int) -> UUID? {
    if let (row, field) = readyField(slot, .uuid) {
      return row.isPresent(field) ? UUID(uuid: row.load(field, uuid_t.self)) : nil
    }
    return loaded(slot)
  }

  /// Reads text.
  @inlinable @inline(__always)
  public final func _get(_ slot: Int) -> String {
    ready(slot, .string) { row, _ in RowView.text(of: row.base, row.fields + slot) } ?? loaded(slot)
  }

  /// Reads text; nil if there is no value.
  @inlinable @inline(__always)
  public final func _get(_ slot: Int) -> String? {
    if let (row, field) = readyField(slot, .string) {
      return row.isPresent(field) ? RowView.text(of: row.base, row.fields + slot) : nil
    }
    return loaded(slot)
  }
}

// MARK: - Relationships

extension Unmanaged<ManagedObject> {
  // `takeUnretainedValue` retains immediately. With this function instead, the compiler retains the
  // object only where this is necessary. If the program only compares the object with nil, there is
  // no retain.
  /// Like `ManagedObject.typed(_:)`.
  @inlinable @inline(__always)
  func typed<T: ManagedObject>(_ type: T.Type) -> T {
    _withUnsafeGuaranteedRef { object in
      if Swift.type(of: object) != type { object.checkIsOf(type) }
      // The class was checked above.
      return unsafeDowncast(object, to: type)
    }
  }
}

extension ManagedObject {
  /// Reads a to-one relationship.
  @inlinable @inline(__always)
  public final func _get<T: ManagedObject>(_ slot: Int) -> T? {
    if let kept = header.keptTarget(slot) {
      checkOwner()
      return kept?.typed(T.self)
    }
    return related(slot)?.typed(T.self)
  }

  /// Reads a required to-one relationship. If it has no object, returns `absentTarget(_:_:)`.
  @inlinable @inline(__always)
  public final func _get<T: ManagedObject>(_ slot: Int) -> T {
    guard let object: T = _get(slot) else { return absentTarget(slot, T.self).typed(T.self) }
    return object
  }

  /// A walk over the objects at the other end of a to-many relationship.
  @inlinable @inline(__always)
  final func siblings(_ slot: Int) -> SiblingWalk {
    if let kept = header.keptTargets(slot) {
      checkOwner()
      return SiblingWalk(kept?.takeUnretainedValue())
    }
    return siblingsAnew(slot)
  }
}
