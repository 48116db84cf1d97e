public import PerdureFileIO
import PerdureFormat

/// How a store is opened. The defaults are meant to be right.
public struct StoreOptions: Sendable {
  /// Where the files are. Default: the operating system's files.
  public var fileSystem: any FileSystem = POSIXFileSystem()

  /// Whether a store is made when there is none. Default: true.
  public var createsIfMissing = true

  /// Opens without taking the writer's place: nothing is written, not even a repair. Default: false.
  public var isReadOnly = false

  /// The size at which a segment is full and the next one begins, in bytes: 4 KiB to 256 MiB,
  /// a multiple of 8. Default: 64 MiB: large enough that births of segments (two syncs) do not
  /// show, small enough that compaction has something to choose from. Taken at creation.
  public var segmentCapacityBytes = 64 << 20

  /// The durability of commits that do not say. Default: `powerLoss`.
  public var durability = Durability.powerLoss

  /// Values longer than this, in bytes, get a file of their own: 1 KiB to 1 MiB. Default: 1 MiB,
  /// about where a file's own syncs cost less than copying the value in every compaction.
  public var blobThresholdBytes = FormatLimits.inlineValueLengthMax

  /// Whether the checksum of a record is verified at every read. Default: true; it costs about
  /// a tenth of a read.
  public var verifiesChecksumsOnRead = true

  /// What makes the entries of derived indexes, by name. Built-in ones need not be listed.
  public var indexExtractors: [String: any IndexExtractorFactory] = [:]

  /// Hears how far a long recovery is: bytes read, bytes in all. Called on the opening thread.
  public var recoveryProgress: (@Sendable (_ bytesRead: UInt64, _ bytesTotal: UInt64) -> Void)?

  /// All defaults.
  public init() {}

  func validate() throws {
    guard (4096...FormatLimits.segmentCapacityMax).contains(segmentCapacityBytes),
      segmentCapacityBytes % FormatLimits.alignment == 0
    else {
      throw StoreError(
        .invalidArgument,
        "segmentCapacityBytes is \(segmentCapacityBytes); give a multiple of 8 from 4096 to 268435456")
    }
    guard (1024...FormatLimits.inlineValueLengthMax).contains(blobThresholdBytes) else {
      throw StoreError(
        .invalidArgument, "blobThresholdBytes is \(blobThresholdBytes); give 1024 to 1048576")
    }
  }
}
