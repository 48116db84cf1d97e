/// The version of the format, and the features that this code supports. FORMAT.md, "Compatibility".
package enum FormatVersion {
  /// The major version. A reader rejects any other major version.
  package static let major: UInt16 = 1
  /// The minor version. A reader accepts any minor version, because an older reader may ignore its
  /// additions.
  package static let minor: UInt16 = 0
  /// The supported features that an older reader may ignore. A writer that does not support them
  /// must not write to the store.
  package static let readOnlyCompatibleFeaturesKnown: UInt64 = branches
  /// The supported features without which a program cannot read the store.
  package static let incompatibleFeaturesKnown: UInt64 =
    rewrittenSegments | packedValues | groupedSegments | boundRecords
  /// The incompatible features that a segment's header may name.
  package static let segmentFeaturesKnown: UInt64 = rewrittenSegments | groupedSegments | boundRecords
  /// Compaction has rewritten segments, or is about to do so.
  package static let rewrittenSegments: UInt64 = 1 << 0
  /// The store contains packed values or dictionaries, or may soon contain them.
  package static let packedValues: UInt64 = 1 << 1
  /// Compaction has divided the frames of segments into groups, or is about to do so.
  package static let groupedSegments: UInt64 = 1 << 2
  /// In segments with this flag, checksums of records continue over their address words.
  package static let boundRecords: UInt64 = 1 << 3
  /// A read-only-compatible feature: the superblock has a branch id (`StoreBranch`).
  package static let branches: UInt64 = 1 << 0
}
