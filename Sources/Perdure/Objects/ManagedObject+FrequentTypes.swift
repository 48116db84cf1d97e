// The accessors of the frequent types.
//
// A generic function looks up at run time the type of the value, its conversion from a `Value` and
// its size in memory. These lookups cost more than the read or the change itself. So these
// functions repeat the same code, each for one type.
//
// Reads call the functions here only if the inlined accessors (ManagedObject+InlinedReading.swift)
// cannot read the row directly.

internal import PerdurePredicates

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension ManagedObject {
  /// The value in a slot. It is read from the row if the row is ready and the field has the kind,
  /// and otherwise with the general functions.
  @inline(__always)
  private func value<T: AttributeValue>(
    _ slot: Int, _ kind: FieldKind, _ read: (RowView, RowField) -> T
  ) -> T {
    core.checkOwner()
    checkSlot(slot)
    if let row = readyRow(for: slot) {
      let field = row.fields[slot]
      if field.kind == kind, row.isPresent(field) { return read(row, field) }
    }
    return slowValue(slot)
  }

  /// Like `value`, but nil if there is no value.
  @inline(__always)
  private func optional<T: AttributeValue>(
    _ slot: Int, _ kind: FieldKind, _ read: (RowView, RowField) -> T
  ) -> T? {
    core.checkOwner()
    checkSlot(slot)
    if let row = readyRow(for: slot) {
      let field = row.fields[slot]
      if field.kind == kind { return row.isPresent(field) ? read(row, field) : nil }
    }
    return slowOptional(slot)
  }

  @inline(never)
  private func slowValue<T: AttributeValue>(_ slot: Int) -> T {
    convert(attributeValue(slot), slot) ?? T.zeroValue
  }

  @inline(never)
  private func slowOptional<T: AttributeValue>(_ slot: Int) -> T? { convert(attributeValue(slot), slot) }
}

// MARK: - Reading rows that are not ready

extension ManagedObject {
  @usableFromInline @inline(never)
  final func loaded(_ slot: Int) -> Int64 { value(slot, .int64) { $0.integer($1) } }

  @usableFromInline @inline(never)
  final func loaded(_ slot: Int) -> Int64? { optional(slot, .int64) { $0.integer($1) } }

  @usableFromInline @inline(never)
  final func loaded(_ slot: Int) -> Int {
    value(slot, .int64) { Int(truncatingIfNeeded: $0.integer($1)) }
  }

  @usableFromInline @inline(never)
  final func loaded(_ slot: Int) -> Int? {
    optional(slot, .int64) { Int(truncatingIfNeeded: $0.integer($1)) }
  }

  @usableFromInline @inline(never)
  final func loaded(_ slot: Int) -> Int32 {
    value(slot, .int32) { Int32(truncatingIfNeeded: $0.integer($1)) }
  }

  @usableFromInline @inline(never)
  final func loaded(_ slot: Int) -> Int32? {
    optional(slot, .int32) { Int32(truncatingIfNeeded: $0.integer($1)) }
  }

  @usableFromInline @inline(never)
  final func loaded(_ slot: Int) -> Int16 {
    value(slot, .int16) { Int16(truncatingIfNeeded: $0.integer($1)) }
  }

  @usableFromInline @inline(never)
  final func loaded(_ slot: Int) -> Int16? {
    optional(slot, .int16) { Int16(truncatingIfNeeded: $0.integer($1)) }
  }

  @usableFromInline @inline(never)
  final func loaded(_ slot: Int) -> Bool { value(slot, .bool) { $0.bool($1) } }

  @usableFromInline @inline(never)
  final func loaded(_ slot: Int) -> Bool? { optional(slot, .bool) { $0.bool($1) } }

  @usableFromInline @inline(never)
  final func loaded(_ slot: Int) -> Double { value(slot, .double) { $0.double($1) } }

  @usableFromInline @inline(never)
  final func loaded(_ slot: Int) -> Double? { optional(slot, .double) { $0.double($1) } }

