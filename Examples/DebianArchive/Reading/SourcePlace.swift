/// A position in the archive.
public struct SourcePlace: Hashable, Sendable, CustomStringConvertible {
  /// The label of the index: suite, component and architecture, never a host or a path.
  public var index: String
  /// The line of the index's text, from 1.
  public var line: Int
  /// The offset in bytes from the start of the index's decompressed text.
  public var byteOffset: Int

  /// Makes a place in the index with the label `index`.
  public init(index: String, line: Int, byteOffset: Int) {
    self.index = index
    self.line = line
    self.byteOffset = byteOffset
  }

  /// The position in words, for messages.
  public var description: String { "\(index), line \(line) (byte \(byteOffset))" }
}

/// A problem in the archive that does not end the reading.
public struct ArchiveProblem: Hashable, Sendable, CustomStringConvertible {
  /// The position of the problem.
  public var place: SourcePlace
  /// The problem, and how the reader handled it.
  public var message: String

  /// Makes a problem at `place`.
  public init(place: SourcePlace, message: String) {
    self.place = place
    self.message = message
  }

  /// The place and the problem in words.
  public var description: String { "\(place): \(message)" }
}

/// An error in the archive that ends the reading of an index.
///
/// All stanzas that were returned before the error are valid. The damaged stanza is not returned.
public struct ArchiveReadError: Error, Sendable, CustomStringConvertible {
  /// The kind of a failure.
  public enum Code: Sendable {
    /// The path has no index, or no path was given and neither apt nor dpkg has an index.
    case notFound
    /// The file could not be read.
    case unreadable
    /// The index ends before its format allows it to end: fetch it again.
    case truncated
    /// The compressed data is damaged: fetch it again.
    case damaged
    /// The index has a compression that this build cannot read.
    case unsupported
  }

  /// The kind of the failure.
  public var code: Code
  /// The error and the remedy.
  public var message: String
  /// The position that was reached in the text; nil if reading has not begun.
  public var place: SourcePlace?

  /// Makes a failure at `place`.
  public init(_ code: Code, _ message: String, at place: SourcePlace? = nil) {
    self.code = code
    self.message = message
    self.place = place
  }

  /// The place and the failure in words.
  public var description: String { place.map { "\($0): \(message)" } ?? message }
}
