import PerdureCompression
import PerdureFileIO
import PerdureFormat

/// A dictionary with which values are compressed.
public struct TrainedDictionary: Hashable, Sendable {
  /// Its number in the store, from 1; at most 2,047.
  public var number: Int
  /// Its length, in bytes.
  public var bytes: Int
  /// The stored size of values outside its samples: stored bytes for each byte of these values.
  public var ratio: Double
}

extension Store {
  /// Makes a dictionary of the common parts of a keyspace's current values. Later values are
  /// compressed with it. Existing values stay unchanged.
  ///
  /// With `CompressionOptions.trainsAutomatically` it is not necessary to call this.
  ///
  /// - Returns: The dictionary. Nil if there are too few values, or if the best dictionary makes
  ///   the samples less than a twentieth shorter; then nothing was written.
  /// - Throws: `StoreError`: `.invalidArgument` in three cases: the keyspace belongs to another
  ///   store, the options do not compress its values with dictionaries, or the store already has
  ///   2,047 dictionaries. `.corruption` or `.io` if a value cannot be read. Also the errors of
  ///   `write`.
  /// - Complexity: Reads at most 8,192 values. Training uses samples of about 64 times the
  ///   dictionary's length, and takes some tenths of a second. Commits continue meanwhile.
  @discardableResult
  public func trainDictionary(for keyspace: Keyspace) throws -> TrainedDictionary? {
    try engine.checkWritable()
    try engine.readingState { try $0.catalog.check(keyspace) }
    guard let packing = engine.packing, packing.options.mode(of: keyspace) == .dictionary else {
      throw StoreError(
        .invalidArgument,
        "Values of keyspace \(keyspace.name) are not compressed with dictionaries; set this in StoreOptions.compression"
      )
    }
    return try engine.trainDictionary(for: keyspace, packing.options, isAutomatic: false)
  }

  /// The dictionaries with which values of a keyspace were compressed, oldest first. The last one
  /// is in use.
  ///
  /// - Throws: `StoreError` with code `.invalidArgument` if the keyspace belongs to another store,
  ///   `.closed` or `.forked`.
  public func dictionaries(of keyspace: Keyspace) throws -> [TrainedDictionary] {
    try engine.readingState { state in
      try state.catalog.check(keyspace)
      return state.catalog.dictionaries.filter { $0.keyspace == keyspace.id }.map(TrainedDictionary.init)
    }
  }
}

extension TrainedDictionary {
  init(_ entry: DictionaryEntry) {
    self.init(number: entry.number, bytes: entry.bytes.count, ratio: Double(entry.perMille) / 1000)
  }
}

extension Engine {
  /// Called after a commit: trains a dictionary in the background if a training is due.
  func trainIfDue(_ tallies: [PackingTally]) {
    guard let packing, let keyspace = packing.note(tallies) else { return }
    let isStarted = PlatformThread.start(name: "perdure-train") { [weak self] in
      guard let self else { return }
      let result = Result { try self.trainDictionary(for: keyspace, packing.options, isAutomatic: true) }
      switch result {
      case .success(let made): packing.finishTraining(of: keyspace, madeOne: made != nil, failure: nil)
      case .failure(let error):
        packing.finishTraining(of: keyspace, madeOne: false, failure: "\(error)")
      }
    }
    if !isStarted {
      packing.finishTraining(
        of: keyspace, madeOne: false, failure: "The system refused a thread for training a dictionary")
    }
  }

  /// - Parameters:
  ///   - isAutomatic: Whether a new dictionary is accepted only if it is clearly better than the
  ///     one in use.
  ///   - train: Makes a dictionary from samples. Its second argument is the maximum length in
  ///     bytes.
  func trainDictionary(
    for keyspace: Keyspace, _ options: CompressionOptions, isAutomatic: Bool,
    by train: (DictionarySamples, Int) throws -> DictionaryTrainer.Trained = DictionaryTrainer.train
  ) throws -> TrainedDictionary? {
    let known = try readingState { $0.catalog.dictionaries.last { $0.keyspace == keyspace.id } }
    // The snapshot is released after the samples are taken. Training takes a long time, and a store
    // that is closed meanwhile must keep its files for a snapshot.
    let samples = try Snapshot(self).samples(
      of: keyspace, byteCount: options.dictionaryBytes * 64, prefersNew: known != nil)
    let trained = try train(samples, options.dictionaryBytes)
    let saved = 1000 - trained.perMille
    guard !trained.bytes.isEmpty, saved >= 50 else { return nil }
    if isAutomatic, let known {
      let savedSoFar = 1000 - DictionaryTrainer.perMille(samples, with: known.bytes)
      guard saved * 10 >= savedSoFar * 11 else { return nil }
    }
    return TrainedDictionary(try define(trained, for: keyspace))
  }

