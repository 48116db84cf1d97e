import PerdureText

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A part of a model for which no code can be generated: the place, the reason and the remedy.
public struct ModelCodeProblem: Sendable, Hashable {
  /// The kind of a problem.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// A class name, module name or type is not valid in Swift.
    case syntax
    /// Two generated declarations have the same name, or one hides a name that the code uses.
    case nameClash
    /// Macros cannot express a part of the model. Accessors can.
    case notExpressible
  }

  /// The kind of the problem.
  public let kind: Kind
  let part: CodePart
  /// The description of the problem.
  public let message: String
  /// The remedy.
  public let remedy: String
  /// The path of the model file; nil if ``ModelCodeHints/source`` has no line for the problem.
  public private(set) var file: String?
  /// The line in the model file, from 1; nil if ``file`` is nil.
  public private(set) var line: Int?

  init(kind: Kind, part: CodePart, message: String, remedy: String) {
    (self.kind, self.part, self.message, self.remedy) = (kind, part, message, remedy)
  }

  /// - Parameters:
  ///   - entity: The name of an entity; nil for the model as a whole.
  ///   - property: The name of a property of the entity.
  init(kind: Kind, entity: String?, property: String?, message: String, remedy: String) {
    self.init(kind: kind, part: CodePart(entity, property), message: message, remedy: remedy)
  }

  /// The problem with its place in the file.
  func located(in source: ModelCodeSource?) -> ModelCodeProblem {
    guard let source, let line = source.line(of: part) else { return self }
    var problem = self
    (problem.file, problem.line) = (source.file, line)
    return problem
  }
}

extension ModelCodeProblem {
  /// The name of the entity or template; nil if the problem is about a composite or the model as a
  /// whole.
  public var entity: String? {
    switch part {
    case .model, .composite: nil
    case .entity(let name), .property(_, let name), .template(let name): name
    }
  }

  /// The name of the property; nil if the problem is not about a property.
  public var property: String? {
    if case .property(let name, _) = part { name } else { nil }
  }
}

/// The part of a model that a problem is about.
enum CodePart: Sendable, Hashable {
  case model
  case entity(String)
  case property(String, of: String)
  case composite(String)
  case template(String)

  init(_ entity: String?, _ property: String?) {
    switch (entity, property) {
    case (nil, _): self = .model
    case (let entity?, nil): self = .entity(entity)
    case (let entity?, let property?): self = .property(property, of: entity)
    }
  }
}

extension ModelCodeProblem: CustomStringConvertible {
  /// The place, the message and the remedy in one line, after the file and the line if they are
  /// known. Control characters and marks of text direction in names are escapes such as `\n`.
  public var description: String {
    let place = [entity, property].compactMap { $0 }.joined(separator: ".")
    let words = "\(place.isEmpty ? "model" : place): \(message) \(remedy) [\(kind.rawValue)]"
    guard let file, let line else { return VisibleText.line(words) }
    return VisibleText.line("\(file):\(line): error: \(words)")
  }
}

/// Why no code can be generated. No file was made.
public struct ModelCodeError: Error, Sendable, Hashable {
  /// All problems; at least one.
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
