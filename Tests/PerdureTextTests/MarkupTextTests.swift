import PerdureText
import Testing

@Suite("Text for XML and HTML")
struct MarkupTextTests {
  @Test("Characters with a meaning in markup are escaped, and other characters stay")
  func escapes() {
    #expect(
      MarkupText.escaped("a<b> & \"c\" 'd' é 漢 🙂") == "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39; é 漢 🙂")
    #expect(MarkupText.escaped("\t\n\r") == "&#9;&#10;&#13;")
  }

  @Test("Characters that XML cannot contain become the replacement character")
  func controls() {
    #expect(
      MarkupText.escaped("\u{0}\u{1B}\u{7F}\u{85}\u{FFFE}\u{1FFFF}")
        == String(repeating: "\u{FFFD}", count: 6))
  }

  @Test("In an HTML table, the first row is the header and all cells are escaped")
  func table() {
    #expect(
      TextTable.html([["a", "b"], ["<1>", ""]]) == [
        "<table>", "<thead><tr><th>a</th><th>b</th></tr></thead>", "<tbody>",
        "<tr><td>&lt;1&gt;</td><td></td></tr>",
        "</tbody>", "</table>",
      ])
    #expect(TextTable.html([]) == [])
  }
}