  private func define(
    _ trained: DictionaryTrainer.Trained, for keyspace: Keyspace
  ) throws -> DictionaryEntry {
    try inTurn { state in
      try state.catalog.check(keyspace)
      guard state.catalog.dictionaries.count < FormatLimits.dictionaryNumberMax else {
        throw StoreError(
          .invalidArgument,
          "The store has no number left for another dictionary; put the values into a new store")
      }
      var catalog = state.catalog
      let entry = catalog.addDictionary(trained.bytes, of: keyspace.id, perMille: trained.perMille)
      try appendCatalogRecord(CatalogRecord.dictionary(entry), catalog, &state)
      return entry
    }
  }
}

extension Snapshot {
  /// The maximum number of samples, and of bytes of each sample.
  private static let samplesMax = 8192
  private static let sampleLengthMax = 4096

  /// A record that is examined for samples, and the key for which the index has its address.
  private struct Candidate {
    let word: UInt64
    let key: [UInt8]
  }

  /// Values from all parts of a keyspace.
  ///
  /// - Parameter prefersNew: Whether the older half of the examined records is skipped.
  /// - Throws: `StoreError` with code `.corruption` if a record cannot be read, or if another
  ///   record is at its address.
  func samples(of keyspace: Keyspace, byteCount: Int, prefersNew: Bool) throws -> DictionarySamples {
    let reader = reader
    var candidates = try candidates(Self.samplesMax * (prefersNew ? 2 : 1), of: keyspace)
    candidates.sort { RecordAddress(rawValue: $0.word).position < RecordAddress(rawValue: $1.word).position }
    if prefersNew { candidates.removeFirst(candidates.count / 2) }
    candidates.removeAll { RecordAddress(rawValue: $0.word).isBlob }
    var samples = DictionarySamples()
    var hold = GroupHold()
    defer { hold.release() }
    func withSample<R>(_ candidate: Candidate, _ body: (UnsafeRawBufferPointer) throws -> R) throws -> R {
      let record = try candidate.key.withUnsafeBytes { key throws(StoreError) in
        try reader.record(at: candidate.word, keyspace: keyspace.id, key: key, &hold)
      }
      return try withContent(of: record) {
        try body(UnsafeRawBufferPointer(rebasing: $0.prefix(Self.sampleLengthMax)))
      }
    }
    let total = try candidates.reduce(0) { try $0 + withSample($1) { $0.count } }
    // If the samples are too long in total, only every n-th value is used.
    for index in stride(from: 0, to: candidates.count, by: max(1, total / max(1, byteCount))) {
      try withSample(candidates[index]) { samples.append($0) }
    }
    return samples
  }

  /// At most `countMax` records of a keyspace, at equal distances in the order of their keys.
  private func candidates(_ countMax: Int, of keyspace: Keyspace) throws -> [Candidate] {
    let trees = try trees(of: keyspace)
    let count = trees.count(keyspace.kind)
    let wanted = min(count, countMax)
    let positions = (0..<wanted).map { Int(Double(count) * Double($0) / Double(wanted)) }
    var found: [Candidate] = []
    found.reserveCapacity(wanted)
    switch keyspace.kind {
    case .dense:
      for position in positions {
        guard let (id, word) = trees.dense.select(position) else { continue }
        found.append(Candidate(word: word, key: withUnsafeBytes(of: id.littleEndian) { Array($0) }))
      }
    case .bytes:
      var cursor = OrderedCursor(trees.ordered)
      for position in positions where cursor.seek(position: position) {
        found.append(Candidate(word: cursor.payload, key: Array(cursor.key)))
      }
    }
    try check(trees.dense.file)
    try check(trees.ordered.file)
    return found
  }
}
