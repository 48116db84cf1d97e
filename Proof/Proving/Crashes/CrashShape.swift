package import PerdureLog

/// The way in which a program commits.
package enum CrashWay: Sendable {
  case write
  /// A transaction that reads the keys it changes, and some ranges.
  case transaction
  /// A transaction whose first run conflicts with another commit.
  case overtaken
  /// A commit with preconditions of every kind except `exists`. All of them are true.
  case required
  /// A commit. Then other commits are refused, by preconditions of every kind except `exists`. The
  /// preconditions were true before the first commit.
  case refused
  /// A commit with one more value, which is written in pieces.
  case pieces
}

/// The properties of a kind of program that writes to the store.
package struct CrashShape: Sendable, CustomStringConvertible {
  package var description: String
  package var commits = 40
  package var writers = 1
  package var operations = 1...6
  package var valueLengthMax = 300
  /// One value in this many is longer than the blob threshold; 0 for no such value.
  package var blobOneIn = 24
  /// One commit in this many is replaced by another operation, which is refused, is aborted, has no
  /// effect or changes the catalog; 0 for none.
  package var replacedOneIn = 0
  /// The program makes a checkpoint after one commit in this many, and at each close; 0 for no
  /// checkpoints.
  package var checkpointOneIn = 0
  package var reopensEvery = 17
  /// One step in this many compacts the store, sometimes while the writer retains a snapshot; 0 for
  /// none.
  package var compactsOneIn = 0
  /// The bytes of garbage at which the store compacts itself; 0 for no compaction. This runs like
  /// background compaction, but on the program's thread.
  package var garbageBytesMin: UInt64 = 0
  /// Whether compaction puts long-lived records into groups.
  package var groups = false
  /// One step in this many makes a dictionary, and values are compressed; 0 for no compression.
  package var trainsOneIn = 0
  /// Whether writers await their syncs without blocking a thread.
  package var isAsynchronous = false
  package var durabilities = Durability.allCases
  package var sectorLength = 512
  package var segmentCapacityBytes = 4096
  /// The number of removals in six operations.
  package var removalsOf6 = 2
  /// The number of read-only openings in the same process. They follow the writer.
  package var readers = 0
  /// The number of unsynced bytes of the log at which a background sync begins and the next segment
  /// is created; 0 for neither.
  package var syncAheadBytes: UInt64 = 0
  /// Whether checkpoints begin automatically, on a thread of the store. The operations may then
  /// differ between runs. The requirements are the same.
  package var checkpointsInBackground = false
  /// The ways in which commits are made. Ways other than `write` require a single writer.
  package var ways: [CrashWay] = [.write]

  /// A shape for deliberately wrong engines: a mixture of most operations.
  package static let canary = CrashShape(
    description: "canary", commits: 30, operations: 1...8, blobOneIn: 6, checkpointOneIn: 3, reopensEvery: 9)

  package static let compactingCanary = CrashShape(
    description: "compacting canary", commits: 40, operations: 1...4, blobOneIn: 0, reopensEvery: 20,
    compactsOneIn: 2, segmentCapacityBytes: 4096)

  /// All kinds of programs. Each has about the same share of the campaign.
  package static let all = [
    CrashShape(description: "puts, one at a time", commits: 60, operations: 1...1, removalsOf6: 0),
    CrashShape(description: "removals", commits: 60, operations: 1...3, removalsOf6: 4),
    CrashShape(description: "small commits, fine tears", sectorLength: 64),
    CrashShape(description: "batches", commits: 30, operations: 20...60, valueLengthMax: 40, blobOneIn: 0),
    CrashShape(
      description: "commits over several segments", commits: 24, operations: 1...40, valueLengthMax: 700),
    CrashShape(
      description: "values longer than a segment", commits: 24, operations: 1...4, valueLengthMax: 9000,
      blobOneIn: 0, reopensEvery: 5),
    CrashShape(description: "blob files", operations: 1...3, blobOneIn: 3, reopensEvery: 9),
    CrashShape(
      description: "rotation", commits: 50, operations: 1...2, valueLengthMax: 1200, blobOneIn: 0,
      durabilities: [.relaxed, .ordered, .powerLoss]),
    CrashShape(description: "preconditions that fail, and replaced commits", commits: 60, replacedOneIn: 2),
    CrashShape(description: "opened and closed repeatedly", commits: 40, reopensEvery: 2),
    CrashShape(
      description: "three writers", commits: 20, writers: 3, replacedOneIn: 6, isAsynchronous: true,
      sectorLength: 128),
    CrashShape(description: "compaction", commits: 50, blobOneIn: 12, reopensEvery: 13, compactsOneIn: 4),
    CrashShape(
      description: "compaction of chains", commits: 30, operations: 1...40, valueLengthMax: 700,
      reopensEvery: 9, compactsOneIn: 3),
    CrashShape(
      description: "compaction and checkpoints", commits: 40, blobOneIn: 12, checkpointOneIn: 4,
      reopensEvery: 7, compactsOneIn: 4),
    CrashShape(
      description: "compaction beside three writers", commits: 20, writers: 3, replacedOneIn: 9,
      compactsOneIn: 8, sectorLength: 128),
    CrashShape(
      description: "nothing promised until the end", commits: 60, reopensEvery: 30,
      durabilities: [.relaxed, .processCrash, .ordered]),
    CrashShape(description: "checkpoints", commits: 36, checkpointOneIn: 2, reopensEvery: 9),
    CrashShape(
      description: "checkpoints, blob files and replaced commits", commits: 30, blobOneIn: 4,
      replacedOneIn: 3,
      checkpointOneIn: 3, reopensEvery: 4),
    CrashShape(
      description: "checkpoints beside three writers", commits: 12, writers: 3, blobOneIn: 0,
      checkpointOneIn: 5, sectorLength: 128),
    CrashShape(
      description: "dictionaries that change", commits: 40, valueLengthMax: 120,
      checkpointOneIn: 6, reopensEvery: 9, compactsOneIn: 9, trainsOneIn: 4),
    CrashShape(
      description: "compaction into groups", commits: 40, blobOneIn: 12, checkpointOneIn: 6, reopensEvery: 9,
      compactsOneIn: 3, groups: true),
    CrashShape(
      description: "segments prepared ahead of time", commits: 60, replacedOneIn: 8,
      reopensEvery: 13, compactsOneIn: 12, durabilities: [.relaxed, .processCrash, .powerLoss],
      syncAheadBytes: 500),
    CrashShape(
      description: "readers that follow", commits: 36, blobOneIn: 8, checkpointOneIn: 4,
      reopensEvery: 12, compactsOneIn: 6, readers: 2),
    CrashShape(
      description: "transactions", commits: 36, operations: 1...3, ways: [.transaction, .overtaken]),
    CrashShape(
      description: "preconditions of every kind", commits: 36, operations: 1...3, ways: [.required, .refused]),
    CrashShape(
      description: "values in pieces", commits: 30, operations: 1...3, blobOneIn: 0, checkpointOneIn: 8,
      reopensEvery: 9, compactsOneIn: 12, ways: [.pieces, .pieces, .write]),
    CrashShape(
      description: "segments of 16 KiB", commits: 40, operations: 1...12, valueLengthMax: 1500, blobOneIn: 0,
      compactsOneIn: 9, segmentCapacityBytes: 16 << 10),
    CrashShape(
      description: "segments of 64 KiB", commits: 24, operations: 4...24, valueLengthMax: 2500, blobOneIn: 0,
      checkpointOneIn: 8, reopensEvery: 9, compactsOneIn: 9, segmentCapacityBytes: 64 << 10),
    CrashShape(
      description: "checkpoints in the background", commits: 48, operations: 1...8, valueLengthMax: 700,
      reopensEvery: 16, checkpointsInBackground: true),
    CrashShape(
      description: "compaction that begins by itself", commits: 50, valueLengthMax: 500, checkpointOneIn: 9,
      reopensEvery: 13, garbageBytesMin: 1500,
      // A thread syncs ordered commits, at an unspecified time.
      durabilities: [.relaxed, .processCrash, .powerLoss]),
  ]
}
