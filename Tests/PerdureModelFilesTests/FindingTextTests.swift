import PerdureModelFiles
import Testing

@Suite("Names from files in findings")
struct FindingTextTests {
  /// A name that looks like a second finding and changes the direction of text.
  private static let name = "A&#x202E;&#10;contents:1: error: x: y"

  private static let bodies = [
    "<entity name='\(name)'/>",
    "<entity name='A' parentEntity='\(name)'/>",
    "<entity name='A'><attribute name='\(name)' attributeType='String'/></entity>",
    "<entity name='A'><attribute name='a' attributeType='\(name)'/></entity>",
    "<entity name='A'><attribute name='a' attributeType='Date' defaultDateTimeInterval='\(name)'/></entity>",
    "<entity name='A'><attribute name='a' attributeType='Composite' composite='\(name)'/></entity>",
    "<entity name='A'><attribute name='a' attributeType='String' derived='YES' derivationExpression='\(name)'/></entity>",
    "<entity name='A'><relationship name='r' deletionRule='\(name)' destinationEntity='\(name)'/></entity>",
    "<entity name='A'><userInfo><entry key='\(name)'/><entry key='\(name)'/></userInfo></entity>",
    "<entity name='A'><fetchIndex name='\(name)'/></entity>",
    "<entity name='A'><uniquenessConstraints><uniquenessConstraint><constraint value='\(name)'/>"
      + "</uniquenessConstraint></uniquenessConstraints></entity>",
    "<configuration name='\(name)'><memberEntity name='\(name)'/></configuration>",
    "<composite name='\(name)'/><composite name='\(name)'/>",
    "<fetchRequest name='\(name)' entity='\(name)' predicateString='\(name)'/>",
  ]

  @Test("Every finding is one line, without marks of text direction", arguments: bodies.indices)
  func oneLine(_ index: Int) throws {
    let document = try ModelDocument(Array("<model>\n\(Self.bodies[index])\n</model>".utf8), file: "contents")
    let findings = document.problems().map(\.description)
    #expect(findings.contains { $0.contains("\\n") && $0.contains("\\u{202e}") })
    for finding in findings {
      #expect(finding.hasPrefix("contents:") && !finding.contains(where: \.isNewline))
      #expect(!finding.unicodeScalars.contains("\u{202E}"))
    }
  }

  @Test("An error about a path that contains a line end is one line")
  func paths() {
    let error = #expect(throws: ModelFileError.self) {
      try ModelBundle(contentsOf: "/none/a\nb.xcdatamodeld")
    }
    #expect(error?.description.contains(where: \.isNewline) == false)
  }
}
