import DebianIndexReading
import Foundation
import Measuring

/// The run of one engine: import, reopening, digests and closures. Each step is timed.
struct Trial<Engine: ArchiveEngine> {
  var indexes: [IndexFile]
  var durability: Durability
  var batchSize: Int
  var start: String?
  var hotRuns: Int

  /// Packages with large closures. The query uses the first one that exists.
  private static var candidates: [String] { ["gnome", "libreoffice", "build-essential", "python3", "dpkg"] }

  func run(in folder: URL) throws -> TrialResult {
    var result = TrialResult(engine: Engine.name)
    let engine = try importArchive(into: folder, &result)
    result.bytesOnDisk = StoreFiles.size(of: folder)
    StoreFiles.dropFromCache(folder)
    result.openCost = try Cost.of { try engine.reopen() }
    let packageName = try start ?? existingCandidate(engine)
    result.start = packageName
    for method in Engine.closureMethods {
      result.closures.append(try measureClosure(engine, of: packageName, by: method, in: folder))
    }
    result.digestCost = try Cost.of { result.digest = try engine.resultDigest() }
    try engine.finish()
    return result
  }

  private func importArchive(into folder: URL, _ result: inout TrialResult) throws -> Engine {
    let engine = try Engine(folder: folder, durability: durability, packageNames: try packageNames())
    var expected = ExpectedDigest()
    var batch: [PackageRecord] = []
    var bar = ImportProgress("Importing into \(Engine.name)", unit: "stanzas")
    let total = indexes.reduce(0) { $0 + $1.byteCount }
    var done = 0
    func flush() throws {
      result.importCost += try Cost.of { try engine.importBatch(batch) }
      batch.removeAll(keepingCapacity: true)
    }
    for index in indexes {
      var reader = try PackageReader(file: index) { FileHandle.standardError.write(Data("\($0)\n".utf8)) }
      while let record = try result.reading({ try reader.next() }) {
        expected.add(record)
        batch.append(record)
        result.packageCount += 1
        if batch.count == batchSize { try flush() }
        bar.update(
          fraction: Double(done + reader.storedBytesRead) / Double(total), count: result.packageCount)
      }
      done += index.byteCount
    }
    if !batch.isEmpty { try flush() }
    bar.finish(count: result.packageCount)
    result.finishCost = try Cost.of { try engine.finish() }
    result.expectedDigest = expected.digest
    return engine
  }

  private func packageNames() throws -> Set<String> {
    var names: Set<String> = []
    for index in indexes {
      var reader = try PackageReader(file: index)
      while let record = try reader.next() { names.insert(record.name) }
    }
    return names
  }

  private func existingCandidate(_ engine: Engine) throws -> String {
    try Self.candidates.first { try !engine.closure(of: $0, method: Engine.closureMethods[0]).isEmpty }
      ?? "dpkg"
  }

  private func measureClosure(
    _ engine: Engine, of packageName: String, by method: String, in folder: URL
  ) throws -> ClosureResult {
    try engine.finish()
    StoreFiles.dropFromCache(folder)
    try engine.reopen()
    var closure = try Cost.measured { try engine.closure(of: packageName, method: method) }
    let cold = closure.cost
    var hot: [Cost] = []
    for _ in 0..<max(1, hotRuns) {
      closure = try Cost.measured { try engine.closure(of: packageName, method: method) }
      hot.append(closure.cost)
    }
    return ClosureResult(
      method: method, count: closure.value.count, digest: try engine.digest(of: closure.value),
      cold: cold, hot: .median(of: hot))
  }
}

extension TrialResult {
  fileprivate mutating func reading<Value>(_ body: () throws -> Value) rethrows -> Value {
    let (value, cost) = try Cost.measured(body)
    readCost += cost
    return value
  }
}
