/// The version of the format, and the features that this code knows. FORMAT.md, "Compatibility".
package enum FormatVersion {
  /// A reader refuses another major version.
  package static let major: UInt16 = 1
  /// A reader accepts any minor version; what a minor version adds, an older reader may ignore.
  package static let minor: UInt16 = 0
  /// Features that an older reader may ignore, but not a writer.
  package static let readOnlyCompatibleFeaturesKnown: UInt64 = branches
  /// Features without which the bytes cannot be read at all.
  package static let incompatibleFeaturesKnown: UInt64 =
    rewrittenSegments | packedValues | groupedSegments | boundRecords
  /// Those that a segment's header may name.
  package static let segmentFeaturesKnown: UInt64 = rewrittenSegments | groupedSegments | boundRecords
  /// Compaction has rewritten segments, or is about to.
  package static let rewrittenSegments: UInt64 = 1 << 0
  /// There are packed values or dictionaries, or there may be soon.
  package static let packedValues: UInt64 = 1 << 1
  /// Compaction has put the frames of segments into groups, or is about to.
  package static let groupedSegments: UInt64 = 1 << 2
  /// Checksums of records continue over their address words in segments with this flag.
  package static let boundRecords: UInt64 = 1 << 3
  /// Read-only-compatible: the superblock has a branch id (`StoreBranch`).
  package static let branches: UInt64 = 1 << 0
}
