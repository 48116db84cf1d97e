import Foundation
import PerdureModel
import PerdureModelFiles
import PerdureTestSupport
import Testing

@Suite("Hostile model files")
struct HostileFileTests {
  private static let texts: [(text: String, kind: ModelFileProblem.Kind, line: Int?)] = [
    ("", .syntax, 1),
    ("\n\n", .syntax, 3),
    ("model", .syntax, 1),
    ("\nx<model/>", .syntax, 2),
    ("<model/>\nx", .syntax, 2),
    ("<model/><model/>", .syntax, 1),
    ("<model", .syntax, 1),
    ("<model>\n", .syntax, 2),
    ("<model>\n<entity>\n</model>", .syntax, 3),
    ("<model a='1'b='2'/>", .syntax, 1),
    ("<model\na='1' a='2'/>", .syntax, 2),
    ("<model a/>", .syntax, 1),
    ("<model a=1/>", .syntax, 1),
    ("<model a='1/>", .syntax, 1),
    ("<model a='\n<'/>", .syntax, 2),
    ("<model a='&x;'/>", .syntax, 1),
    ("<model a='&#0;'/>", .syntax, 1),
    ("<model a='&#xD800;'/>", .syntax, 1),
    ("<model a='&#99999999999999999999;'/>", .syntax, 1),
    ("<model a='&#+65;'/>", .syntax, 1),
    ("<model a='&'/>", .syntax, 1),
    ("<model>\n<!-- </model>", .syntax, 2),
    ("<model><![CDATA[ </model>", .syntax, 1),
    ("<model><? </model>", .syntax, 1),
    ("<model><!ELEMENT a></model>", .syntax, 1),
    ("<model>\n<?a?></model>", .syntax, 2),
    ("<model xmlns:a='u'\n a:b='' b:c=''/>", .syntax, 2),
    ("< model/>", .syntax, 1),
    ("<1/>", .syntax, 1),
    ("<model / >", .syntax, 1),
    ("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><model/>", .syntax, 1),
    ("<model>\n\u{1}</model>", .syntax, 2),
    ("<!DOCTYPE m [<!ENTITY a \"aa\"><!ENTITY b \"&a;&a;\">]>\n<model a='&b;'/>", .syntax, 1),
    ("bplist00\u{1}\u{2}", .format, nil),
    (String(repeating: "<a>", count: 200_000), .syntax, 1),
    (String(repeating: "<a>\n", count: 65) + String(repeating: "</a>", count: 65), .syntax, 65),
  ]

