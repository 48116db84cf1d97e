import Testing

@testable import PerdureText

@Suite("JSON text")
struct JSONTextTests {
  @Test("JSON strings escape special characters, and infinite numbers are encoded as strings")
  func escapes() {
    let text = JSONText.object([
      ("a\"\\", .string("\u{1}\n\t\r\u{7F}é")), ("b", .array([.null, .bool(true), .integer(-5 as Int)])),
      ("c", .double(0.5)), ("d", .double(.infinity)), ("e", .bytes([0xC3])),
    ]).text
    #expect(
      text == #"{"a\"\\":"\u0001\n\t\r\u007fé","b":[null,true,-5],"c":0.5,"d":"inf","e":{"hex":"c3"}}"#)
    #expect(JSONText.array([]).text == "[]" && JSONText.object([]).text == "{}")
  }

  @Test("Hexadecimal digits decode to the encoded bytes, and invalid digits are rejected")
  func hexadecimal() {
    let bytes = [UInt8](0...255)
    #expect(Hexadecimal.bytes(Hexadecimal.digits(bytes)) == bytes)
    #expect(Hexadecimal.digits([0, 0x0A, 0xF0]) == "000af0")
    #expect(Hexadecimal.bytes("0") == nil && Hexadecimal.bytes("0g") == nil)
  }
}
