public import PerdureModel
import PerdureText

/// One finding in a model file: its location, the message and the remedy.
public struct ModelFileProblem: Sendable, Hashable {
  /// The effect of a finding.
  public enum Severity: String, Sendable, Hashable, Comparable {
    /// A valid declaration with an effect that is often overlooked.
    case note
    /// A part of the file that has no effect, or a likely mistake. The model can be used.
    case warning
    /// The file does not contain a valid model, or cannot be written.
    case error

    private var rank: Int {
      switch self {
      case .note: 0
      case .warning: 1
      case .error: 2
      }
    }

    /// Whether `left` is less severe than `right`.
    public static func < (left: Severity, right: Severity) -> Bool { left.rank < right.rank }
  }

  /// The kind of a finding.
  public enum Kind: Sendable, Hashable {
    /// A file or folder cannot be read or written.
    case file
    /// The text is not well-formed XML in UTF-8.
    case syntax
    /// The file has a format that is not supported, for example a binary property list.
    case format
    /// The bundle has no such version, or does not name its current version.
    case version
    /// An element or attribute that is not part of the format. It is kept, and has no effect.
    case unknownContent
    /// An element lacks an attribute that it needs.
    case missing
    /// The text of an attribute is not a value of its type.
    case value
    /// Two parts of an element contradict each other.
    case contradiction
    /// A composite contains itself, is not in the file, is too large, or has the name of another
    /// one.
    case composite
    /// A predicate cannot be parsed.
    case predicate
    /// A declaration that Perdure does not use.
    case unused
    /// A transformable attribute names no value transformer. Its values are stored as secure
    /// archives.
    case transformer
    /// An optional number has a scalar type in Core Data, so code cannot distinguish a missing
    /// value from 0.
    case scalar
    /// A part of a model that the file format cannot express.
    case inexpressible
    /// A problem of the model, with the same rule as in `ModelProblem`.
    case model(ModelProblem.Rule)
  }

  /// The effect of the finding.
  public let severity: Severity
  /// The kind of the finding.
  public let kind: Kind
  /// The path of the file.
  public let file: String
  /// The line in the file, from 1; nil if the finding is about the file as a whole.
  public let line: Int?
  /// The entity, property or other part of the model, such as `Person.name`; nil if there is none.
  public let place: String?
  /// The description of the finding.
  public let message: String
  /// The remedy.
  public let remedy: String
}

extension ModelFileProblem: CustomStringConvertible {
  /// The file, line, severity, place, message and remedy in one line, in the format of compiler
  /// diagnostics. Control characters and marks of text direction in names are escapes such as `\n`.
  public var description: String {
    let start = ([file] + [line].compactMap { $0.map(String.init) }).joined(separator: ":")
    return VisibleText.line(
      "\(start): \(severity.rawValue): \(place.map { "\($0): " } ?? "")\(message) \(remedy)")
  }
}
