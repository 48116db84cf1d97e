// Computes index keys from rows, for the engine.
//
// The parameters of a definition are the name of the index, a digest of its `standIns`, and the
// condition of a partial index (`IndexDefinition.parameters`). The stored model describes the keys.
// So a definition stays the same when the model grows. Any program that links Perdure can maintain
// the index.

internal import PerdureFileIO
internal import PerdureLog
internal import PerdureModel
internal import PerdurePredicates

struct RowIndexExtractor: IndexExtractor {
  static let name = "row"

  /// Makes the extractors of a store from its stored model.
  final class Factory: IndexExtractorFactory {
    /// The bytes of a stored model, and the program's model. Usually the bytes are an encoding of
    /// the program's model.
    private struct Bytes: Equatable, Sendable {
      let bytes: [UInt8]
      let programModel: ManagedObjectModel?

      static func == (left: Bytes, right: Bytes) -> Bool {
        left.programModel === right.programModel && left.bytes == right.bytes
      }
    }

    private struct Decoded: Sendable {
      let model: StoredModel
      let schema: StoreSchema
    }

    /// The last decoded models of this process. When the process opens a store again, the store
    /// usually has the same bytes, which are then not decoded again.
    private static let decoded = RecentValues<Bytes, Decoded>(countMax: 4)
    /// The program's model, which usually equals the stored model.
    private let programModel: ManagedObjectModel?

    /// The model that was decoded last. All extractors of a store share its schema.
    private let last = Guarded<(bytes: [UInt8], decoded: Decoded)?>(nil)

    init(_ programModel: ManagedObjectModel?) { self.programModel = programModel }

    func makeExtractor(
      parameters: [UInt8], in store: borrowing StoredValues
    ) throws -> any IndexExtractor {
      guard
        let text = String(validating: parameters, as: UTF8.self),
        let bytes = try store.value(key: StoredModelRecord.key, inKeyspaceNamed: LogKeyspaces.metaName)
      else {
        throw StoreError(
          .corruption,
          "A row index has an invalid definition, or the stored model is missing; restore a backup")
      }
      let schema = try decode(bytes).schema
      let name = IndexDefinition.name(inParameters: text)
      guard let index = schema.index(named: name), schema.definition(index).parameters == parameters else {
        throw StoreError(.indexUnavailable, "The stored model has no such definition of index \(name)")
      }
      return RowIndexExtractor(schema, schema.definition(index), in: store)
    }

    fileprivate func decode(_ bytes: [UInt8]) throws -> (model: StoredModel, schema: StoreSchema) {
      if let last = last.withLock({ $0 }), last.bytes == bytes {
        return (last.decoded.model, last.decoded.schema)
      }
      let decoded = try Self.decoded.value(of: Bytes(bytes: bytes, programModel: programModel)) {
        let model = try StoredModel(decoding: bytes, as: programModel)
        return Decoded(model: model, schema: StoreSchema(model))
      }
      last.withLock { $0 = (bytes, decoded) }
      return (decoded.model, decoded.schema)
    }

    /// The stored model. It is decoded and checked only if it is not among the models that were
    /// decoded last.
    func model(decoding bytes: [UInt8]) throws -> StoredModel { try decode(bytes).model }

    /// The schema of a model. It is computed only if the model is not the last decoded model.
    func schema(for model: StoredModel) -> StoreSchema {
      let known = last.withLock { $0?.decoded }
      return known.flatMap { $0.model.isEqual(to: model) ? $0.schema : nil } ?? StoreSchema(model)
    }
  }

  /// The entity whose rows are in a keyspace, and the index keys of these rows.
  private final class Source: Sendable {
    let entity: UInt16
    let keys: IndexKeys

    init(entity: UInt16, keys: IndexKeys) {
      self.entity = entity
      self.keys = keys
    }
  }

