import Foundation
import PerdureModelCode
import Testing

/// Files of expected output. If `PERDURE_WRITE_GOLDEN` is set, the tests write these files before
/// they compare them.
enum Golden {
  static let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()

  /// - Parameter path: The path of the file in Tests.
  static func check(_ text: String, _ path: String, sourceLocation: SourceLocation = #_sourceLocation) throws
  {
    let file = tests.appending(path: path)
    if ProcessInfo.processInfo.environment["PERDURE_WRITE_GOLDEN"] != nil {
      try Data(text.utf8).write(to: file)
    }
    let expected = try String(contentsOf: file, encoding: .utf8)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let others = expected.split(separator: "\n", omittingEmptySubsequences: false)
    let first = zip(lines, others).enumerated().first { $0.element.0 != $0.element.1 }
    #expect(
      text == expected,
      """
      \(path), line \((first?.offset ?? min(lines.count, others.count)) + 1) differs. To accept the new text: \
      PERDURE_WRITE_GOLDEN=1 swift test --filter PerdureModelCodeTests
      """, sourceLocation: sourceLocation)
  }
}
