package import PerdureLog

extension IndexDefinition {
  /// An index over slices of the records of one keyspace.
  ///
  /// - Parameter extractor: The name of what makes the entries: for an engine that is wrong then.
  package static func slices(
    _ name: String, _ keyspace: Keyspace, _ slices: SliceExtractor.Slice..., isUnique: Bool = false,
    by extractor: String = SliceExtractor.name
  ) -> IndexDefinition {
    let source = Source.records(
      keyspaces: [keyspace], extractor: extractor, parameters: SliceExtractor.parameters(slices))
    return IndexDefinition(name: name, source: source, isUnique: isUnique)
  }

  /// The same with another extractor, if it is over slices.
  func made(by extractor: String) -> IndexDefinition {
    guard case .records(let keyspaces, SliceExtractor.name, let parameters) = source else { return self }
    var definition = self
    definition.source = .records(keyspaces: keyspaces, extractor: extractor, parameters: parameters)
    return definition
  }
}
