package import PerdureFileIO
package import PerdureLog
package import PerdureTestSupport

/// A small program that writes to a store like a program of a user.
package struct CrashWorkload: CrashProgram {
  package static let path = "/s.perdure"

  package let shape: CrashShape
  package let seed: UInt64
  package let history = CrashHistory()
  /// The name of the extractor of the indexes. Tests replace it with a wrong extractor.
  package var extractor = SliceExtractor.name

  package init(shape: CrashShape, seed: UInt64) {
    self.shape = shape
    self.seed = seed
  }

  /// The options of every opening, without the file system.
  package var options: StoreOptions {
    var options = StoreOptions()
    options.segmentCapacityBytes = shape.segmentCapacityBytes
    options.blobThresholdBytes = max(1024, shape.valueLengthMax + 16)
    options.checkpoints = .manual
    options.compactsAutomatically = false
    if extractor == ForgetfulExtractor.name { options.indexExtractors[extractor] = ForgetfulExtractor() }
    if shape.syncAheadBytes > 0 { options.syncAheadBytes = shape.syncAheadBytes }
    // In half of the programs, the log reserves space beyond its end.
    if seed % 2 == 1 { options.logRoom = .always(upTo: 700) }
    if shape.checkpointOneIn > 0 { options.checkpoints.closeTailBytes = 0 }
    options.compression.groupsColdRecords = shape.groups
    options.compression.groupLengthTarget = 512
    options.compression.groupCacheBytes = 1024
    if shape.trainsOneIn > 0 {
      options.compression = .dictionaries
      options.compression.trainsAutomatically = false
      options.compression.valueBytesMin = 16
      options.compression.dictionaryBytes = 1024
    }
    return options
  }

  /// Opens the store with the options that the check uses.
  package func open(on fileSystem: any FileSystem, readOnly: Bool = false) throws -> Store {
    var options = options
    options.fileSystem = fileSystem
    options.isReadOnly = readOnly
    return try Store(at: Self.path, options: options)
  }

  /// Opens the store for the program, which may also make checkpoints in the background.
  private func openForWork(on fileSystem: any FileSystem) throws -> Store {
    guard shape.checkpointsInBackground else { return try open(on: fileSystem) }
    var options = options
    options.fileSystem = fileSystem
    (options.checkpoints.tailBytes, options.checkpoints.idleTailBytes) = (6000, 6000)
    return try Store(at: Self.path, options: options)
  }

  /// Runs the program to its end. Returns the check with the required state after each commit.
  package func run(
    on fileSystem: any FileSystem, _ marker: CrashMarker
  ) async throws -> StoreCrashCheck {
    var random = SeededGenerator(seed: seed)
    var last: UInt64 = 0
    var done = 0
    while done < shape.commits {
      var store: Store? = try openForWork(on: fileSystem)
      let round = min(shape.reopensEvery, shape.commits - done)
      if let store { last = try await write(round, to: store, on: fileSystem, marker, &random) }
      done += round
      // The program closes the store, or releases it without closing, as at the end of a process.
      if Bool.random(using: &random) || done == shape.commits {
        try store?.close()
        // Closing promises that all commits are durable.
        marker.promise(Int(last))
      }
      store = nil
    }
    try history.checkComplete(upTo: last)
    return StoreCrashCheck(workload: self, oracle: CrashOracle(states: history.states(upTo: last)))
  }

  private func write(
    _ commits: Int, to store: Store, on fileSystem: any FileSystem, _ marker: CrashMarker,
    _ random: inout SeededGenerator
  ) async throws -> UInt64 {
    let readers = try (0..<shape.readers).map { _ in
      CrashReader(try open(on: fileSystem, readOnly: true), history)
    }
    let generators = (0..<shape.writers).map { _ in SeededGenerator(seed: random.next()) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, generator) in generators.enumerated() {
        group.addTask {
          guard shape.writers > 1, !shape.isAsynchronous else {
            var writer = try CrashWriter(number, workload: self, store, marker, generator)
            for step in 0..<commits {
              if shape.isAsynchronous { try await writer.asynchronousStep() } else { try writer.step() }
              try follow(readers, after: step)
            }
            return
          }
          // A writer that never suspends occupies a thread of the pool until its end, so other
          // writers may not begin. The separate thread may live slightly longer than its work. It
          // must not retain the store during that time.
          let hands = Guarded<(store: Store, readers: [CrashReader])?>((store, readers))
          try await onThread {
            guard
              let (store, readers) = hands.withLock({ hands in
                defer { hands = nil }
                return hands
              })
            else { return }
            var writer = try CrashWriter(number, workload: self, store, marker, generator)
            for step in 0..<commits {
              try writer.step()
              try follow(readers, after: step)
            }
          }
        }
      }
      try await group.waitForAll()
    }
    return store.snapshot().sequence
  }

  private func follow(_ readers: [CrashReader], after step: Int) throws {
    for (number, reader) in readers.enumerated() where step % 3 == number { try reader.follow() }
  }
}
