/// Reads the packages of one index one by one.
public struct PackageReader: ~Copyable {
  private var stanzas: StanzaReader
  private let report: (ArchiveProblem) -> Void
  /// How many stanzas have been read, with and without a name.
  public private(set) var stanzaCount = 0

  /// A reader of `file`.
  ///
  /// - Parameter report: Called for each problem that does not end the reading.
  /// - Throws: `.unreadable`, `.unsupported`.
  public init(
    file: IndexFile, report: @escaping (ArchiveProblem) -> Void = { _ in }
  ) throws(ArchiveReadError) {
    stanzas = try StanzaReader(file: file, report: report)
    self.report = report
  }

  init(_ stanzas: consuming StanzaReader, report: @escaping (ArchiveProblem) -> Void) {
    self.stanzas = stanzas
    self.report = report
  }

  /// How many bytes of the file, compressed as it is, have been used. For showing progress.
  public var storedBytesRead: Int { stanzas.storedBytesRead }

  /// The next package; nil at the end of the index.
  ///
  /// - Throws: `ArchiveReadError` at damage that ends the index; records returned before are valid.
  public mutating func next() throws(ArchiveReadError) -> PackageRecord? {
    while let stanza = try stanzas.next() {
      stanzaCount += 1
      if let record = PackageRecord(stanza, report: report) { return record }
    }
    return nil
  }
}