  private let rows: RowChecks
  /// The kind of the numbers that are summed. Used only by indexes of sums.
  private let sums: GroupSum.Kind
  /// The sources, by keyspace id.
  private let sources: [Source?]

  private init(_ schema: StoreSchema, _ definition: IndexDefinition, in store: borrowing StoredValues) {
    rows = schema.rows
    sums = StoredSum.kind(isReal: definition.sumsReals)
    var sources: [Source?] = []
    for number in definition.entities {
      guard
        let keyspace = store.keyspace(named: LogKeyspaces.rowsName(number)),
        let keys = IndexKeys(definition, entity: schema.entity(number), in: schema)
      else { continue }
      while sources.count <= Int(keyspace.id) { sources.append(nil) }
      sources[Int(keyspace.id)] = Source(entity: number, keys: keys)
    }
    self.sources = sources
  }

  /// Adds no entry for a row that cannot be decoded. Reading the row itself reports the error.
  func extract(
    keyspace: UInt32, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer,
    into entries: inout IndexEntries
  ) {
    guard Int(keyspace) < sources.count, let source = sources[Int(keyspace)] else { return }
    let id = UInt64(littleEndian: key.loadUnaligned(as: UInt64.self))
    guard id >> 48 == 0 else { return }
    let reference = ObjectReference(entity: source.entity, id: id)
    guard let row = try? rows.view(value, of: reference) else { return }
    if let slot = source.keys.relationSlot {
      let field = row.fields[slot]
      guard row.isPresent(field) else { return }
      return entries.add(key: row.reference(field).rawValue, reference: reference.rawValue)
    }
    if let (owner, number) = source.keys.term(of: row) {
      if let term = SumTerm(number, sums) { entries.add(term, to: owner.rawValue) }
      return
    }
    entries.add(reference: reference.rawValue) { bytes in
      // Swap the buffer into the key and back, so that nothing is copied.
      var key = OrderedKey()
      swap(&key.bytes, &bytes)
      defer { swap(&key.bytes, &bytes) }
      return source.keys.append(keyOf: row, to: &key)
    }
  }
}

extension RowIndexExtractor.Factory: AdmittingFactory {
  /// Throws if this version cannot read the stored model, so that the opening fails. If the program
  /// gives no model, a store that contains no graph is accepted.
  func admit(_ store: borrowing StoredValues) throws {
    if programModel == nil {
      let isGraph = try GraphRecognition.isGraph(store.keyspaces) { _ in try storedModel(in: store) }
      guard isGraph else { return }
    }
    if let bytes = try storedModel(in: store) { _ = try decode(bytes) }
  }

  private func storedModel(in store: borrowing StoredValues) throws -> [UInt8]? {
    try store.value(key: StoredModelRecord.key, inKeyspaceNamed: LogKeyspaces.metaName)
  }
}

extension RowIndexExtractor: PartwiseExtractor {
  /// Extractors with the same decoded model share one object in `rows`, and so the numbering.
  var numbering: ObjectIdentifier { ObjectIdentifier(rows) }

  func parts(ofKeyspace keyspace: UInt32) -> UInt64 {
    guard Int(keyspace) < sources.count, let source = sources[Int(keyspace)] else { return 0 }
    return source.keys.parts.bits
  }

  func changedParts(
    keyspace: UInt32, key: UnsafeRawBufferPointer, from old: UnsafeRawBufferPointer,
    to new: UnsafeRawBufferPointer
  ) -> UInt64 {
    guard Int(keyspace) < sources.count, let source = sources[Int(keyspace)] else { return .max }
    let reference = ObjectReference(entity: source.entity, id: 0)
    // If a row cannot be decoded, `.max` makes each index extract its own entries. `extract` adds
    // none for such a row.
    guard let before = try? rows.view(old, of: reference), let after = try? rows.view(new, of: reference)
    else { return .max }
    return after.changedParts(since: before, slotCount: source.keys.slotCount).bits
  }
}
