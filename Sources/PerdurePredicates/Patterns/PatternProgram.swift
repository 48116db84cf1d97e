// Compiles the tree of a pattern into a list of instructions.

/// A node in the tree of a pattern.
indirect enum PatternNode: Sendable {
  case test(PreparedTest)
  case sequence([PatternNode])
  case alternatives([PatternNode])
  /// A repetition: at least `min` times, and at most `max` times. There is no maximum if `max` is
  /// nil.
  case repeated(PatternNode, min: Int, max: Int?)
  case assertion(PatternAssertion)
  /// A lookahead: whether the rest of the text begins with a match of the node.
  case lookahead(PatternNode, isNegative: Bool)
}

/// A condition on a position in the text.
enum PatternAssertion: Sendable {
  case textStart, textEnd
  /// The end of the text, or the position before a line break that is the last character.
  case lastLineEnd
  case lineStart, lineEnd
  case wordBoundary, noWordBoundary
}

/// The instructions of a pattern. A match follows all alternatives at the same time.
struct PatternProgram: Sendable {
  enum Instruction: Sendable {
    /// Consumes one character if the test at this index accepts it. Continues with the next
    /// instruction.
    case take(Int)
    /// Continues at both instructions.
    case split(Int, Int)
    case jump(Int)
    case assert(PatternAssertion)
    case look(Int, isNegative: Bool)
    case end
  }

  /// The maximum number of instructions of a program, including those of its lookaheads.
  private static let sizeMax = 20_000

  private(set) var instructions: [Instruction] = []
  private(set) var tests: [PreparedTest] = []
  /// The programs of the lookaheads.
  private(set) var lookaheads: [PatternProgram] = []

  init(_ node: PatternNode) throws(PatternError) {
    var room = Self.sizeMax
    try self.init(node, room: &room)
  }

  private init(_ node: PatternNode, room: inout Int) throws(PatternError) {
    try append(node, &room)
    instructions.append(.end)
  }

  private mutating func add(_ instruction: Instruction, _ room: inout Int) throws(PatternError) {
    room -= 1
    guard room >= 0 else {
      throw PatternError("is too large: each repetition such as {1000} is expanded. Use smaller counts")
    }
    instructions.append(instruction)
  }

  private mutating func append(_ node: PatternNode, _ room: inout Int) throws(PatternError) {
    switch node {
    case .test(let test):
      try add(.take(tests.count), &room)
      tests.append(test)
    case .sequence(let parts): for part in parts { try append(part, &room) }
    case .alternatives(let parts): try append(parts[...], &room)
    case .repeated(let part, let min, let max): try append(part, min, max, &room)
    case .assertion(let assertion): try add(.assert(assertion), &room)
    case .lookahead(let part, let isNegative):
      try add(.look(lookaheads.count, isNegative: isNegative), &room)
      lookaheads.append(try PatternProgram(part, room: &room))
    }
  }

  private mutating func append(
    _ alternatives: ArraySlice<PatternNode>, _ room: inout Int
  ) throws(PatternError) {
    var ends: [Int] = []
    for (position, part) in alternatives.enumerated() {
      if position == alternatives.count - 1 {
        try append(part, &room)
        break
      }
      let split = instructions.count
      try add(.split(split + 1, 0), &room)
      try append(part, &room)
      ends.append(instructions.count)
      try add(.jump(0), &room)
      instructions[split] = .split(split + 1, instructions.count)
    }
    for end in ends { instructions[end] = .jump(instructions.count) }
  }

  private mutating func append(
    _ part: PatternNode, _ min: Int, _ max: Int?, _ room: inout Int
  ) throws(PatternError) {
    for _ in 0..<min {
      let size = instructions.count
      try append(part, &room)
      // If the part has no instructions, repeating it adds none.
      if instructions.count == size { return }
    }
    guard let max else {
      let split = instructions.count
      try add(.split(split + 1, 0), &room)
      try append(part, &room)
      try add(.jump(split), &room)
      instructions[split] = .split(split + 1, instructions.count)
      return
    }
    var splits: [Int] = []
    for _ in min..<Swift.max(min, max) {
      splits.append(instructions.count)
      try add(.split(instructions.count + 1, 0), &room)
      try append(part, &room)
    }
    for split in splits { instructions[split] = .split(split + 1, instructions.count) }
  }
}
