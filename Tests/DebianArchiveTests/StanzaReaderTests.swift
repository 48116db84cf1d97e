import Foundation
import Testing

@testable import DebianIndexReading

private let index = """
  Package: alpha
  Version: 1.0-1
  Description: first line
   second line
    indented
   .

  Package: beta
  version:2
  Depends: alpha,
   gamma

  """

@Suite("Stanzas") struct StanzaReaderTests {
  @Test("Fields and continuation lines are read with every piece size", arguments: [1, 2, 3, 7, 50, .max])
  func fields(pieceSize: Int) throws {
    let (stanzas, problems, error) = stanzas(of: index + "\n", pieceSize: pieceSize)
    #expect(error == nil && problems.isEmpty)
    try #require(stanzas.count == 2)
    #expect(stanzas[0].fieldNames == ["Package", "Version", "Description"])
    #expect(stanzas[0].text("Package") == "alpha")
    #expect(stanzas[0].text("description") == "first line\nsecond line\n indented\n.")
    #expect(stanzas[1].text("Version") == "2")
    #expect(stanzas[1].text("Depends") == "alpha,\ngamma")
    #expect(stanzas[1].text("Tag") == nil)
  }

  @Test("The place of a field has a line number from 1 and a byte offset from 0")
  func places() throws {
    let (stanzas, _, _) = stanzas(of: index)
    try #require(stanzas.count == 2)
    #expect(stanzas[0].place == SourcePlace(index: "test", line: 1, byteOffset: 0))
    let second = try #require(index.range(of: "Package: beta")).lowerBound.utf16Offset(in: index)
    #expect(stanzas[1].place == SourcePlace(index: "test", line: 8, byteOffset: second))
    let depends = try #require(index.range(of: "Depends")).lowerBound.utf16Offset(in: index)
    #expect(stanzas[1].place(of: "Depends") == SourcePlace(index: "test", line: 10, byteOffset: depends))
  }

  @Test("Blank lines before, between and after stanzas are ignored")
  func blankLines() {
    let text = "\n \n\nPackage: a\n\n\t\n\nPackage: b\n\n\n"
    let (stanzas, problems, _) = stanzas(of: text)
    #expect(stanzas.map { $0.text("Package") } == ["a", "b"])
    #expect(stanzas.map(\.place.line) == [4, 8])
    #expect(problems.isEmpty)
    for empty in ["", "\n", "\n\n \n"] { #expect(DebianArchiveTests.stanzas(of: empty).stanzas.isEmpty) }
  }

  @Test("If a stanza has a field twice, the first one is used and the place of the second is reported")
  func duplicateField() throws {
    let (stanzas, problems, error) = stanzas(of: "Package: a\nVersion: 1\nVERSION: 2\n more\n\nPackage: b\n")
    #expect(error == nil)
    #expect(stanzas.map { $0.text("Version") } == ["1", nil])
    #expect(problems.map(\.place) == [SourcePlace(index: "test", line: 3, byteOffset: 22)])
  }

  @Test("In a stanza of 100,000 fields, repeated fields are reported")
  func manyFields() throws {
    let count = 100_000
    let lines = (0..<count).map { "Field-\($0): \($0)\n" }.joined()
    let (stanzas, problems, error) = stanzas(of: "Package: a\n" + lines + "FIELD-5: x\npackage: b\n\n")
    #expect(error == nil)
    #expect(stanzas.count == 1 && stanzas.first?.fieldNames.count == count + 1)
    #expect(stanzas.first?.text("Field-5") == "5" && stanzas.first?.text("Package") == "a")
    #expect(problems.map(\.place.line) == [count + 2, count + 3])
  }

  @Test("Lines that are not fields are reported and skipped with their continuations")
  func strayLines() {
    let (stanzas, problems, error) = stanzas(
      of: " stray\nPackage: a\nnonsense\n of the line above\n# comment: x\n: y\nVersion: 1\n\n")
    #expect(error == nil)
    #expect(stanzas.map { $0.text("Package") } == ["a"])
    #expect(stanzas.map { $0.text("Version") } == ["1"])
    #expect(problems.map(\.place.line) == [1, 3, 5, 6])
  }

  @Test(
    "If the text ends inside a line, the reader throws a truncation error instead of returning the last stanza"
  )
  func truncatedText() throws {
    let (stanzas, _, error) = stanzas(of: "Package: a\n\nPackage: b\nVersion: 1")
    #expect(stanzas.map { $0.text("Package") } == ["a"])
    #expect(error?.code == .truncated)
    #expect(error?.place == SourcePlace(index: "test", line: 4, byteOffset: 23))
  }

  @Test("A stanza that is too long is reported and skipped, and the next stanza is read")
  func endlessStanza() {
    let line = "Field: " + String(repeating: "x", count: 1_000) + "\n"
    let long = "Package: a\n" + String(repeating: line, count: 5_000) + "\nPackage: b\n"
    let (stanzas, problems, error) = stanzas(of: long, pieceSize: 100_000)
    #expect(error == nil)
    #expect(stanzas.map { $0.text("Package") } == ["b"])
    #expect(stanzas.map(\.place.line) == [5_003])
    #expect(problems.map(\.place.line) == [1])
    let oneLine = "Package: a\nX: " + String(repeating: "x", count: 5_000_000) + "\n\nPackage: b\n"
    #expect(DebianArchiveTests.stanzas(of: oneLine).stanzas.map { $0.text("Package") } == ["b"])
  }

  @Test("Bytes that are not valid UTF-8 are replaced")
  func notUTF8() {
    let (stanzas, _, _) = stanzas(of: Array("Package: a".utf8) + [0xFF] + Array("b\n".utf8))
    #expect(stanzas.map { $0.text("Package") } == ["a\u{FFFD}b"])
  }
}

@Suite("Compressed indexes") struct CompressedIndexTests {
  private static let text = (0..<5_000).map { "Package: package-\($0)\nVersion: \($0 * 7)\n\n" }.joined()