  @usableFromInline @inline(never)
  final func loaded(_ slot: Int) -> String {
    value(slot, .string) { $0.text($1) }
  }

  @usableFromInline @inline(never)
  final func loaded(_ slot: Int) -> String? {
    optional(slot, .string) { $0.text($1) }
  }

  @usableFromInline @inline(never)
  final func loaded(_ slot: Int) -> Date {
    value(slot, .date) { Date(timeIntervalSinceReferenceDate: $0.double($1)) }
  }

  @usableFromInline @inline(never)
  final func loaded(_ slot: Int) -> Date? {
    optional(slot, .date) { Date(timeIntervalSinceReferenceDate: $0.double($1)) }
  }

  @usableFromInline @inline(never)
  final func loaded(_ slot: Int) -> Float { value(slot, .float) { Float($0.double($1)) } }

  @usableFromInline @inline(never)
  final func loaded(_ slot: Int) -> Float? { optional(slot, .float) { Float($0.double($1)) } }

  @usableFromInline @inline(never)
  final func loaded(_ slot: Int) -> UUID { value(slot, .uuid) { $0.uuid($1) } }

  @usableFromInline @inline(never)
  final func loaded(_ slot: Int) -> UUID? { optional(slot, .uuid) { $0.uuid($1) } }
}

// MARK: - Changing

extension ManagedObject {
  /// Changes a whole number.
  public final func _set(_ slot: Int, _ value: Int64) { setAttributeValue(.integer(value), slot) }

  /// Changes a whole number; nil removes it.
  public final func _set(_ slot: Int, _ value: Int64?) {
    setAttributeValue(value.map(Value.integer) ?? .null, slot)
  }

  /// Changes a whole number.
  public final func _set(_ slot: Int, _ value: Int) { setAttributeValue(.integer(Int64(value)), slot) }

  /// Changes a whole number; nil removes it.
  public final func _set(_ slot: Int, _ value: Int?) {
    setAttributeValue(value.map { .integer(Int64($0)) } ?? .null, slot)
  }

  /// Changes a whole number.
  public final func _set(_ slot: Int, _ value: Int32) { setAttributeValue(.integer(Int64(value)), slot) }

  /// Changes a whole number; nil removes it.
  public final func _set(_ slot: Int, _ value: Int32?) {
    setAttributeValue(value.map { .integer(Int64($0)) } ?? .null, slot)
  }

  /// Changes a whole number.
  public final func _set(_ slot: Int, _ value: Int16) { setAttributeValue(.integer(Int64(value)), slot) }

  /// Changes a whole number; nil removes it.
  public final func _set(_ slot: Int, _ value: Int16?) {
    setAttributeValue(value.map { .integer(Int64($0)) } ?? .null, slot)
  }

  /// Changes a truth value.
  public final func _set(_ slot: Int, _ value: Bool) { setAttributeValue(.bool(value), slot) }

  /// Changes a truth value; nil removes it.
  public final func _set(_ slot: Int, _ value: Bool?) {
    setAttributeValue(value.map(Value.bool) ?? .null, slot)
  }

  /// Changes a floating-point number.
  public final func _set(_ slot: Int, _ value: Double) { setAttributeValue(.double(value), slot) }

  /// Changes a floating-point number; nil removes it.
  public final func _set(_ slot: Int, _ value: Double?) {
    setAttributeValue(value.map(Value.double) ?? .null, slot)
  }

  /// Changes text.
  public final func _set(_ slot: Int, _ value: String) { setAttributeValue(.string(value), slot) }

  /// Changes text; nil removes it.
  public final func _set(_ slot: Int, _ value: String?) {
    setAttributeValue(value.map(Value.string) ?? .null, slot)
  }

  /// Changes a date.
  public final func _set(_ slot: Int, _ value: Date) { setAttributeValue(.date(value), slot) }

  /// Changes a date; nil removes it.
  public final func _set(_ slot: Int, _ value: Date?) {
    setAttributeValue(value.map(Value.date) ?? .null, slot)
  }
}
