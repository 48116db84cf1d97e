// Runs a program over a text. The state is a set of instructions, and each character of the text
// advances all of them.
//
//   PM1. The set has an instruction at most once at each position. So the cost of a character is at
//        most the size of the program.
//   PM2. Each lookahead runs at most once at each position; its result is cached.

/// One match of a text. It counts the remaining steps.
struct PatternMatch {
  /// The maximum number of instructions that one match visits.
  static let stepMax = 50_000_000

  /// The ASCII code of each character, or `notASCII`.
  private let codes: UnsafeBufferPointer<UInt8>
  private let characters: [Character]
  private var stepsLeft = stepMax

  private static let notASCII: UInt8 = 0xFF

  /// Whether a program matches the whole text; nil if that needs more than `stepMax` steps.
  static func wholeMatch(_ program: PatternProgram, _ text: String) -> Bool? {
    var text = text
    let plain = text.withUTF8 { bytes -> Bool?? in
      // A CR may be part of CR LF, which is one character of two bytes.
      guard bytes.allSatisfy({ $0 < 0x80 && $0 != 0x0D }) else { return nil }
      var match = PatternMatch(codes: bytes, characters: [])
      return .some(match.run(program))
    }
    if let plain { return plain }
    let characters = Array(text)
    let codes = characters.map { character -> UInt8 in
      character.utf8.count == 1 ? character.utf8.first ?? notASCII : notASCII
    }
    return codes.withUnsafeBufferPointer { codes in
      var match = PatternMatch(codes: codes, characters: characters)
      return match.run(program)
    }
  }

  private init(codes: UnsafeBufferPointer<UInt8>, characters: [Character]) {
    self.codes = codes
    self.characters = characters
  }

  private mutating func run(_ program: PatternProgram) -> Bool? {
    let state = ProgramState(program)
    let answer = holds(state, from: 0, wholeText: true)
    return stepsLeft < 0 ? nil : answer
  }

  /// Whether a program matches the text from a position.
  ///
  /// - Parameter wholeText: Whether the match must reach the end of the text.
  private mutating func holds(_ state: ProgramState, from start: Int, wholeText: Bool) -> Bool {
    var position = start
    state.beginPosition()
    var hasEnded = follow(0, at: position, state)
    while stepsLeft >= 0 {
      if hasEnded, !wholeText || position == codes.count { return true }
      if position == codes.count || state.next.isEmpty { return false }
      state.beginPosition()
      hasEnded = false
      for instruction in state.current {
        guard case .take(let test) = state.program.instructions[instruction],
          takes(state.program.tests[test], at: position)
        else { continue }
        if follow(instruction + 1, at: position + 1, state) { hasEnded = true }
      }
      position += 1
    }
    return false
  }

  @inline(__always)
  private func takes(_ test: PreparedTest, at position: Int) -> Bool {
    let code = codes[position]
    return code < 0x80 ? test.holds(ascii: code) : test.test.holds(characters[position])
  }

  /// Adds to `state.next` the instructions that can consume the next character.
  ///
  /// - Returns: Whether the program can end at this position.
  private mutating func follow(_ first: Int, at position: Int, _ state: ProgramState) -> Bool {
    var hasEnded = false
    state.waiting.append(first)
    while let instruction = state.waiting.popLast() {
      stepsLeft -= 1
      guard stepsLeft >= 0, state.mark(instruction) else { continue }
      switch state.program.instructions[instruction] {
      case .take: state.next.append(instruction)
      case .split(let one, let other):
        state.waiting.append(other)
        state.waiting.append(one)
      case .jump(let target): state.waiting.append(target)
      case .assert(let assertion):
        if holds(assertion, at: position) { state.waiting.append(instruction + 1) }
      case .look(let number, let isNegative):
        if looks(number, at: position, state) != isNegative { state.waiting.append(instruction + 1) }
      case .end: hasEnded = true
      }
    }
    return hasEnded
  }

  private mutating func looks(_ number: Int, at position: Int, _ state: ProgramState) -> Bool {
    guard let inner = lookahead(number, state) else { return false }
    if let known = inner.known[position] { return known }
    let answer = holds(inner, from: position, wholeText: false)
    inner.known[position] = answer
    return answer
  }

  /// The state of a lookahead; nil if its cache needs more than the remaining steps.
  private mutating func lookahead(_ number: Int, _ state: ProgramState) -> ProgramState? {
    if let known = state.lookaheads[number] { return known }
    // The size of the cache is subtracted from the steps, so the memory of all caches is limited
    // too.
    stepsLeft -= codes.count + 1
    guard stepsLeft >= 0 else { return nil }
    return state.makeLookahead(number, positions: codes.count + 1)
  }

  private func holds(_ assertion: PatternAssertion, at position: Int) -> Bool {
    switch assertion {
    case .textStart: position == 0
    case .textEnd: position == codes.count
    case .lastLineEnd: position == codes.count || (position == codes.count - 1 && isNewline(position))
    case .lineStart: position == 0 || isNewline(position - 1)
    case .lineEnd: position == codes.count || isNewline(position)
    case .wordBoundary: isWord(position - 1) != isWord(position)
    case .noWordBoundary: isWord(position - 1) == isWord(position)
    }
  }

  private func character(_ position: Int) -> Character? {
    guard codes.indices.contains(position) else { return nil }
    return codes[position] < 0x80 ? Character(Unicode.Scalar(codes[position])) : characters[position]
  }

  private func isNewline(_ position: Int) -> Bool { character(position)?.isNewline ?? false }

  private func isWord(_ position: Int) -> Bool { character(position).map(CharacterTest.isWord) ?? false }
}

/// The state of a running program.
private final class ProgramState {
  let program: PatternProgram
  /// The instructions that consume the current character.
  private(set) var current: [Int] = []
  /// The instructions that consume the next character.
  var next: [Int] = []
  /// The instructions that `follow` has yet to visit.
  var waiting: [Int] = []
  /// The cached results of a lookahead, by position (PM2).
  var known: [Bool?] = []
  private var marks: [Int]
  private var position = 0
  private(set) var lookaheads: [Int: ProgramState] = [:]

  init(_ program: PatternProgram) {
    self.program = program
    marks = Array(repeating: 0, count: program.instructions.count)
  }

  /// Starts the next position: `next` becomes `current`, and no instruction is marked.
  func beginPosition() {
    swap(&current, &next)
    next.removeAll(keepingCapacity: true)
    position += 1
  }

  /// Marks an instruction; false if it was marked before at this position (PM1).
  func mark(_ instruction: Int) -> Bool {
    if marks[instruction] == position { return false }
    marks[instruction] = position
    return true
  }

  func makeLookahead(_ number: Int, positions: Int) -> ProgramState {
    let state = ProgramState(program.lookaheads[number])
    state.known = Array(repeating: nil, count: positions)
    lookaheads[number] = state
    return state
  }
}
