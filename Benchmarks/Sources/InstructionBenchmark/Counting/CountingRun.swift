import Foundation
import Synchronization

/// Counts scenarios, several at a time.
struct CountingRun {
  /// The number of processes at a time. It does not change the counts.
  let jobs: Int
  /// Called with the result of each counted scenario, on any thread.
  let progress: @Sendable (String) -> Void

  /// Makes a store with the graph, counts each scenario on a copy, and removes all files.
  ///
  /// - Returns: A row for each scenario, in their order.
  /// - Throws: The error of the first scenario that failed, after the scenarios in progress have
  ///   ended; `CountingError` if another run uses the folder.
  func rows(_ scenarios: [Scenario]) throws -> [CountRow] {
    // The name is the same in every run: the lengths of paths change counts by up to 2 %.
    let folder = Self.memory.appendingPathComponent("perdure-instructions")
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    } catch let error as CocoaError where error.code == .fileWriteFileExists {
      throw CountingError("\(folder.path) exists. Wait for the other run, or remove it.")
    }
    defer { try? FileManager.default.removeItem(at: folder) }
    return try count(scenarios, Callgrind(in: folder))
  }

  private func count(_ scenarios: [Scenario], _ callgrind: Callgrind) throws -> [CountRow] {
    let results = Mutex<[Int: Result<Double, any Error>]>([:])
    let next = Mutex(0)
    DispatchQueue.concurrentPerform(iterations: max(1, jobs)) { _ in
      while let index = Self.take(next, of: scenarios.count) {
        let result = Result { try callgrind.instructions(of: scenarios[index]) }
        results.withLock { $0[index] = result }
        guard case .success(let count) = result else {
          next.withLock { $0 = scenarios.count }
          return
        }
        progress("\(scenarios[index].title): \(count)")
      }
    }
    let all = results.withLock { $0 }
    for case .failure(let error) in all.sorted(by: { $0.key < $1.key }).map(\.value) { throw error }
    return try scenarios.enumerated().compactMap { index, scenario in
      try all[index].map { CountRow(scenario, instructions: try $0.get()) }
    }
  }

  private static func take(_ next: borrowing Mutex<Int>, of count: Int) -> Int? {
    next.withLock { index in
      guard index < count else { return nil }
      defer { index += 1 }
      return index
    }
  }

  /// A file system in memory, if the system has one, because a disk only makes the run slower.
  private static var memory: URL {
    let shared = "/dev/shm"
    return FileManager.default.isWritableFile(atPath: shared)
      ? URL(fileURLWithPath: shared) : FileManager.default.temporaryDirectory
  }
}
