// The choices for the code of a model, as a file beside the model. The plugin takes no arguments,
// and reads its choices from this file.

import PerdureFileIO
public import PerdureModelCode
import PerdureModelFiles
import PerdurePredicates
import PerdureText

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension ModelCodeOptions {
  /// Reads the choices in the file beside a model: `Staff.perdure.json` for `Staff.xcdatamodeld`.
  ///
  ///     { "style": "macros", "access": "public", "module": "Staff", "imports": ["Colours"] }
  ///
  /// | member | values |
  /// |---|---|
  /// | `style` | `accessors` (default), `macros` |
  /// | `entities` | `class`, `extension`, `manual`, `file` (default): as in the model file |
  /// | `access` | `internal` (default), `package`, `public` |
  /// | `scalars` | `exact` (default), `file`; see ``ModelCodeScalars`` |
  /// | `module` | the module of the code |
  /// | `imports` | a list of modules |
  /// | `names` | `true` (default), `false`: whether names are constants |
  ///
  /// - Parameters:
  ///   - path: The path of the model: a folder, or the file `contents` in one.
  ///   - defaults: The choices for the members that the file does not have.
  /// - Returns: The choices; nil if there is no such file.
  /// - Throws: `ModelCodeOptionsError` with all problems of the file. `ModelFileError` if it cannot
  ///   be read.
  public init?(besideModelAt path: String, defaults: ModelCodeOptions = ModelCodeOptions()) throws {
    let file = Self.file(besideModelAt: path)
    guard try ModelFolder().kind(of: file) == .file else { return nil }
    var reader = OptionsReader(options: defaults)
    self = try reader.read(try ModelFolder().bytes(of: file), file: file)
  }

  /// The path of the file with the choices for the code of a model. The file may be missing.
  public static func file(besideModelAt path: String) -> String {
    var names = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    while names.count > 1, names.last == "" || names.last == "contents" { names.removeLast() }
    let name = names.removeLast()
    return (names + ["\(ModelFolder.stem(name)).perdure.json"]).joined(separator: "/")
  }
}

/// The reasons why a file of options for generated code cannot be used. No code was generated.
public struct ModelCodeOptionsError: Error, Sendable, Hashable {
  /// The path of the file.
  public let file: String
  /// The problems in the order of the members' names, each in one or two sentences with its remedy;
  /// at least one.
  public let problems: [String]
}

extension ModelCodeOptionsError: CustomStringConvertible {
  /// One line for each problem, in the format of compiler diagnostics.
  public var description: String {
    problems.map { VisibleText.line("\(file): error: \($0)") }.joined(separator: "\n")
  }
}

extension ModelCodeOptionsError: LocalizedError {
  /// The description.
  public var errorDescription: String? { description }
}

/// Reads the members of a file.
private struct OptionsReader {
  private var options: ModelCodeOptions
  private var problems: [String] = []

  private static let members = ["access", "entities", "imports", "module", "names", "scalars", "style"]

  init(options: ModelCodeOptions) { self.options = options }

  /// - Returns: The options, with the settings of a file applied.
  mutating func read(_ bytes: [UInt8], file: String) throws(ModelCodeOptionsError) -> ModelCodeOptions {
    do {
      let members = try JSONDecoder().decode([String: OptionValue].self, from: Data(bytes))
      for (name, value) in members.sorted(by: { $0.key < $1.key }) { read(name, value) }
    } catch {
      problems = ["The file is not a JSON object. Write { \"style\": \"macros\" }, for example."]
    }
    guard problems.isEmpty else { throw ModelCodeOptionsError(file: file, problems: problems) }
    return options
  }

  private mutating func read(_ name: String, _ value: OptionValue) {
    switch (name, value) {
    case ("style", _): choose(name, value) { $0.style = $1 }
    case ("access", _): choose(name, value) { $0.access = $1 }
    case ("scalars", _): choose(name, value) { $0.scalars = $1 }
    case ("entities", .text("file")): options.entityCode = nil
    case ("entities", _): choose(name, value, others: ["file"]) { $0.entityCode = $1 }
    case ("module", .text(let module)): options.module = module
    case ("imports", .list(let modules)): options.imports = modules
    case ("names", .truth(let isTrue)): options.hasNameConstants = isTrue
    case ("module", _): problems.append("\"module\" is not a string. Write the name of the module.")
    case ("imports", _): problems.append("\"imports\" is not an array of strings. Write [\"Module\"].")
    case ("names", _): problems.append("\"names\" is neither true nor false. Write one of them.")
    default:
      problems.append(
        "\"\(name)\" is not an option.\(NearMisses.question(name, in: Self.members)) The options are "
          + "\(Self.members.joined(separator: ", ")).")
    }
  }

  private mutating func choose<Choice: RawRepresentable<String> & CaseIterable>(
    _ name: String, _ value: OptionValue, others: [String] = [],
    _ set: (inout ModelCodeOptions, Choice) -> Void
  ) {
    if case .text(let text) = value, let choice = Choice(rawValue: text) { return set(&options, choice) }
    let names = Choice.allCases.map(\.rawValue) + others
    problems.append("\"\(name)\" has an unknown value. Write one of \(names.joined(separator: ", ")).")
  }
}

/// A value of a member.
private enum OptionValue: Decodable {
  case text(String)
  case truth(Bool)
  case list([String])
  case other

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let text = try? container.decode(String.self) {
      self = .text(text)
    } else if let truth = try? container.decode(Bool.self) {
      self = .truth(truth)
    } else if let list = try? container.decode([String].self) {
      self = .list(list)
    } else {
      self = .other
    }
  }
}
