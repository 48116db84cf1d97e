import Testing

@testable import PerdureModelFiles

@Suite("Parts of model files that are too long for the parser")
struct XMLLengthCheckTests {
  @Test(
    "A tag, text or comment that is too long gives an error with its name, its line and the limit",
    arguments: [
      ("<model>\n<entity name='", "'/></model>", "The tag <entity> with the text after it has "),
      ("<model>\n<a>", "</a></model>", "The tag <a> with the text after it has "),
      ("<model>\n<!--<<", "--></model>", "The comment has "),
      ("<model>\n<!--<<", "", "The comment has "),
      ("<model>\n<?a <<", "?></model>", "The processing instruction has "),
      ("<model>\n<![CDATA[<<", "]]></model>", "The CDATA section has "),
      ("<!--a-->\n", "", "The text has "),
    ])
  func tooLong(_ start: String, _ end: String, _ words: String) throws {
    let text = start + String(repeating: "a", count: 100) + end
    let error = #expect(throws: ModelFileError.self) {
      try XMLLengthCheck.check(Array(text.utf8), file: "contents", lengthMaxBytes: 99)
    }
    let problem = try #require(error?.problems.first)
    #expect(problem.kind == .syntax && problem.line == (start.hasSuffix("\n") ? 1 : 2))
    #expect(problem.message.hasPrefix(words) && problem.message.hasSuffix(" bytes."), "\(problem)")
    #expect(problem.remedy.contains("99 bytes"))
    #expect(throws: Never.self) {
      try XMLLengthCheck.check(Array(text.utf8), file: "contents", lengthMaxBytes: text.utf8.count)
    }
  }

  @Test("A document with a tag that is too long is refused by this check, before the parser reads it")
  func document() {
    let text =
      "<model>\n<entity name='\(String(repeating: "a", count: XMLLengthCheck.lengthMaxBytes))'/></model>"
    let error = #expect(throws: ModelFileError.self) { try ModelDocument(Array(text.utf8), file: "contents") }
    #expect(error?.problems.first?.message.hasPrefix("The tag <entity> ") == true)
  }
}
