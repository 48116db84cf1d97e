import PerdureFormat

// Which records count, when not every frame is there to say so.
//
// A commit counts if its chain is complete (FORMAT.md, L4). Where frames are damaged, other evidence decides:
//
//  E1  A later frame of a higher sequence number: every commit up to it was finished (L3), and what stands
//  before it
//      and is not of its own chain was too.
//  E2  A later frame that begins the same sequence number anew, or a lower one: the chain before was never
//  finished. E3  At the end of the log: the superblock says up to which commit the log was synced.
//  E4  Records in a gap belong to a chain that goes on behind it; else to commits that the sequence numbers
//  on both
//      sides leave room for; without room they were never finished.
//
// What nothing says was finished counts as not finished, as in recovery: it may be half of what it should be.

/// Follows the frames and gaps of a log and says, for what has been held back, whether it counts.
struct CommitFates {
  enum Verdict: Equatable {
    /// Counts; the sequence number, if it is known to be in part only.
    case counts(partly: UInt64?)
    case neverFinished
  }

  /// Frames and gaps whose fate is open.
  struct Held: Equatable {
    /// The chain; nil when there were only gaps so far.
    var sequence: UInt64?
    var nextPart: UInt32 = 0
    var isDamaged = false
  }

  private(set) var held: Held?
  /// The last commit that is known to have been finished.
  private(set) var sequence: UInt64 = 0
  /// Commits between two frames of which there was no frame.
  private(set) var lost: ClosedRange<UInt64>?

  /// A frame whose header is right comes next. Gives the fate of what was held before it, if that is decided
  /// and was not of the frame's own chain.
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
      let hasRoom = header.sequence > sequence + 1
      noteLost(upTo: header.sequence)
      return hasRoom ? .counts(partly: nil) : .neverFinished
    }
    guard header.sequence > chain else { return .neverFinished }  // E2
    sequence = max(sequence, chain)
    noteLost(upTo: header.sequence)
    return .counts(partly: chain)  // E1
  }

  private mutating func meetMark(_ last: UInt64) -> Verdict? {
    defer {
      held = nil
      noteLost(upTo: last + 1)
      sequence = max(sequence, last)
    }
    guard let held else { return nil }
    let finished = held.sequence.map { $0 <= last } ?? (last > sequence)
    if finished, let chain = held.sequence { sequence = max(sequence, chain) }
    return finished ? .counts(partly: held.sequence) : .neverFinished
  }

  private mutating func noteLost(upTo next: UInt64) {
    if next > sequence + 1 { lost = (sequence + 1)...(next - 1) }
  }

  /// Whether the frame is a commit of its own, with nothing held before it.
  func isAlone(_ header: FrameHeader) -> Bool {
    held == nil && header.kind == .commitEnd && header.part == 0
  }

  /// Takes the frame that was met, after its verdict was carried out. Gives the fate of its chain if it ends
  /// it.
  mutating func take(_ header: FrameHeader, isWhole: Bool) -> Verdict? {
    guard header.kind != .mark else { return nil }
    var chain = held ?? Held()
    if header.part != chain.nextPart || !isWhole { chain.isDamaged = true }
    chain.sequence = header.sequence
    chain.nextPart = header.part + 1
    guard header.kind == .commitEnd else {
      held = chain
      return nil
    }
    held = nil
    sequence = max(sequence, header.sequence)
    return .counts(partly: chain.isDamaged ? header.sequence : nil)
  }

  /// Bytes that are no frames come next.
  mutating func takeGap() {
    var chain = held ?? Held()
    chain.isDamaged = true
    held = chain
  }

  /// The log has ended.
  mutating func finish(durableSequence: UInt64) -> Verdict? {
    lost = nil
    let last = held
    held = nil
    defer { if durableSequence > sequence { lost = (sequence + 1)...durableSequence } }
    guard let last else { return nil }
    guard let chain = last.sequence else {
      return durableSequence > sequence ? .counts(partly: nil) : .neverFinished
    }
    guard chain <= durableSequence else { return .neverFinished }  // E3
    sequence = max(sequence, chain)
    return .counts(partly: chain)
  }
}
