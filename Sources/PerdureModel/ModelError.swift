/// The error of a model that cannot be used. The model is invalid, differs from the model in the
/// store, or cannot be read.
public struct ModelError: Error, Sendable, Hashable {
  /// The kind of failure, as a number. If Core Data has a number for the case, it is the same.
  public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// The number.
    public let rawValue: Int
    /// Makes a code from its number.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The descriptions break rules of models. Correct the model; see `problems`.
    public static let invalidModel = Code(rawValue: 134_060)
    /// The stored model cannot be read. Verify the store, or use a newer version of Perdure.
    public static let unreadableModel = Code(rawValue: 134_080)
    /// The model differs from the one in the store by more than additions. See `differences`.
    public static let incompatibleModel = Code(rawValue: 134_100)
    /// A store has no unused numbers for entities, properties or layouts. Copy the objects into a
    /// new store.
    public static let numbersExhausted = Code(rawValue: 134_110)

    /// The name and the number, such as `invalidModel (134060)`. For an unknown code, only the
    /// number.
    public var description: String { numberedCode(Self.names[rawValue], rawValue) }

    private static let names = [
      134_060: "invalidModel", 134_080: "unreadableModel", 134_100: "incompatibleModel",
      134_110: "numbersExhausted",
    ]
  }

  /// The kind of failure.
  public let code: Code
  /// The error and the remedy, as sentences.
  public let message: String
  /// Every broken rule, for `invalidModel` (and for an unreadable model that breaks rules).
  public let problems: [ModelProblem]
  /// Every difference, including compatible ones, for `incompatibleModel`.
  public let differences: [ModelDifference]
  /// The offset of the error in the stored bytes, for `unreadableModel`.
  public let offset: Int?
  /// The required section of the stored model that this version does not support, for
  /// `unreadableModel`.
  public let section: UInt16?

  init(
    _ code: Code, _ message: String, problems: [ModelProblem] = [], differences: [ModelDifference] = [],
    offset: Int? = nil, section: UInt16? = nil
  ) {
    self.code = code
    self.message = message
    self.problems = problems
    self.differences = differences
    self.offset = offset
    self.section = section
  }

  /// The error of a container without entities.
  package static func withoutEntities(_ message: String) -> ModelError { ModelError(.invalidModel, message) }

  static var exhausted: ModelError {
    ModelError(
      .numbersExhausted,
      "The store has used all its numbers for entities and layouts. Copy the objects into a new store.")
  }

  static func unreadable(_ what: String, at offset: Int) -> ModelError {
    ModelError(
      .unreadableModel,
      "The stored model cannot be read at byte \(offset): \(what). Verify the store, or use a newer version of "
        + "Perdure.", offset: offset)
  }
}

extension ModelError: CustomStringConvertible {
  /// The code, the message, and one line for each problem or difference.
  public var description: String {
    let lines = problems.map { "- \($0)" } + differences.map { "- \($0)" }
    return (["\(code.rawValue): \(message)"] + lines).joined(separator: "\n")
  }
}
