import PerdureFileIO
import PerdureFormat

// Feature bits of a handmade log.

extension HandmadeLog {
  /// A field of feature bits.
  enum FeatureField: String, CaseIterable, CustomStringConvertible {
    case incompatible, readOnlyCompatible, compatible
    /// `incompatibleFeatures` in the header of the last segment.
    case segment

    var description: String { rawValue }

    fileprivate var names: [Int: String] {
      switch self {
      case .incompatible: FormatFeatures.incompatible.names
      case .readOnlyCompatible: FormatFeatures.readOnlyCompatible.names
      case .compatible: FormatFeatures.compatible.names
      case .segment: FormatFeatures.segment.names
      }
    }

    /// The text with which an error names a bit of this field.
    func text(_ bit: Int) -> String { "feature bit \(bit) (\(names[bit] ?? "a feature of a later version"))" }
  }

  /// The newest superblock.
  var superblock: Superblock {
    get throws {
      let bytes = try fileSystem.open(Self.path + "/SUPERBLOCK", .read).read(Superblock.fileLength, at: 0)
      return try bytes.withUnsafeBytes { try Superblock.newest(in: $0) }
    }
  }

  /// Sets a bit, as a newer version does. All checksums are correct.
  func set(_ bit: Int, in field: FeatureField) throws {
    let flag: UInt64 = 1 << UInt64(bit)
    switch field {
    case .incompatible: try changeSuperblock { $0.incompatibleFeatures |= flag }
    case .readOnlyCompatible: try changeSuperblock { $0.readOnlyCompatibleFeatures |= flag }
    case .compatible: try changeSuperblock { $0.compatibleFeatures |= flag }
    case .segment: try changeHeader { $0.incompatibleFeatures |= flag }
    }
  }

  private func changeHeader(_ change: (inout SegmentHeader) -> Void) throws {
    let file = try fileSystem.open(Self.path + "/" + StoreFileName.segment(end.segment).string, .readWrite)
    var bytes = try file.read(SegmentHeader.length, at: 0)
    var header = try bytes.withUnsafeBytes { try SegmentHeader(reading: $0) }
    change(&header)
    bytes.withUnsafeMutableBytes { header.write(to: $0) }
    try file.write(bytes, at: 0)
  }

  /// Adds the header of the next segment, as a writer does whose log continues there.
  func beginSegment(features: UInt64) throws {
    let superblock = try superblock
    var header = SegmentHeader(
      store: superblock.store, number: end.segment + 1, capacity: UInt64(superblock.segmentCapacity),
      firstSequence: sequence + 1, predecessorEnd: end)
    header.incompatibleFeatures = features
    var bytes = [UInt8](repeating: 0, count: SegmentHeader.length)
    bytes.withUnsafeMutableBytes { header.write(to: $0) }
    let name = StoreFileName.segment(header.number).string
    try fileSystem.open(Self.path + "/" + name, .create).write(bytes, at: 0)
  }
}
