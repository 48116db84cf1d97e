import Testing

@testable import PerdureModelFiles

@Suite("Documents of model files")
struct ModelDocumentTests {
  @Test("An unchanged document is written byte for byte", arguments: Corpus.files)
  func corpus(_ path: String) throws {
    let bytes = try Corpus.bytes(of: path)
    #expect(try ModelDocument(bytes, file: path).bytes() == bytes)
  }

  /// Spellings and layouts that Xcode does not write.
  private static let unusual = [
    "\u{FEFF}<?xml version='1.0'?>\n<!-- a --><model>\r\n</model>\n<!-- b -->\n",
    "<model  name = 'a \"b\"'\n\tx=\"&#65;&#x42;&amp;c\" ></model >",
    "<model><entity name=\"A\"/>text<![CDATA[<x>]]> <?p i?>\n  <entity name=\"B\"  />\n\n</model>",
    "<model a=\"1\t2\n3\r\n4\"><a></a><b> </b>\n</model>",
  ]

  @Test("Unusual spellings, comments and layouts are kept", arguments: unusual.indices)
  func unusualSpellings(_ index: Int) throws {
    let text = Self.unusual[index]
    let document = try ModelDocument(Array(text.utf8), file: "contents")
    #expect(try String(decoding: document.bytes(), as: UTF8.self) == text)
  }

  @Test("Escapes in values are decoded, and line ends in values are read as spaces")
  func escapes() throws {
    let text = "<model\n a=\"&quot;&lt;&#10;&apos;\"\n  b='1\r\n2'><x/>\n<y c='é'/></model>"
    let root = try ModelDocument(Array(text.utf8), file: "contents").root
    #expect(root["a"] == "\"<\n'" && root["b"] == "1 2")
    #expect(root.attributes.map(\.line) == [2, 3])
    #expect(root.children.map(\.line) == [4, 5] && root.children[1]["c"] == "é")
  }

  @Test("A new document is written as Xcode writes it")
  func xcode() throws {
    let element = ModelElement(
      "model", [("type", "x"), ("name", nil)],
      [ModelElement("entity", [("name", "a < \"b\"")], [ModelElement("attribute", [("name", "\t'é")])])])
    let text = try String(decoding: ModelDocument(root: element, file: "").bytes(), as: UTF8.self)
    #expect(
      text == """
        <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
        <model type="x">
            <entity name="a &lt; &quot;b&quot;">
                <attribute name="&#9;&apos;é"/>
            </entity>
        </model>
        """)
  }

  @Test("A change of an attribute or an element changes only its lines")
  func changes() throws {
    let text = """
      <model  type='x'>
        <entity name='B' syncable='YES'></entity>
      <!-- c -->
      </model>
      """
    var document = try ModelDocument(Array(text.utf8), file: "contents")
    document.root.insert(ModelElement("entity", [("name", "a")]))
    document.root.insert(ModelElement("composite", [("name", "C")]))
    document.root.updateChildren(where: { $0["name"] == "B" }) { entity in
      entity["isAbstract"] = "YES"
      entity["syncable"] = "NO"
      entity.insert(ModelElement("attribute", [("name", "x")]))
    }
    let changed = """
      <model  type='x'>
          <entity name="a"/>
        <entity name='B' isAbstract="YES" syncable="NO">
              <attribute name="x"/>
          </entity>
          <composite name="C"/>
      <!-- c -->
      </model>
      """
    #expect(try String(decoding: document.bytes(), as: UTF8.self) == changed)
    document.root.removeChildren { $0.name == "composite" || $0["name"] == "a" }
    document.root.updateChildren(where: { $0["name"] == "B" }) { entity in
      entity["isAbstract"] = nil
      entity.removeChildren { _ in true }
    }
    let back = text.replacing("syncable='YES'></entity>", with: "syncable=\"NO\"/>")
    #expect(try String(decoding: document.bytes(), as: UTF8.self) == back)
  }

  @Test("A value that XML cannot contain is refused")
  func controlCharacters() {
    let document = ModelDocument(root: ModelElement("model", [("name", "a\u{1}")]), file: "contents")
    let error = #expect(throws: ModelFileError.self) { try document.bytes() }
    #expect(error?.problems.first?.kind == .inexpressible)
  }

  @Test("Names are sorted regardless of case, and digits are sorted as numbers")
  func naturalOrder() {
    let names = ["isERC20", "isERC721", "isERC1155", "Note", "Settings", "SPManagedObject", "Tag"]
    #expect(names.shuffled().sorted(by: NaturalOrder.precedes) == names)
    #expect(NaturalOrder.precedes("a1", "a1b") && NaturalOrder.precedes("a9", "a10b"))
    #expect(!NaturalOrder.precedes("a", "a"))
    #expect(NaturalOrder.precedes("A", "a") && !NaturalOrder.precedes("a", "A"))
  }
}
