import PerdureFormat

// Determines which records count as committed when frames are missing.
//
// A commit counts if its chain is complete (FORMAT.md, L4). If frames are damaged, other evidence
// shows whether a commit counts:
//
//  CF1  A later frame has a higher sequence number. Then every commit with a lower number was
//       finished (L3), and so was everything before that frame outside its own chain.
//  CF2  A later frame begins the same sequence number again, or has a lower number. Then the chain
//       before it was never finished.
//  CF3  At the end of the log, the superblock has the number of the last commit that was synced. A
//       later commit whose last frame is damaged may have been interrupted there, by a full disk or
//       a power cut. Later damage of the medium looks the same. If a slot of the superblock may be
//       lost, the header of the last frame is used as evidence instead.
//  CF4  Records in a gap belong to a chain that continues after the gap. Otherwise they belong to
//       commits whose numbers fit between the sequence numbers on both sides. If no number fits,
//       these commits were never finished.
//  CF5  A commit with a frame in a rewritten segment was complete (T6), including its parts before
//       and after the segment. Numbers may be missing in the segment because all records of a
//       commit were removed.
//
// Without proof a commit counts as not finished, as in recovery: it may be incomplete.

/// Follows the frames and gaps of a log, and decides whether the undecided records count as
/// committed.
struct CommitFates {
  enum Verdict: Equatable {
    /// The records count. `partly` is the sequence number if the commit is known only in part.
    case counts(partly: UInt64?)
    case neverFinished
  }

  /// Frames and gaps whose records are not decided yet.
  struct Held: Equatable {
    /// The sequence number of the chain; nil if there were only gaps so far.
    var sequence: UInt64?
    var nextPart: UInt32 = 0
    var isDamaged = false
    /// Whether a part of the chain is in a rewritten segment. CF5
    var isComplete = false
    /// Whether the header of the commit's last frame was found. The frame itself is damaged. CF3
    var hasEnd = false
  }

  private(set) var held: Held?
  /// The last commit that is known to have been finished.
  private(set) var sequence: UInt64 = 0
  /// Whether the previous segment was rewritten, and no frame was read since. CF5
  private var followsRewritten = false
  /// The commits between the last two frames that were found; after `finish`, the commits after the
  /// last frame. No frame of these commits was found. Nil if there are none.
  private(set) var lost: ClosedRange<UInt64>?

  /// Handles the start of the next frame, whose header is valid. Returns the verdict on the
  /// undecided records before the frame. Returns nil if there are none, or if they belong or may
  /// belong to the frame's own chain.
  mutating func meet(_ header: FrameHeader) -> Verdict? {
    lost = nil
    guard header.kind != .mark else { return meetMark(header.sequence) }
    guard let held else {
      noteLost(upTo: header.sequence)
      return nil
    }
    if let chain = held.sequence {
      if chain == header.sequence && header.part >= held.nextPart { return nil }
    } else if header.part > 0 {
      noteLost(upTo: header.sequence)
      return nil
    }
    self.held = nil
    guard let chain = held.sequence else {
      let hasRoom = header.sequence > sequence + 1 || held.isComplete
      noteLost(upTo: header.sequence)
      return hasRoom ? .counts(partly: nil) : .neverFinished
    }
    guard header.sequence > chain || held.isComplete else { return .neverFinished }  // CF2
    sequence = max(sequence, chain)
    noteLost(upTo: header.sequence)
    return .counts(partly: chain)  // CF1
  }

  private mutating func meetMark(_ last: UInt64) -> Verdict? {
    defer {
      held = nil
      noteLost(upTo: last + 1)
      sequence = max(sequence, last)
    }
    guard let held else { return nil }
    let finished = held.isComplete || held.sequence.map { $0 <= last } ?? (last > sequence)
    if finished, let chain = held.sequence { sequence = max(sequence, chain) }
    return finished ? .counts(partly: held.sequence) : .neverFinished
  }

  private mutating func noteLost(upTo next: UInt64) {
    if next > sequence + 1 { lost = (sequence + 1)...(next - 1) }
  }

  /// Whether the frame is a complete commit by itself, and no undecided records are before it.
  func isAlone(_ header: FrameHeader) -> Bool {
    held == nil && header.kind == .commitEnd && header.part == 0
  }

  /// Adds the frame last passed to `meet`, after its verdict was carried out. Returns the verdict
  /// on the frame's chain if the frame is whole and ends the chain; otherwise nil.
  mutating func take(_ header: FrameHeader, isWhole: Bool) -> Verdict? {
    guard header.kind != .mark else { return nil }
    var chain = held ?? Held()
    let goesOn = followsRewritten && held == nil
    followsRewritten = false
    if (header.part != chain.nextPart && !goesOn) || !isWhole { chain.isDamaged = true }
    if goesOn && header.part > 0 { chain.isComplete = true }
    chain.sequence = header.sequence
    chain.nextPart = header.part + 1
    chain.hasEnd = header.kind == .commitEnd
    guard header.kind == .commitEnd && isWhole else {
      held = chain
      return nil
    }
    held = nil
    sequence = max(sequence, header.sequence)
    return .counts(partly: chain.isDamaged ? header.sequence : nil)
  }

  /// Handles a gap: bytes without valid frames.
  mutating func takeGap() {
    // Directly after a rewritten segment, the bytes may be the rest of a commit that began in the
    // segment.
    var chain = held ?? Held(isComplete: followsRewritten)
    chain.isDamaged = true
    held = chain
  }

  /// Handles the start of a rewritten segment. Returns the verdict on the undecided records before
  /// it. CF5
  mutating func enterRewritten() -> Verdict? {
    lost = nil
    followsRewritten = true
    guard let before = held else { return nil }
    held = nil
    if let chain = before.sequence { sequence = max(sequence, chain) }
    return .counts(partly: before.isDamaged ? before.sequence : nil)
  }

  /// Handles a frame of a rewritten segment.
  mutating func passRewritten(_ header: FrameHeader) { sequence = max(sequence, header.sequence) }

  /// Handles the start of an ordinary segment after a rewritten one. No commit in it has a lower
  /// number than `firstSequence`.
  mutating func leaveRewritten(firstSequence: UInt64) {
    guard followsRewritten, firstSequence > 0 else { return }
    sequence = max(sequence, firstSequence - 1)
  }

  /// Handles the end of the log. Returns the verdict on the records that are still undecided.
  ///
  /// - Parameter isLast: Whether `durableSequence` is known to be from the newest superblock.
  mutating func finish(durableSequence: UInt64, isLast: Bool = true) -> Verdict? {
    lost = nil
    let last = held
    held = nil
    defer { if durableSequence > sequence { lost = (sequence + 1)...durableSequence } }
    guard let last else { return nil }
    guard let chain = last.sequence else {
      return durableSequence > sequence || last.isComplete ? .counts(partly: nil) : .neverFinished
    }
    let isKnown = last.isComplete || (last.hasEnd && !isLast)
    guard chain <= durableSequence || isKnown else { return .neverFinished }  // CF3
    sequence = max(sequence, chain)
    return .counts(partly: chain)
  }
}
