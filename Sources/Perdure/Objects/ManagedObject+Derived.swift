// What derived attributes hold: asked anew each time, so that nothing is kept that could be out of date (D1 in
// DerivedStorage.swift).

internal import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

extension ManagedObject {
  /// The value of a derived attribute. Along a path faults fire as they do along a key path; what is added up is
  /// asked of the context, which makes no instance of it.
  func derivedValue(_ derived: DerivedStorage) -> Value {
    if derived.path.aggregate != nil { return context?.value(of: derived, reference) ?? .null }
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

  /// The value nearest to a sum that the type of the slot cannot hold. The slot has the sum or a copy
  /// of it. nil if the slot has no value for another reason.
  func nearestToSum(_ slot: Int) -> Value? {
    guard case .derived(let derived) = shape.properties[slot], derived.function == nil else { return nil }
    if derived.path.aggregate == .sum {
      // Only a sum that does not fit, or cannot be read, has no value.
      guard let context, !header.pointee.isGone, context.value(of: derived, reference) == .null,
        context.readFailure == nil,
        case .decimal(let sum) = context.value(of: derived.with(kind: .decimal), reference)
      else { return nil }
      return derived.kind.nearest(to: sum)
    }
    var object = self
    for slot in derived.slots.dropLast() {
      guard let next = object.related(slot) else { return nil }
      object = next
    }
    return derived.slots.last.flatMap(object.nearestToSum)
  }
}

extension FieldKind {
  /// The number of the kind that is nearest to a sum which no value of the kind equals.
  fileprivate func nearest(to sum: Decimal) -> Value? {
    switch self {
    case .int16: .integer(Int64(sum < 0 ? Int16.min : Int16.max))
    case .int32: .integer(Int64(sum < 0 ? Int32.min : Int32.max))
    case .int64: .integer(sum < 0 ? Int64.min : Int64.max)
    case .float, .double: Double(sum.description).map(Value.double)
    default: nil
    }
  }
}

extension ContextCore {
  /// What a derived attribute of an object is, with unsaved changes; null where it cannot be evaluated, which the
  /// context takes note of where it lies with the store.
  func value(of derived: DerivedStorage, _ reference: ObjectReference) -> Value {
    do throws(PredicateEvaluationError) {
      return try value(of: derived, source: PendingSource(self, reference))
    } catch {
      noteFailure(error, reference)
      return .null
    }
  }

  /// What it is in the store.
  func storedValue(of derived: DerivedStorage, _ reference: ObjectReference) -> Value {
    do {
      return try RowSource(reference, RowGraph(schema: graph.store, view: view)).value(of: derived)
    } catch {
      noteFailure(error, reference)
      return .null
    }
  }

  /// A context that could not read its store does not save. That an expression has no value is no such thing.
  private func noteFailure(_ error: any Error, _ reference: ObjectReference) {
    let evaluation = error as? PredicateEvaluationError
    if let evaluation, evaluation.code != .sourceFailed { return }
    noteReadFailure(evaluation?.cause ?? error, reference)
  }
}
