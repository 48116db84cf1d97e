package import PerdureLog

extension IndexDefinition {
  /// An index over slices of the records of one keyspace.
  ///
  /// - Parameter extractor: The name of the extractor. Tests of wrong engines replace it.
  package static func slices(
    _ name: String, _ keyspace: Keyspace, _ slices: SliceExtractor.Slice..., isUnique: Bool = false,
    by extractor: String = SliceExtractor.name
  ) -> IndexDefinition {
    let source = Source.records(
      keyspaces: [keyspace], extractor: extractor, parameters: SliceExtractor.parameters(slices))
    return IndexDefinition(name: name, source: source, isUnique: isUnique)
  }

  /// An index of the sums of groups. A value begins with its group in 8 bytes and a whole number in
  /// 8 bytes, both big-endian.
  package static func sums(
    _ name: String, _ keyspace: Keyspace, by extractor: String = SliceExtractor.name
  ) -> IndexDefinition {
    let slices = SliceExtractor.parameters([.value(offset: 0, length: 8), .value(offset: 8, length: 8)])
    let source = Source.groupSums(
      of: .integersAndDoubles, keyspaces: [keyspace], extractor: extractor, parameters: slices)
    return IndexDefinition(name: name, source: source)
  }

  /// The same definition with another extractor, if it is an index of records by slices; otherwise
  /// unchanged.
  func made(by extractor: String) -> IndexDefinition {
    guard case .records(let keyspaces, SliceExtractor.name, let parameters) = source else { return self }
    var definition = self
    definition.source = .records(keyspaces: keyspaces, extractor: extractor, parameters: parameters)
    return definition
  }
}
