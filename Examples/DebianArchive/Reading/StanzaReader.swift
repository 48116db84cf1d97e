// Reads stanzas from an index in the format of deb822(5).
//
//   index := (stanza blank-line+)*      field := name ":" value line-end (space text line-end)*
//
// Damage is handled in two ways:
// - Smaller errors are reported and skipped. A line that is neither a field nor a continuation is
//   ignored. If a field is repeated, the first one is used. A stanza that is longer than the limit
//   is skipped.
// - Some errors make the rest of the index doubtful: damaged compression, an unreadable file, and
//   text that ends within a line. They end the reading with an error. The damaged stanza is not
//   returned.
//
// Memory use is at most one stanza (at most `stanzaSizeLimit`), one piece of text (at most 64 KiB)
// and the memory of the decompressor (see FrameStream).

/// Reads the stanzas of one index one by one.
public struct StanzaReader: ~Copyable {
  /// The maximum length of a stanza in bytes. A longer one is reported and skipped.
  public static let stanzaSizeLimit = 4 << 20

  private let label: String
  private let report: (ArchiveProblem) -> Void
  private var text: IndexText
  private var piece: [UInt8] = []
  private var position = 0
  private var draft: StanzaDraft
  /// The current line: its number and its offset in the text.
  private var line = 1
  private var lineOffset = 0
  private var textSize = 0
  private var hasEnded = false

  /// Makes a reader of `file`.
  ///
  /// - Parameter report: Called for each problem that does not end the reading, before the next
  ///   stanza is returned.
  /// - Throws: `.unreadable`, `.unsupported`.
  public init(
    file: IndexFile, report: @escaping (ArchiveProblem) -> Void = { _ in }
  ) throws(ArchiveReadError) {
    self.init(label: file.label, text: try IndexText(file: file), report: report)
  }

  init(label: String, text: consuming IndexText, report: @escaping (ArchiveProblem) -> Void) {
    self.label = label
    self.text = text
    self.report = report
    draft = StanzaDraft(place: SourcePlace(index: label, line: 1, byteOffset: 0))
  }

  /// The number of bytes of the file, possibly compressed, that were read. Use it to show progress.
  public var storedBytesRead: Int { text.storedBytesRead }

  /// The next stanza; nil at the end of the index.
  ///
  /// - Throws: `ArchiveReadError` for damage that ends the index. No more stanzas follow.
  public mutating func next() throws(ArchiveReadError) -> Stanza? {
    while !hasEnded {
      if position == piece.count, try !readPiece() { return try finish() }
      if let stanza = takeLine() { return stanza }
    }
    return nil
  }

  private var place: SourcePlace { SourcePlace(index: label, line: line, byteOffset: lineOffset) }

  private mutating func readPiece() throws(ArchiveReadError) -> Bool {
    position = 0
    do throws(ArchiveReadError) {
      return try text.nextPiece(&piece)
    } catch {
      hasEnded = true
      throw ArchiveReadError(error.code, error.message, at: place)
    }
  }

  private mutating func finish() throws(ArchiveReadError) -> Stanza? {
    hasEnded = true
    guard textSize == lineOffset else {
      throw ArchiveReadError(.truncated, "The index ends in the middle of a line; fetch it again.", at: place)
    }
    return draft.finish(nextPlace: place, report)
  }

  /// Collects bytes up to the next line end. Returns a stanza if the line was the end of one.
  private mutating func takeLine() -> Stanza? {
    let end = piece[position...].endOfLine
    draft.append(piece[position..<end])
    textSize += end - position
    position = end
    guard piece[end - 1] == UInt8(ascii: "\n") else { return nil }
    let isBlank = draft.endLine(at: place, report)
    line += 1
    lineOffset = textSize
    return isBlank ? draft.finish(nextPlace: place, report) : nil
  }
}

extension ArraySlice<UInt8> {
  /// The position after the first line feed, or the end.
  fileprivate var endOfLine: Int {
    withUnsafeBytes { bytes in
      bytes.firstIndex(of: UInt8(ascii: "\n")).map { startIndex + $0 + 1 } ?? endIndex
    }
  }
}
