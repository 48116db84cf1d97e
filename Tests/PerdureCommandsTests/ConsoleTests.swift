import PerdureText
import Testing

@testable import PerdureCommands

@Suite("Console output of commands")
struct ConsoleTests {
  @Test("Colours are printed only on a terminal that supports them")
  func styles() {
    for takesColours in [false, true] {
      var errors = ""
      let terminal = Console.Terminal(coloursOutput: takesColours, coloursErrors: takesColours)
      let console = Console(
        output: { _ in }, errors: { errors += $0 }, terminal: terminal, now: { .zero })
      #expect(console.styled("clean", .green) == (takesColours ? "\u{1B}[32mclean\u{1B}[0m" : "clean"))
      console.failure(NoGraph(path: "x"))
      #expect(errors.hasPrefix(takesColours ? "\u{1B}[31merror:\u{1B}[0m The store" : "error: The store"))
    }
  }

  @Test("Printed keys are parsed to the same bytes, and values are cut between characters")
  func keys() throws {
    for key in [
      [], [0], Array("plain/key".utf8), Array("0xnot".utf8), Array("with space".utf8), [0xFF, 0x61],
    ] {
      #expect(try KeyText.bytes(KeyText.key(key)) == key)
    }
    #expect(KeyText.key(Array("plain".utf8)) == "plain")
    for wrong in ["0x1", "0xzz", "0x+1"] {
      #expect(throws: KeyText.Illegible.self) { try KeyText.bytes(wrong) }
    }
    #expect(try KeyText.id("0xff") == 255)
    // A text that is cut within a character is still shown as text. Bytes that are not text are
    // shown in hexadecimal.
    let letters = Array("aä€😀".utf8)
    let shown = (1...10).map { KeyText.value(letters, limit: $0).prefix { $0 != "…" } }
    #expect(shown.prefix(3) == ["\"a\"", "\"a\"", "\"aä\""])
    #expect(
      shown.dropFirst(3) == ["\"aä\"", "\"aä\"", "\"aä€\"", "\"aä€\"", "\"aä€\"", "\"aä€\"", "\"aä€😀\""])
    #expect(KeyText.value([0xFF, 0xFE, 1], limit: 2).hasPrefix("0xfffe"))
    #expect(throws: KeyText.Illegible.self) { try KeyText.id("ten") }
  }

  @Test("Field names are printed as words, with the path of their part or list element")
  func fields() {
    struct Inner { var bytesWritten: UInt64 = 3 }
    struct Outer {
      var keysSeen = 2
      var inner = Inner()
      var ratio: Double? = 0.5
      var none: Int?
      var text = "x"
      var isShort = true
      var failure: String? = "no room"
      var parts = [Inner(), Inner(bytesWritten: 4)]
      var nothing: [Inner] = []
    }
    let fields = StatsCommand.fields(of: Outer())
    #expect(
      JSONText.object(fields).text
        == #"{"keysSeen":2,"inner":{"bytesWritten":3},"ratio":0.5,"none":null,"text":"x","isShort":true,"#
        + #""failure":"no room","parts":[{"bytesWritten":3},{"bytesWritten":4}],"nothing":[]}"#)
    #expect(
      StatsCommand.rows(fields).map { "\($0.0): \($0.1)" } == [
        "keys seen: 2", "inner bytes written: 3", "ratio: 0.5", "none: none", "text: x", "is short: yes",
        "failure: no room", "parts 1 bytes written: 3", "parts 2 bytes written: 4", "nothing: none",
      ])
  }
}
