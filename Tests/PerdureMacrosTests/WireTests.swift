import Testing

@testable import PerdureMacros

@Suite("Messages between the compiler and the plugin")
struct WireTests {
  /// A reader of bytes that arrive in pieces of at most `piece` bytes.
  func reader(_ bytes: [UInt8], piece: Int = 7) -> MessageReader {
    var rest = bytes[...]
    return MessageReader { count in
      let part = rest.prefix(min(count, piece))
      rest = rest.dropFirst(part.count)
      return Array(part)
    }
  }

  func header(_ length: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: length >> ($0 * 8)) } }

  func message(_ text: String) -> [UInt8] { header(UInt64(text.utf8.count)) + Array(text.utf8) }

  @Test("Messages are read in order until the end or a length of 0")
  func messages() throws {
    let first = reader(message("{\"a\":1}") + message("[]"))
    #expect(try first.next() == ["a": 1])
    #expect(try first.next() == [])
    #expect(try first.next() == nil)
    #expect(try reader(header(0) + message("[]")).next() == nil)
    #expect(MessageReader.frame(["a": 1]) == message("{\"a\":1}"))
  }

  @Test("Invalid, truncated and too long messages throw errors")
  func garbage() {
    #expect(throws: MessageError.truncated) { try reader([1, 2, 3]).next() }
    #expect(throws: MessageError.truncated) { try reader(message("{}").dropLast()).next() }
    #expect(throws: MessageError.truncated) { try reader(header(200 << 20) + [1]).next() }
    #expect(throws: MessageError.tooLong(.max)) { try reader(header(.max)).next() }
    #expect(throws: MessageError.self) { try reader(message("{\"a\"")).next() }
    #expect(throws: MessageError.self) { try reader(header(2) + [0xff, 0xfe]).next() }
    #expect(MessageError.truncated.sentence == "The compiler's message ends early.")
  }

  @Test("An encoded JSON value is decoded unchanged")
  func roundTrip() throws {
    let value: JSON = [
      "text": .string("a\"\\/\u{1}\n\u{1F418}é\u{0}"), "number": .integer(.min), "null": .null,
      "list": [.bool(true), .bool(false), [], [:]], "": "x",
    ]
    #expect(try JSONReader.read(value.encoded) == value)
  }

  @Test("Escapes, spaces and fractions are read, and invalid JSON throws errors")
  func reading() throws {
    func read(_ text: String) throws -> JSON { try JSONReader.read(Array(text.utf8)) }
    #expect(try read(" [ 1 , -2.5e3 , \"\\u00e9\\ud83d\\udc18\\/\\t\" ] \n") == [1, -2, "é🐘/\t"])
    for wrong in [
      "", "{", "[1", "[1,]", "{\"a\"}", "{\"a\":}", "{a:1}", "\"", "\"\\u12\"", "\"\\ud83d\"",
      "\"\\ud83d\\u0041\"",
      "\"\\x\"", "tru", "1 2", "-", "99999999999999999999", "\"\\udc18\"",
    ] {
      #expect(throws: JSONError.self, "\(wrong)") { try read(wrong) }
    }
    #expect(throws: JSONError.self) { try read(String(repeating: "[", count: 100_000)) }
  }

  @Test("A message with any changed byte is refused, answered, or ends the conversation with an error text")
  func mutations() throws {
    let bytes = Array(Self.expandMessage.utf8)
    var (invalid, answered, unknown) = (0, 0, 0)
    for offset in bytes.indices {
      for byte: UInt8 in [0, 0x22, 0x5c, 0x7b, 0x7d, 0xff] {
        var changed = bytes
        changed[offset] = byte
        // The only possible error has the type `JSONError`.
        guard let value = try? JSONReader.read(changed) else {
          invalid += 1
          continue
        }
        var conversation = Conversation()
        guard let reply = conversation.answer(Request(value))?.json else {
          #expect(conversation.confusion.contains("is not understood"), "byte \(byte) at \(offset)")
          unknown += 1
          continue
        }
        #expect(conversation.confusion.isEmpty)
        #expect(try JSONReader.read(reply.encoded) == reply, "byte \(byte) at \(offset)")
        let result = try #require(reply["expandMacroResult"], "byte \(byte) at \(offset)")
        // A reply without source explains this in diagnostics.
        #expect(result["expandedSource"]?.string != nil || result["diagnostics"] != [])
        answered += 1
      }
    }
    #expect(invalid > 100 && answered > 100 && unknown > 10)
  }

  static let expandMessage = """
    {"expandAttachedMacro":{"attributeSyntax":{"kind":"attribute","location":{"column":1,"fileID":"M/f.swift",\
    "fileName":"/f.swift","line":1,"offset":0},"source":"@Entity "},"declSyntax":{"kind":"declaration","location":\
    {"column":1,"fileID":"M/f.swift","fileName":"/f.swift","line":1,"offset":10},"source":"\\n@Entity class A: B \
    { var x: Int }"},"discriminator":"$s","lexicalContext":[],"macro":{"moduleName":"PerdureMacros","name":\
    "Entity ","typeName":"EntityMacro"},"macroRole":"member"}}
    """

  @Test("Answers have the form that the compiler expects")
  func conversation() throws {
    var conversation = Conversation()
    let hello: JSON = ["getCapability": ["capability": ["protocolVersion": 7]]]
    let greeting = conversation.answer(Request(hello))
    #expect(greeting?.json["getCapabilityResult"]?["capability"]?["protocolVersion"]?.integer == 7)
    let request = Request(try JSONReader.read(Array(Self.expandMessage.utf8)))
    let answer = conversation.answer(request)?.json["expandMacroResult"]
    #expect(answer?["expandedSource"]?.string?.hasPrefix("@dynamicMemberLookup\nenum _Slot {") == true)
    #expect(answer?["diagnostics"] == [])
  }

  @Test("An encoded diagnostic contains its position in the file")
  func diagnostic() throws {
    let reply = Reply.expansion(nil, [Diagnostic(message: "m", fileName: "f", offset: 3)])
    let text = String(decoding: reply.json.encoded, as: UTF8.self)
    #expect(
      text == """
        {"expandMacroResult":{"diagnostics":[{"fixIts":[],"highlights":[],"message":"m","notes":[],"position":\
        {"fileName":"f","offset":3},"severity":"error"}],"expandedSource":null}}
        """)
  }

  @Test("For an unknown protocol version, every expansion is answered with a diagnostic")
  func unknownVersion() throws {
    var conversation = Conversation()
    _ = conversation.answer(.capability(hostVersion: 8))
    let request = Request(try JSONReader.read(Array(Self.expandMessage.utf8)))
    guard case .expansion(nil, let diagnostics)? = conversation.answer(request) else {
      Issue.record("expanded for an unknown version")
      return
    }
    #expect(diagnostics.count == 1)
    #expect(diagnostics.first?.message.contains("this compiler uses version 8") == true)
  }

  @Test("An unknown message ends the conversation with an error text")
  func unknownMessage() {
    var conversation = Conversation()
    let first = conversation.answer(Request(["loadPluginLibrary": [:]]))
    #expect(first == nil)
    #expect(conversation.confusion.contains("\"loadPluginLibrary\""))
    let second = conversation.answer(Request([]))
    #expect(second == nil)
  }
}
