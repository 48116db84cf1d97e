// Why a property could not be read or set by its name.

internal import PerdurePredicates

/// The reason why a property cannot be read or set by its name.
enum KeyedProblem: Error {
  /// A mistake in the program's text: a name, an operator, an object of another context.
  case mistake(String)
  /// A value that the property cannot hold, which may come from anywhere.
  case unfit(PerdureError.Detail)

  static func unfit(_ object: ManagedObject, _ property: String, _ value: Any, _ why: String) -> KeyedProblem
  {
    .unfit(
      PerdureError.Detail(
        code: .validation, objectID: object.objectID, property: property,
        value: (value as? any PredicateArgument)?.predicateValue ?? .null,
        rule: "cannot hold a \(type(of: value))\(why)"))
  }

  /// For the throwing forms.
  var error: PerdureError {
    switch self {
    case .mistake(let message): return PerdureError(.unknownKey, message)
    case .unfit(let detail):
      var error = PerdureError(
        .validation, "\(detail.objectID): \(detail.property) \(detail.rule). Nothing was changed.")
      error.details = [detail]
      error.objectIDs = [detail.objectID]
      return error
    }
  }

  /// For the forms that cannot throw: a mistake stops the program, and a value is refused by the context's next save.
  func refuse(in context: ContextCore) {
    switch self {
    case .mistake(let message): stop(message)
    case .unfit(let detail): context.refusedChanges.note(detail)
    }
  }

  /// The result of a body; a mistake stops the program.
  static func stopping<R>(_ body: () throws(KeyedProblem) -> R) -> R {
    do throws(KeyedProblem) { return try body() } catch { stop(error.error.message) }
  }

  /// The result of a body, for the throwing forms.
  static func throwing<R>(_ body: () throws(KeyedProblem) -> R) throws(PerdureError) -> R {
    do throws(KeyedProblem) { return try body() } catch { throw error.error }
  }
}
