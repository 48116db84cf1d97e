// The values of derived attributes. Each read computes the value, so the value is never outdated
// (DS1 in DerivedStorage.swift).

internal import PerdurePredicates

extension ManagedObject {
  /// The value of a derived attribute. A path without an aggregate fires faults, as a key path
  /// does. The context computes aggregates without creating objects.
  func derivedValue(_ derived: DerivedStorage) -> Value {
    if derived.path.aggregate != nil {
      return context.map { derived.shown($0.reading.derived.value(of: derived, reference)) } ?? .null
    }
    var object = self
    for slot in derived.slots.dropLast() {
      guard let next = object.related(slot) else { return .null }
      object = next
    }
    guard let last = derived.slots.last else { return .null }
    let value = object.attributeValue(last)
    guard let function = derived.function, case .string(let text) = value else { return value }
    return .string(function.applied(to: text))
  }

  /// The exact sum of a derived attribute. If the attribute copies a sum at the end of a path,
  /// returns that sum. If the attribute's type cannot represent the sum, the result is a
  /// `Decimal`, while the property has the nearest number (DS3 in DerivedStorage.swift). Nil for
  /// other properties, and if the object is gone or a path has no object.
  func exactSum(_ slot: Int) -> Any? {
    guard case .derived(let derived) = shape.properties[slot], derived.function == nil else { return nil }
    if derived.path.aggregate == .sum {
      let sum = context?.reading.derived.value(of: derived, reference)
      return sum.flatMap { $0.swiftValue(of: $0.stored(as: derived.kind) == nil ? .decimal : derived.kind) }
    }
    var object = self
    for slot in derived.slots.dropLast() {
      guard let next = object.related(slot) else { return nil }
      object = next
    }
    return derived.slots.last.flatMap { object.exactSum($0) }
  }
}
