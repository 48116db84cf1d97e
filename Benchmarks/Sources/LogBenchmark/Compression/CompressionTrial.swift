import Foundation
import PerdureLog

/// One round for one kind of records, which are stored in each mode in turn.
struct CompressionTrial {
  enum Mode: String, CaseIterable, Codable {
    case raw = "uncompressed"
    case lz4 = "LZ4"
    case dictionary4 = "dictionary of 4 KiB"
    case dictionary16 = "dictionary of 16 KiB"
    case dictionary32 = "dictionary of 32 KiB"
    case dictionary64 = "dictionary of 64 KiB"

    var options: CompressionOptions {
      var options = CompressionOptions()
      options.trainsAutomatically = false
      options.mode = self == .raw ? .off : dictionaryBytes == nil ? .eachValue : .dictionary
      options.dictionaryBytes = dictionaryBytes ?? options.dictionaryBytes
      return options
    }

    var dictionaryBytes: Int? {
      switch self {
      case .raw, .lz4: nil
      case .dictionary4: 4 << 10
      case .dictionary16: 16 << 10
      case .dictionary32: 32 << 10
      // The maximum length of a dictionary.
      case .dictionary64: 64 << 10 - 1
      }
    }
  }

  private struct WrongValue: Error {}

  private let records: [[UInt8]]
  private let sampleCount: Int
  private let command: CompressionCommand

  static func run(_ kind: SmallRecords.Kind, _ command: CompressionCommand) throws -> [CompressionFigure] {
    let source = SmallRecords(kind: kind)
    let trial = CompressionTrial(
      records: (0..<command.records).map { source.record($0) }, sampleCount: command.records / 10,
      command: command)
    var figures = try Mode.allCases.map { try trial.run(kind, $0) }
    for index in figures.indices {
      figures[index].unpackNanoseconds = figures[index].readNanoseconds - figures[0].readNanoseconds
    }
    return figures
  }

  private func run(_ kind: SmallRecords.Kind, _ mode: Mode) throws -> CompressionFigure {
    let base = command.folder.map { URL(fileURLWithPath: $0) } ?? FileManager.default.temporaryDirectory
    let folder = base.appendingPathComponent(
      "perdure-compression-\(ProcessInfo.processInfo.processIdentifier)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var options = StoreOptions()
    options.compression = mode.options
    let store = try Store(at: folder.path + "/store.perdure", options: options)
    let keyspace = try store.keyspace("records", .dense)
    try write(0..<sampleCount, to: store, keyspace)
    if mode.dictionaryBytes != nil { try store.trainDictionary(for: keyspace) }
    let before = try store.statistics
    let measured = sampleCount..<records.count
    let writing = try Cost.of { try write(measured, to: store, keyspace) }
    let after = try store.statistics
    let reading = try read(store, keyspace)
    try store.close()
    let valueBytes = records[measured].reduce(0) { $0 + $1.count }
    let stored = Double(after.compressedBytesSinceOpen - before.compressedBytesSinceOpen)
    return CompressionFigure(
      kind: kind, mode: mode, valueBytes: Double(valueBytes) / Double(measured.count),
      ratio: mode == .raw ? 1 : Double(valueBytes) / stored,
      logBytesPerRecord: Double(after.logBytes - before.logBytes) / Double(measured.count),
      writeNanoseconds: Double(writing.cpuNanoseconds) / Double(measured.count),
      readNanoseconds: Double(reading.cpuNanoseconds) / Double(command.reads))
  }

  private func write(_ range: Range<Int>, to store: Store, _ keyspace: Keyspace) throws {
    for start in stride(from: range.lowerBound, to: range.upperBound, by: 1000) {
      try store.write(durability: .processCrash) { transaction in
        for number in start..<min(start + 1000, range.upperBound) {
          try transaction.put(records[number], id: UInt64(number), in: keyspace)
        }
      }
    }
  }

  /// Reads records at random, once to load them into the cache, and once with measurement.
  private func read(_ store: Store, _ keyspace: Keyspace) throws -> Cost {
    let snapshot = store.snapshot()
    let count = records.count - sampleCount
    let order = (0..<UInt64(command.reads)).map { sampleCount + Int(Scramble.mix($0) % UInt64(count)) }
    func readAll() throws {
      for number in order {
        let isRight = try snapshot.withValue(id: UInt64(number), in: keyspace) { value in
          value.byteCount == records[number].count
        }
        guard isRight == true else { throw WrongValue() }
      }
    }
    try readAll()
    return try Cost.of { try readAll() }
  }
}