  @Test("Text that is not XML gives an error with its line", arguments: texts.indices)
  func notXML(_ index: Int) {
    let row = Self.texts[index]
    let error = #expect(throws: ModelFileError.self) {
      try ModelDocument(Array(row.text.utf8), file: "contents")
    }
    #expect(error?.problems.map(\.kind) == [row.kind] && error?.problems.first?.line == row.line)
  }

  @Test(
    "Likely mistakes in XML have specific messages",
    arguments: [
      ("some text of another\nkind", "begins with text"), ("<model", "not closed"),
      ("<model></model", "not closed"),
      ("<model a='&#q;'/>", "number"), ("<model a='&amp x'/>", "semicolon"),
      (" <?xml version='1.0'?><model/>", "declaration"), ("<?xml version='1.0 ?><model/>", "declaration"),
      ("<?xml version='1.0' standalone='x'?><model/>", "declaration"),
      ("<?xml encoding='UTF-8'?><model/>", "version"), ("<model a:b='c'/>", "prefix"),
      ("<?xml version='2.0'?><model/>", "version"), ("<?xml version='1.9'?><model/>", "version"),
      ("<?xml version?><model/>", "\"=\""),
      ("<?xml version='1.0' encoding='UTF-8'? ><model/>", "declaration"),
      ("<model/><!-- a", "comment"), ("<model/><?a b", "instruction"),
      ("<model><?&a b?></model>", "instruction"),
      ("<model>a]]>b</model>", "]]>"), ("<model><!></model>", "line"),
      ("<model a='&#xg;'/>", "number"), ("<model a='&;'/>", "name"), ("<model a:b:c='1'/>", "colon"),
      ("<model><?:a b?></model>", "colon"), ("<model xmlns:a=''/>", "xmlns"), ("<model xmlns=':'/>", "xmlns"),
      ("<model xmlns:xml='u'/>", "xmlns"), ("<model xml:space='a'/>", "xml:space"),
      ("<model xmlns:a='u:u' xmlns:b='u:u' a:c='' b:c=''/>", "twice"),
      ("<" + String(repeating: "a", count: 60_000) + "/>", "too long"),
    ])
  func likelyMistakes(_ text: String, _ word: String) throws {
    let error = #expect(throws: ModelFileError.self) {
      try ModelDocument(Array(text.utf8), file: "contents")
    }
    let message = try #require(error?.problems.first?.message)
    #expect(message.contains(word) && !message.contains("libxml2"), "\(message)")
  }

  @Test("A long value is read, and written as it was")
  func long() throws {
    let count = LongRun.count(300_000, long: 8_388_000)
    let text =
      "<model>\n<entity name='A' versionHashModifier='\(String(repeating: "a", count: count))'/></model>"
    let document = try ModelDocument(Array(text.utf8), file: "contents")
    #expect(document.root.children.first?["versionHashModifier"]?.utf8.count == count)
    #expect(try document.bytes() == Array(text.utf8))
  }

  @Test("Encodings other than UTF-8 give an error with the line")
  func encodings() {
    let text = "<model/>"
    let latin: [UInt8] = Array("<model>\n<a b='".utf8) + [0xE9] + Array("'/></model>".utf8)
    let wide = text.utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }
    let rows: [([UInt8], Int)] = [
      (latin, 2), (wide, 1), ([0xFF, 0xFE] + wide, 1), ([0xFE, 0xFF, 0, 0x3C], 1), ([0xC0, 0x80], 1),
    ]
    for (bytes, line) in rows {
      let error = #expect(throws: ModelFileError.self) { try ModelDocument(bytes, file: "contents") }
      #expect(error?.problems.first?.line == line)
    }
  }

  @Test("The error's text, debug text and localized description are the same")
  func oneForm() throws {
    let thrown = #expect(throws: ModelFileError.self) {
      try ModelDocument(Array("<model".utf8), file: "contents")
    }
    let error = try #require(thrown)
    #expect(error.localizedDescription == "\(error)" && String(reflecting: error) == "\(error)")
    #expect("\(error)".contains("contents"))
  }

  @Test("A document of another program is refused")
  func otherRoot() throws {
    let document = try ModelDocument(Array("<plist version='1.0'/>".utf8), file: "contents")
    let error = #expect(throws: ModelFileError.self) { try document.managedObjectModel() }
    #expect(error?.problems.first?.kind == .format)
  }

  private static let sample = """
    <?xml version="1.0" encoding="UTF-8"?>
    <model type='x'>
        <entity name="A" representedClassName="A"><!-- é -->
            <attribute name="a" optional="YES" attributeType="Decimal" minValueString="-1e5" defaultValueString="1.5"/>
            <attribute name="b" attributeType="Composite" composite="C"/>
            <relationship name="r" optional="YES" maxCount="1" destinationEntity="A" inverseName="r" inverseEntity="A"/>
            <fetchIndex name="i" partialIndexPredicate="a &gt; 0"><fetchIndexElement property="a"/></fetchIndex>
            <uniquenessConstraints><uniquenessConstraint><constraint value="a"/></uniquenessConstraint></uniquenessConstraints>
            <userInfo><entry key="perdure.predicate.1" value="1"/></userInfo>
        </entity>
        <composite name="C"><attribute name="c" attributeType="Date" defaultDateTimeInterval="5"/></composite>
        <fetchRequest name="f" entity="A" predicateString="a == $b"/>
        <configuration name="D"><memberEntity name="A"/></configuration>
    </model>
    """

  @Test("Every truncated file gives an error")
  func truncations() {
    let bytes = Array(Self.sample.utf8)
    for length in bytes.indices {
      #expect(throws: ModelFileError.self) { try ModelDocument(Array(bytes[..<length]), file: "contents") }
    }
  }

  @Test("Damaged files give an error, or a document with the same bytes that can be checked")
  func damage() throws {
    var random = SeededGenerator.forTest("damaged model files")
    let bytes = Array(Self.sample.utf8)
    let pieces = [
      "<", ">", "\"", "'", "&", "/>", "</", "=", " ", "é", "\u{0}", "999999999999", "name", "A", "YES",
    ]
    var readable = 0
    // Continues until enough of the damaged files were readable.
    for round in 0..<20_000 where round < LongRun.count(500, long: 1_500) || readable <= 20 {
      var changed = bytes
      for _ in 0...random.next() % 4 {
        let place = Int.random(in: 0..<changed.count, using: &random)
        let length =
          random.chance(50) ? 0 : min(Int.random(in: 1...30, using: &random), changed.count - place)
        let piece = random.chance(50) ? Array(random.pick(pieces).utf8) : [UInt8(random.next() & 255)]
        changed.replaceSubrange(place..<place + length, with: piece)
      }
      do throws(ModelFileError) {
        let document = try ModelDocument(changed, file: "contents")
        readable += 1
        #expect(try document.bytes() == changed, "PERDURE_SEED=\(random.seed)")
        _ = document.problems()
      } catch {
        #expect(!error.problems.isEmpty)
      }
    }
    #expect(readable > 20)
  }

  @Test("Every mistake in the markup is described in words on one line")
  func damagedMarkup() {
    var random = SeededGenerator.forTest("damaged markup")
    let text = """
      <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
      <!-- a --><?b c?>
      <model type='x' xmlns:q="http://a/b" xml:space="preserve"><![CDATA[d]]>
        <entity name="A" q:e="&amp;&#10;&#x20;">f &lt;</entity></model>
      """
    let pieces = [
      "<", ">", "\"", "'", "&", "/>", "</", "=", " ", "é", "9", "xml", ":", "xmlns=''", "xmlns:a='b c'", "<?",
      "?>",
      "<?xml", "<!--", "-->", "--", "]]>", "<![CDATA[", "<!DOCTYPE", "[", "&#", "&#x", ";", "%", "<!",
      "version='2.0'",
      "encoding='g h'", "xml:space='i'", "xml:id='1'", "a:b:c", "\u{FFFE}", "\u{202E}", "\u{1}", "&#xFFFF;",
    ]
    for _ in 0..<LongRun.count(500, long: 20_000) {
      var bytes = Array(text.utf8)
      for _ in 0...random.next() % 3 {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        let length = random.chance(50) ? 0 : min(Int.random(in: 1...12, using: &random), bytes.count - place)
        bytes.replaceSubrange(place..<place + length, with: random.pick(pieces).utf8)
      }
      do throws(ModelFileError) {
        _ = try ModelDocument(bytes, file: "contents")
      } catch {
        let words = "\(error)"
        let isOneLine = !words.contains(where: \.isNewline) && !words.unicodeScalars.contains("\u{202E}")
        #expect(isOneLine && !words.contains("libxml2"), "\(words), PERDURE_SEED=\(random.seed)")
      }
    }
  }

  @Test("Composites whose elements multiply with each level are refused without being expanded")
  func compositeBomb() throws {
    let levels = 0..<20
    let composites = levels.map { level in
      let uses = (0..<50).map {
        "<attribute name='a\($0)' attributeType='Composite' composite='C\(level + 1)'/>"
      }
      return "<composite name='C\(level)'>\(uses.joined())</composite>"
    }
    let last = "<composite name='C20'><attribute name='a' attributeType='String'/></composite>"
    let entity = "<entity name='A'><attribute name='a' attributeType='Composite' composite='C0'/></entity>"
    let text = "<model>\n\(entity)\n\(composites.joined(separator: "\n"))\n\(last)\n</model>"
    let document = try ModelDocument(Array(text.utf8), file: "contents")
    let error = #expect(throws: ModelFileError.self) { try document.managedObjectModel() }
    #expect(error?.errors.contains { $0.kind == .composite && $0.line != nil } == true)
  }

  @Test("Deeply nested composites are refused, in either order", arguments: [false, true])
  func deepComposites(_ isReversed: Bool) throws {
    let composites = (0..<3_000).map {
      "<composite name='C\($0)'><attribute name='a' attributeType='Composite' composite='C\($0 + 1)'/></composite>"
    }
    let text =
      "<model>\n\((isReversed ? composites.reversed() : composites).joined(separator: "\n"))\n</model>"
    let document = try ModelDocument(Array(text.utf8), file: "contents")
    let error = #expect(throws: ModelFileError.self) { try document.managedObjectModel() }
    #expect(error?.errors.contains { $0.kind == .composite && $0.line != nil } == true)
  }

  @Test("A file with many uses of a large composite is refused")
  func manyUses() throws {
    let attributes = (0..<4_000).map { "<attribute name='a\($0)' optional='YES' attributeType='String'/>" }
    let entities = (0..<40).map {
      "<entity name='A\($0)'><attribute name='a' attributeType='Composite' composite='C'/></entity>"
    }
    let text = "<model><composite name='C'>\(attributes.joined())</composite>\(entities.joined())</model>"
    let document = try ModelDocument(Array(text.utf8), file: "contents")
    let error = #expect(throws: ModelFileError.self) { try document.managedObjectModel() }
    #expect(error?.errors.contains { $0.kind == .composite } == true)
  }
}
