#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A part of a model for which no code can be generated: the place, the reason and the remedy.
public struct ModelCodeProblem: Sendable, Hashable {
  /// The kind of a problem.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// A class name, module name or type is not written as in Swift.
    case syntax
    /// Two generated declarations have the same name, or one hides a name that the code uses.
    case nameClash
    /// Macros cannot express a part of the model. Accessors can.
    case notExpressible
  }

  /// The kind of the problem.
  public let kind: Kind
  /// The name of the entity or template; nil if the problem is about the model as a whole.
  public let entity: String?
  /// The name of the property; nil if the problem is about the entity as a whole.
  public let property: String?
  /// The problem, in one sentence.
  public let message: String
  /// The remedy, in one sentence.
  public let remedy: String
}

extension ModelCodeProblem: CustomStringConvertible {
  /// The place, the message and the remedy in one line.
  public var description: String {
    let place = [entity, property].compactMap { $0 }.joined(separator: ".")
    return "\(place.isEmpty ? "model" : place): \(message) \(remedy) [\(kind.rawValue)]"
  }
}

/// Why no code can be generated. No file was made.
public struct ModelCodeError: Error, Sendable, Hashable {
  /// All problems, in the order of entities and properties; at least one.
  public let problems: [ModelCodeProblem]
}

extension ModelCodeError: CustomStringConvertible {
  /// One line for each problem.
  public var description: String { problems.map(\.description).joined(separator: "\n") }
}

extension ModelCodeError: LocalizedError {
  /// The description.
  public var errorDescription: String? { description }
}
