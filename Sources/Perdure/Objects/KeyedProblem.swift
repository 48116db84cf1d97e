internal import PerdurePredicates

/// The reason why a property cannot be read or set by its name.
enum KeyedProblem: Error {
  /// A mistake of the program: an unknown name or operator, a property that cannot be set, or an
  /// object of another context.
  case mistake(String)
  /// A value that the property cannot hold. It may come from data.
  case unfit(PerdureError.Detail)

  static func unfit(_ object: ManagedObject, _ property: String, _ value: Any, _ why: String) -> KeyedProblem
  {
    .unfit(
      PerdureError.Detail(
        code: .validation, objectID: object.objectID, property: property,
        value: KeyedValue.content(of: value) ?? .null,
        rule: "cannot hold \(Self.article(of: value)) \(type(of: value))\(why)"))
  }

  private static func article(of value: Any) -> String {
    "\(type(of: value))".first.map("AEIO".contains) == true ? "an" : "a"
  }

  /// The error that the throwing functions report.
  var error: PerdureError {
    switch self {
    case .mistake(let message): return PerdureError(.unknownKey, message)
    case .unfit(let detail):
      var error = PerdureError(
        .validation, "\(detail.sentence) Nothing was changed.")
      error.details = [detail]
      error.objectIDs = [detail.objectID]
      return error
    }
  }

  /// Reports the problem for functions that cannot throw. A mistake stops the program; the
  /// context's next save reports an unfit value.
  func refuse(in pending: PendingChanges) {
    switch self {
    case .mistake(let message): stop(message)
    case .unfit(let detail): pending.refusedChanges.note(detail)
    }
  }

  /// Returns the result of a body, and stops the program if it throws.
  static func stopping<R>(_ body: () throws(KeyedProblem) -> R) -> R {
    do throws(KeyedProblem) { return try body() } catch { stop(error.error.message) }
  }

  /// Returns the result of a body, and converts its problem into a `PerdureError`.
  static func throwing<R>(_ body: () throws(KeyedProblem) -> R) throws(PerdureError) -> R {
    do throws(KeyedProblem) { return try body() } catch { throw error.error }
  }
}
