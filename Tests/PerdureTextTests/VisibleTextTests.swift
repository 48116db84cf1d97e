import PerdureText
import Testing

@Suite("Text from outside in one line of output")
struct VisibleTextTests {
  @Test("Line ends, control characters and marks of direction become escapes")
  func escapes() {
    #expect(VisibleText.line("a\nb\r\nc\td") == "a\\nb\\r\\nc\\td")
    let marks: [Unicode.Scalar] = [
      "\u{0}", "\u{1B}", "\u{7F}", "\u{85}", "\u{9B}", "\u{61C}", "\u{200E}", "\u{200F}", "\u{2028}",
      "\u{2029}", "\u{202A}", "\u{202E}", "\u{2066}", "\u{2069}",
    ]
    for mark in marks {
      #expect(VisibleText.line("a\(mark)b") == "a\\u{\(String(mark.value, radix: 16))}b")
    }
  }

  @Test("Text of any script is unchanged", arguments: ["", "plain", "Größe", "名前", "שם", "👩‍👩‍👧", "a\\nb"])
  func plain(_ text: String) {
    #expect(VisibleText.line(text) == text)
  }
}
