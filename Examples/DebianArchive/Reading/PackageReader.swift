/// Reads the packages of one index one by one.
public struct PackageReader: ~Copyable {
  private var stanzas: StanzaReader
  private let report: (ArchiveProblem) -> Void
  /// The number of stanzas that were read, with or without a name.
  public private(set) var stanzaCount = 0

  /// Makes a reader of `file`.
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

  /// The number of bytes of the file, possibly compressed, that were read. Use it to show progress.
  public var storedBytesRead: Int { stanzas.storedBytesRead }

  /// The next package; nil at the end of the index.
  ///
  /// - Throws: `ArchiveReadError` for damage that ends the index. The records before it are valid.
  public mutating func next() throws(ArchiveReadError) -> PackageRecord? {
    while let stanza = try stanzas.next() {
      stanzaCount += 1
      if let record = PackageRecord(stanza, report: report) { return record }
    }
    return nil
  }
}
