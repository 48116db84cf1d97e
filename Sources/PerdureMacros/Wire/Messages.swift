// The messages between the compiler and a macro plugin: those that attached macros need.
//
// RISK: this protocol is part of the Swift project, but it is not documented as stable. It was
// observed with Swift 6.3 (protocol version 7). The plugin checks the version in the first message.
// If the compiler's version is newer, the plugin answers every expansion with an error message at
// the attribute. So a user never gets an obscure failure. Members that the plugin does not need are
// ignored.
//
//     compiler                                   plugin
//     {getCapability: {capability:               {getCapabilityResult: {capability:
//       {protocolVersion}}}                        {protocolVersion, features: []}}}
//     {expandAttachedMacro: {macro:              {expandMacroResult:
//       {moduleName, typeName, name},              {expandedSource: text or null,
//       macroRole, discriminator,                   diagnostics: [{message, severity,
//       attributeSyntax, declSyntax,                  position: {fileName, offset},
//       lexicalContext: [syntax], …}}                 highlights: [], notes: [], fixIts: []}]}}
//
// A syntax is {kind, source, location: {fileID, fileName, offset, line, column}}. The offset is
// that of `source` in the file, in UTF-8 bytes.

/// A piece of the user's source, as the compiler sends it.
struct SyntaxText: Hashable, Sendable {
  var source: String
  var fileName: String
  /// The offset of `source` in the file, in UTF-8 bytes.
  var offset: Int

  init(_ source: String, fileName: String = "", offset: Int = 0) {
    self.source = source
    self.fileName = fileName
    self.offset = offset
  }

  /// An error at an offset in the source, in UTF-8 bytes from its start.
  func error(_ message: String, at place: Int = 0) -> Diagnostic {
    Diagnostic(message: message, fileName: fileName, offset: offset + place)
  }

  init?(_ json: JSON?) {
    guard let json, let source = json["source"]?.string else { return nil }
    self.source = source
    fileName = json["location"]?["fileName"]?.string ?? ""
    offset = json["location"]?["offset"]?.integer ?? 0
  }
}

/// A request of the compiler.
enum Request: Hashable, Sendable {
  case capability(hostVersion: Int)
  case expandAttached(AttachedExpansion)
  case unknown(String)

  struct AttachedExpansion: Hashable, Sendable {
    /// The type named in the macro's declaration, for example `EntityMacro`.
    var typeName: String
    var role: String
    var attribute: SyntaxText
    var declaration: SyntaxText
    /// The head of the type that contains the declaration, with empty braces; nil if there is none.
    var surroundings: String?
    /// The type to extend, including the types that contain it.
    var extendedType: String?
  }

  init(_ message: JSON) {
    if let body = message["getCapability"] {
      self = .capability(hostVersion: body["capability"]?["protocolVersion"]?.integer ?? 0)
    } else if let body = message["expandAttachedMacro"],
      let typeName = body["macro"]?["typeName"]?.string, let role = body["macroRole"]?.string,
      let attribute = SyntaxText(body["attributeSyntax"]), let declaration = SyntaxText(body["declSyntax"])
    {
      self = .expandAttached(
        AttachedExpansion(
          typeName: typeName, role: role, attribute: attribute, declaration: declaration,
          surroundings: body["lexicalContext"]?.first?["source"]?.string,
          extendedType: body["extendedTypeSyntax"]?["source"]?.string))
    } else if case .object(let members) = message, let name = members.keys.sorted().first {
      self = .unknown(name)
    } else {
      self = .unknown("nothing")
    }
  }
}

/// A message for the user, at an offset in the source.
struct Diagnostic: Hashable, Sendable {
  enum Severity: String, Sendable {
    case error
    case warning
  }

  var severity = Severity.error
  var message: String
  var fileName: String
  /// The offset in UTF-8 bytes from the start of the file.
  var offset: Int

  fileprivate var json: JSON {
    [
      "message": .string(message), "severity": .string(severity.rawValue),
      "position": ["fileName": .string(fileName), "offset": .integer(offset)],
      "highlights": [], "notes": [], "fixIts": [],
    ]
  }
}

/// A reply of the plugin.
enum Reply: Hashable, Sendable {
  case capability
  case expansion(String?, [Diagnostic])

  /// The newest version with which the plugin was tested.
  static let protocolVersion = 7

  var json: JSON {
    switch self {
    case .capability:
      [
        "getCapabilityResult": [
          "capability": ["protocolVersion": .integer(Self.protocolVersion), "features": []]
        ]
      ]
    case .expansion(let source, let diagnostics):
      [
        "expandMacroResult": [
          "expandedSource": source.map { .string($0) } ?? .null,
          "diagnostics": .array(diagnostics.map(\.json)),
        ]
      ]
    }
  }
}
