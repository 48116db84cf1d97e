internal import PerdureLog
package import PerdureModel
internal import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A stored object, readable without the program that wrote it.
public struct InspectedObject: Sendable {
  /// A value of a property.
  public enum Property: Sendable, Hashable {
    /// No value.
    case none
    /// A truth value.
    case bool(Bool)
    /// A whole number.
    case integer(Int64)
    /// A floating-point number. A Float becomes the Double with the same decimal digits.
    case double(Double)
    /// Text, a decimal, a UUID, a URL, or a date. Dates in the years 1 to 4000 are ISO 8601 text to
    /// the millisecond. Other dates are seconds since the start of 2001.
    case text(String)
    /// Bytes.
    case data([UInt8])
    /// Another object.
    case object(entity: String, id: UInt64)
    /// Several values.
    case list([Property])
  }

  /// The name of the object's entity.
  public let entity: String
  /// The number of the object in its entity.
  public let id: UInt64
  /// The values in the object's row, in the order of the model: attributes, and the to-one
  /// relationships stored there.
  public let properties: [(name: String, value: Property)]
  /// The reason why the row cannot be read; nil for a readable row. An unreadable object has no
  /// properties.
  public let problem: String?
}

extension StoreInspection {
  /// Visits the objects of one entity in the order of their numbers, without those of subentities.
  ///
  /// For an abstract entity, it visits the objects of its subentities, one entity after the other.
  /// Unreadable objects are visited too.
  ///
  /// - Parameter entity: The name of the entity.
  /// - Parameter ids: The numbers to visit.
  /// - Parameter body: Returns false to stop.
  /// - Returns: False if the model has no such entity.
  /// - Throws: The errors of `body`. The error of the store if the numbers of the objects cannot be
  ///   read.
  @discardableResult
  public func forEachObject(
    of entity: String, ids: ClosedRange<UInt64> = 0 ... .max, _ body: (InspectedObject) throws -> Bool
  ) throws -> Bool {
    guard let storage = schema.entities.compactMap({ $0 }).first(where: { $0.name == entity }) else {
      return false
    }
    var shouldContinue = true
    for number in storage.layouts == nil ? storage.concrete : [storage.number] where shouldContinue {
      let storage = schema.entity(number)
      let view = store.view()
      let rows = view.schema.rows
      try view.visitEveryRow(entity: number) { reference, row in
        guard reference.id <= ids.upperBound else { return false }
        guard reference.id >= ids.lowerBound else { return true }
        shouldContinue = try body(inspected(reference, row, decodedBy: rows, storage))
        return shouldContinue
      }
    }
    return true
  }

  private func inspected(
    _ reference: ObjectReference, _ row: Result<StoredRow, any Error>, decodedBy rows: RowChecks,
    _ entity: EntityStorage
  ) -> InspectedObject {
    do {
      let view = try rows.view(row.get().bytes, of: reference)
      let properties = entity.properties.enumerated().compactMap { slot, property in
        let kind = view.fields[slot].kind
        return kind == .absent ? nil : (name: property.name, value: inspected(view.value(slot), kind))
      }
      return InspectedObject(entity: entity.name, id: reference.id, properties: properties, problem: nil)
    } catch {
      return InspectedObject(entity: entity.name, id: reference.id, properties: [], problem: "\(error)")
    }
  }

  func inspected(_ value: Value, _ kind: FieldKind) -> InspectedObject.Property {
    switch value {
    // A Float is shown as the value that predicates use for it.
    case .double(let value) where kind == .float: inspected(Float(value).argumentValue, .double)
    case .reference(let reference):
      .object(entity: name(of: reference.entityNumber), id: UInt64(reference.id))
    case .list(let values): .list(values.map { inspected($0, kind) })
    default: InspectedObject.Property(plain: value)
    }
  }

  private func name(of entity: UInt16) -> String {
    let known = Int(entity) < schema.entities.count ? schema.entities[Int(entity)]?.name : nil
    return known ?? "entity \(entity)"
  }
}

extension InspectedObject.Property {
  /// The value of a default; none for a default that is made for each object.
  package init(_ value: DefaultValue) { self.init(plain: value.value) }

  /// A value that is not a reference to an object.
  fileprivate init(plain value: Value) {
    self =
      switch value {
      case .null, .list, .objectID, .reference: .none
      case .bool(let value): .bool(value)
      case .integer(let value): .integer(value)
      case .double(let value): .double(value)
      case .decimal(let value): .text("\(value)")
      case .string(let value): .text(value)
      case .date(let value): .text(DateText.text(of: value))
      case .uuid(let value): .text(value.uuidString)
      case .data(let value): .data(Array(value))
      case .url(let value): .text(value.absoluteString)
      }
  }
}
