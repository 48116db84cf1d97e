import Testing

@testable import PerdureCommands

@Suite("What commands write")
struct ConsoleTests {
  @Test("In a pipe, progress is a line now and then, and none for short work")
  func lines() {
    var display = ProgressDisplay("reading", isTerminal: false, start: .zero)
    #expect(display.show(0, of: 100, at: .zero) == nil)
    #expect(display.show(10, of: 100, at: .seconds(1)) == nil)
    #expect(display.show(20, of: 100, at: .seconds(2)) == "reading: 20 %\n")
    #expect(display.show(30, of: 100, at: .seconds(3)) == nil)
    #expect(display.show(20, of: 100, at: .seconds(9)) == nil)
    #expect(display.show(31, of: 100, at: .seconds(9)) == "reading: 31 %\n")
    #expect(display.end() == "")
  }

  @Test("On a terminal, a bar is drawn when it changes, and is never longer than what wipes it away")
  func bar() {
    var display = ProgressDisplay("reading", isTerminal: true, start: .zero)
    #expect(display.end() == "")
    #expect(display.show(1, of: 3, at: .zero) == "\rreading [#########.....................] 33 %")
    #expect(display.show(33, of: 99, at: .zero) == nil)
    let full = display.show(9, of: 0, at: .zero) ?? ""
    #expect(full == "\rreading [##############################] 100 %")
    #expect(display.end().count - 2 >= full.count - 1)
  }

  @Test("JSON strings escape what they must")
  func json() {
    let text = JSONText.object([
      ("a\"\\", .string("\u{1}\n\t\r\u{7F}é")), ("b", .array([.null, .bool(true), .integer(-5 as Int)])),
      ("c", .double(0.5)), ("d", .double(.infinity)), ("e", .bytes([0xC3])),
    ]).text
    #expect(
      text == #"{"a\"\\":"\u0001\n\t\r\u007fé","b":[null,true,-5],"c":0.5,"d":"inf","e":{"hex":"c3"}}"#)
  }

  @Test("Keys are read as they are written")
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
    // Cut within a letter, a text is still one; cut bytes are shown as they are.
    let letters = Array("aä€😀".utf8)
    let shown = (1...10).map { KeyText.value(letters, limit: $0).prefix { $0 != "…" } }
    #expect(shown.prefix(3) == ["\"a\"", "\"a\"", "\"aä\""])
    #expect(
      shown.dropFirst(3) == ["\"aä\"", "\"aä\"", "\"aä€\"", "\"aä€\"", "\"aä€\"", "\"aä€\"", "\"aä€😀\""])
    #expect(KeyText.value([0xFF, 0xFE, 1], limit: 2).hasPrefix("0xfffe"))
    #expect(throws: KeyText.Illegible.self) { try KeyText.id("ten") }
  }

  @Test("Names of fields become words; parts and elements of lists keep their path, and nothing is left out")
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
