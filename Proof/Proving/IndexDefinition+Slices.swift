package import PerdureLog

extension IndexDefinition {
  /// An index over slices of the records of one keyspace.
  package static func slices(
    _ name: String, _ keyspace: Keyspace, _ slices: SliceExtractor.Slice..., isUnique: Bool = false
  ) -> IndexDefinition {
    let source = Source.records(
      keyspaces: [keyspace], extractor: SliceExtractor.name, parameters: SliceExtractor.parameters(slices))
    return IndexDefinition(name: name, source: source, isUnique: isUnique)
  }
}