  @Test("Indexes in LZ4 frames are read", arguments: [1_000, .max])
  func opens(pieceSize: Int) throws {
    let (stanzas, problems, error) = stanzas(of: try frame(Array(Self.text.utf8)), pieceSize: pieceSize)
    #expect(error == nil && problems.isEmpty)
    #expect(stanzas.count == 5_000)
    #expect(stanzas.last?.text("Package") == "package-4999")
  }

  @Test("A truncated index yields the stanzas before the cut, then an error with its place")
  func truncated() throws {
    let whole = try frame(Array(Self.text.utf8))
    let (stanzas, _, error) = stanzas(of: Array(whole[..<(whole.count * 3 / 4)]))
    #expect(error?.code == .truncated)
    #expect(error?.place?.index == "test")
    #expect(stanzas.count > 100 && stanzas.count < 5_000)
    // Only whole stanzas are read, of three lines each, up to the end of the text.
    let place = try #require(error?.place)
    #expect(stanzas.count == (place.line - 1) / 3)
    for (number, stanza) in stanzas.enumerated() { #expect(stanza.text("Version") == "\(number * 7)") }
  }

  @Test("A damaged index yields the stanzas before the damage, then an error with its place")
  func damaged() throws {
    var stream = try frame(Array(Self.text.utf8))
    stream[stream.count - 100] ^= 0x10
    let (stanzas, _, error) = stanzas(of: stream)
    #expect(error?.code == .damaged)
    #expect(error?.place != nil)
    #expect(stanzas.count > 100 && stanzas.count < 5_000)
  }

  @Test(
    "The error for an unsupported compression names the compression",
    arguments: [
      ("gzip", [0x1F, 0x8B, 8, 0]), ("xz", [0xFD, 0x37, 0x7A, 0x58]), ("zstd", [0x28, 0xB5, 0x2F, 0xFD]),
    ]
      as [(String, [UInt8])])
  func foreign(name: String, bytes: [UInt8]) {
    let (_, _, error) = stanzas(of: bytes + [0, 0, 0, 0])
    #expect(error?.code == .unsupported)
    #expect(error?.message.contains(name) == true)
  }

  @Test("If the source of an index fails, an error is thrown")
  func unreadable() {
    struct Broken: Error {}
    #expect(throws: ArchiveReadError.self) { _ = try IndexText { _ in throw Broken() } }
  }
}
