/// The feature flags of one field, and their names for errors. FORMAT.md, "Compatibility".
package struct FormatFeatures: Sendable {
  /// The names of the flags, by bit. Some belong to planned features that no program sets yet.
  package let names: [Int: String]
  /// The bits that this code supports.
  package let known: UInt64

  package static let incompatible = FormatFeatures(
    names: [
      0: "rewritten segments", 1: "packed values", 2: "grouped segments", 3: "bound records",
      4: "external values", 5: "merged segments", 6: "model sections",
    ],
    known: FormatVersion.incompatibleFeaturesKnown)

  /// The flags of a segment's header.
  package static let segment = FormatFeatures(
    names: incompatible.names, known: FormatVersion.segmentFeaturesKnown)

  package static let readOnlyCompatible = FormatFeatures(
    names: [0: "branch id", 1: "retained history"], known: FormatVersion.readOnlyCompatibleFeaturesKnown)

  package static let compatible = FormatFeatures(
    names: [0: "searchable attributes", 1: "fetch templates"], known: 0)

  /// Describes the unknown flags, such as `it needs feature bit 4 (external values)`.
  package func missing(_ flags: UInt64) -> String {
    let bits = (0..<64).filter { (flags & ~known) >> UInt64($0) & 1 == 1 }
    let texts = bits.map { bit in "\(bit) (\(names[bit] ?? "a feature of a later version"))" }
    return "it needs feature bit\(bits.count == 1 ? "" : "s") \(texts.joined(separator: ", "))"
  }
}
