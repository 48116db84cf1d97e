/// When checkpoints are written. The defaults are meant to be right.
///
/// A checkpoint is the index on disk: the next opening uses it in place and reads only the log
/// after it, the *tail*. Without a checkpoint, opening reads the whole log. The cost of a
/// checkpoint follows the changes of the index since the previous one. Fewer checkpoints write
/// less; more of them shorten opening after a crash.
public struct CheckpointOptions: Hashable, Sendable {
  /// A checkpoint is written in the background when the tail has this many bytes, and is half as
  /// long as the index.
  ///
  /// Unit: bytes. Range: 4,096 or more. Default: 64 MiB. Why: so much is read in a fraction of a
  /// second.
  public var tailBytes = 64 << 20

  /// A checkpoint is written in the background when the tail has this many bytes and no commit was
  /// made for `idleSeconds`.
  ///
  /// Unit: bytes. Range: 4,096 or more. Default: 4 MiB. Why: for less, opening is about as fast
  /// without.
  public var idleTailBytes = 4 << 20

  /// How long a store is without a commit before it counts as idle.
  ///
  /// Unit: seconds. Range: 0.01 to 3,600. Default: 2. Why: longer than the pauses of a program that
  /// works.
  public var idleSeconds = 2.0

  /// A checkpoint is written at close when the tail has this many bytes.
  ///
  /// Unit: bytes. Range: 0 or more. Default: 1 MiB. Why: for less, opening is as fast without, and
  /// closing is faster.
  public var closeTailBytes = 1 << 20

  /// All defaults.
  public init() {}

  /// No checkpoints but those made by hand.
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

// The policy: from lengths to decisions.
extension CheckpointOptions {
  /// The length of the tail from which a checkpoint is due during commits, in bytes.
  ///
  /// Uniform updates change nearly every node of an index before the tail reaches half the index's
  /// length. So waiting that long bounds the writes of checkpoints to a small multiple of the log.
  func dueTailBytes(indexBytes: Int) -> UInt64 { UInt64(max(tailBytes, indexBytes / 2)) }

  /// The length of the tail from which it is checked.
  func nextLookBytes(indexBytes: Int) -> UInt64 {
    min(dueTailBytes(indexBytes: indexBytes), UInt64(idleTailBytes))
  }

  func isDueAtClose(tail: UInt64) -> Bool { tail > 0 && tail >= UInt64(closeTailBytes) }
}
