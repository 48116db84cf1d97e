/// The conditions for writing checkpoints. The defaults are right for most programs.
///
/// A checkpoint is the index on disk: the next opening uses it in place and reads only the log
/// after it, the *tail*. Without a checkpoint, opening reads the whole log. The cost of a
/// checkpoint depends on how much of the index has changed since the previous one. Fewer
/// checkpoints write less. More checkpoints make opening after a crash faster.
public struct CheckpointOptions: Hashable, Sendable {
  /// A checkpoint is written in the background when the tail has this many bytes or more. The tail
  /// must also be at least half as long as the index.
  ///
  /// Unit: bytes. Range: 4,096 or more. Default: 16 MiB. Why: opening reads a tail of this length
  /// in a twentieth of a second if the tail changes one index. If the tail changes six indexes, it
  /// takes a fifth of a second.
  public var tailBytes = 16 << 20

  /// A checkpoint is written in the background when the tail has at least this many bytes and no
  /// commit was made for `idleSeconds`.
  ///
  /// Unit: bytes. Range: 4,096 or more. Default: 4 MiB. Why: with a shorter tail, opening is about
  /// as fast without a checkpoint.
  public var idleTailBytes = 4 << 20

  /// The duration without a commit after which a store counts as idle.
  ///
  /// Unit: seconds. Range: 0.01 to 3,600. Default: 2. Why: a working program rarely pauses that
  /// long.
  public var idleSeconds = 2.0

  /// A checkpoint is written at close when the tail has at least this many bytes.
  ///
  /// Unit: bytes. Range: 0 or more. Default: 32 KiB. Why: with a shorter tail, opening is as fast
  /// without a checkpoint, and closing is faster.
  public var closeTailBytes = 32 << 10

  /// Creates options with all defaults.
  public init() {}

  /// No automatic checkpoints. `Store.checkpoint()` writes one, and compaction replaces an existing
  /// one.
  public static var manual: CheckpointOptions {
    var options = CheckpointOptions()
    (options.tailBytes, options.idleTailBytes, options.closeTailBytes) = (.max, .max, .max)
    return options
  }

  func validate() throws {
    guard tailBytes >= 4096, idleTailBytes >= 4096, closeTailBytes >= 0 else {
      throw StoreError(
        .invalidArgument, "checkpoints has a length that is too small; give 4096 or more, at close 0 or more")
    }
    guard (0.01...3600).contains(idleSeconds) else {
      throw StoreError(.invalidArgument, "checkpoints.idleSeconds is \(idleSeconds); give 0.01 to 3600")
    }
  }
}

// The policy: it computes decisions from lengths.
extension CheckpointOptions {
  /// The tail length at which a checkpoint becomes due during commits, in bytes.
  ///
  /// Uniform updates change nearly every node of an index before the tail reaches half the index's
  /// length. So waiting for that length limits the bytes written by checkpoints to a small multiple
  /// of the log's length.
  func dueTailBytes(indexBytes: Int) -> UInt64 { UInt64(max(tailBytes, indexBytes / 2)) }

  /// The tail length at which commits begin to check whether a checkpoint is due, in bytes.
  func nextLookBytes(indexBytes: Int) -> UInt64 {
    min(dueTailBytes(indexBytes: indexBytes), UInt64(idleTailBytes))
  }

  func isDueAtClose(tail: UInt64) -> Bool { tail > 0 && tail >= UInt64(closeTailBytes) }
}
