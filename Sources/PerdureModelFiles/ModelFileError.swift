#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The reasons why a model file cannot be read or written. The model and the files are unchanged,
/// unless the description of a method states otherwise.
public struct ModelFileError: Error, Sendable, Hashable {
  /// All findings, in the order of their lines; at least one is an error.
  public let problems: [ModelFileProblem]

  package init(_ problems: [ModelFileProblem]) { self.problems = problems }

  init(
    _ kind: ModelFileProblem.Kind, file: String, line: Int? = nil, place: String? = nil, _ message: String,
    _ remedy: String
  ) {
    problems = [
      ModelFileProblem(
        severity: .error, kind: kind, file: file, line: line, place: place, message: message, remedy: remedy)
    ]
  }

  /// The findings that are errors.
  public var errors: [ModelFileProblem] { problems.filter { $0.severity == .error } }
}

extension ModelFileError: CustomStringConvertible {
  /// One line for each finding.
  public var description: String { problems.map(\.description).joined(separator: "\n") }
}

extension ModelFileError: LocalizedError {
  /// The description.
  public var errorDescription: String? { description }
}
