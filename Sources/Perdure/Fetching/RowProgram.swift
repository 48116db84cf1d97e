// A predicate, compiled to run on rows.
//
// A program is an array of clauses in raw memory. Each clause tests the row and has a target for
// each result: the next clause, or the end. AND, OR and NOT are expressed only by these targets, so
// evaluation stops at the first clause that decides the result. Clauses contain no references. So a
// run retains no objects, allocates no memory and makes no dynamic calls. Clauses that read other
// rows, count entries or call the reference evaluator (`PredicateEvaluator`) are exceptions.
//
// Invariants:
//   PG1. Targets of a clause are `accept`, `reject` or clauses with smaller positions, so every run
//        ends.
//   PG2. For every row, a program has the result of `PredicateEvaluator` for a `RowSource` of the
//        row.
//
// The program of a fetch is not shared between threads. The program of a partial index's condition
// is shared (RowCondition.swift).

internal import PerdurePredicates

struct Clause {
  enum Op: UInt8 {
    /// Whether the word of a fixed-size field (`WordDomain`) is in low...low + span.
    case word
    /// Whether the word of a fixed-size field is in a sorted list.
    case wordList
    /// Whether the field has a value.
    case present
    /// Whether a text field has this relation to a constant. If both are ASCII, their bytes are
    /// compared, except for `textLike`.
    case textEqual, textPrefix, textSuffix, textPart, textLike
    /// Whether the object's reference is in low...low + span.
    case selfWord
    /// Whether the object's reference is in a sorted list.
    case selfList
    /// The result of a closure.
    case custom
  }

  var op: Op
  var domain: WordDomain = .integer
  /// The result if the field has no value.
  var ifNull = false
  /// The result if the row's layout does not have the property. It is the result for the property's
  /// default.
  var ifAbsent = false
  /// Whether the constant text is ASCII, and whether ASCII letters of the row are first converted
  /// to lower case.
  var isASCII = false
  var lowers = false
  /// The next clause, `RowProgram.accept` or `RowProgram.reject`.
  var whenTrue: Int32 = 0
  var whenFalse: Int32 = 0
  var slot: Int32 = 0
  /// The index of the clause's text in `texts`, or of its closure in `tests`.
  var side: Int32 = 0
  var low: UInt64 = 0
  var span: UInt64 = 0
  /// The constant text's bytes, or the sorted words.
  var constant: UnsafeRawPointer?
  var count = 0

  init(_ op: Op) { self.op = op }
}

/// Tests an object, for a clause without an operation of its own (`Op.custom`).
typealias RowTest = (RowView, ObjectReference, any StateReader) throws -> Bool

/// A compiled predicate.
final class RowProgram {
  static let accept: Int32 = -1
  static let reject: Int32 = -2

  private(set) var start: Int32
  private let clauses: UnsafeMutableBufferPointer<Clause>
  private let texts: [FoldedText]
  private let tests: [RowTest]
  private let memory: [UnsafeMutableRawPointer]

  /// - Parameter memory: Allocated by a `RowProgramBuilder`. The program frees it.
  init(
    start: Int32, clauses: [Clause], texts: [FoldedText], tests: [RowTest],
    memory: [UnsafeMutableRawPointer]
  ) {
    self.start = start
    self.clauses = .allocate(capacity: max(1, clauses.count))
    _ = self.clauses.initialize(from: clauses)
    self.texts = texts
    self.tests = tests
    self.memory = memory
  }

  deinit {
    clauses.deallocate()
    for block in memory { block.deallocate() }
  }

  /// Whether every row is accepted without a test.
  var acceptsAll: Bool { start == Self.accept }

  /// Whether the predicate holds for an object.
  ///
  /// - Throws: The errors of the view and of the reference evaluator, and `FetchError` with code
  ///   `damagedRow` for another row that a clause reads.
  func matches(_ row: RowView, _ reference: ObjectReference, _ view: any StateReader) throws -> Bool {
    guard let base = clauses.baseAddress else { return start == Self.accept }
    var at = start
    while at >= 0 {
      let clause = base + Int(at)
      at = try holds(clause, row, reference, view) ? clause.pointee.whenTrue : clause.pointee.whenFalse
    }
    return at == Self.accept
  }

  @inline(__always)
  private func holds(
    _ clause: UnsafePointer<Clause>, _ row: RowView, _ reference: ObjectReference, _ view: any StateReader
  ) throws -> Bool {
    switch clause.pointee.op {
    case .selfWord: return reference.rawValue &- clause.pointee.low <= clause.pointee.span
    case .selfList: return Self.isListed(reference.rawValue, clause)
    case .custom: return try tests[Int(clause.pointee.side)](row, reference, view)
    case .word, .wordList, .present, .textEqual, .textPrefix, .textSuffix, .textPart, .textLike: break
    }
    let field = row.fields[Int(clause.pointee.slot)]
    if field.kind == .absent { return clause.pointee.ifAbsent }
    guard row.isPresent(field) else { return clause.pointee.ifNull }
    switch clause.pointee.op {
    case .present: return true
    case .word: return Self.word(row, field) &- clause.pointee.low <= clause.pointee.span
    case .wordList: return Self.isListed(Self.word(row, field), clause)
    default: return compareText(row, field, clause)
    }
  }

  /// The word of a fixed-size field that has a value.
  @inline(__always)
  private static func word(_ row: RowView, _ field: RowField) -> UInt64 {
    switch field.kind {
    case .bool: WordDomain.word(row.bool(field) ? 1 : 0)
    case .int16, .int32, .int64: WordDomain.word(row.integer(field))
    case .reference: row.reference(field).rawValue
    default: OrderedKey.orderedBits(row.double(field))
    }
  }

  @inline(__always)
  private static func isListed(_ word: UInt64, _ clause: UnsafePointer<Clause>) -> Bool {
    guard let words = clause.pointee.constant?.assumingMemoryBound(to: UInt64.self) else { return false }
    var low = 0
    var high = clause.pointee.count
    while low < high {
      let middle = (low &+ high) >> 1
      if words[middle] < word { low = middle &+ 1 } else { high = middle }
    }
    return low < clause.pointee.count && words[low] == word
  }
}

// MARK: Text

extension RowProgram {
  @inline(__always)
  private func compareText(_ row: RowView, _ field: RowField, _ clause: UnsafePointer<Clause>) -> Bool {
    let text = row.bytes(field)
    guard row.isASCII(field), clause.pointee.op != .textLike else { return compareFolding(text, clause) }
    guard clause.pointee.isASCII else { return false }
    let count = clause.pointee.count
    guard text.count >= count, let needle = clause.pointee.constant else {
      return count == 0 && (clause.pointee.op != .textEqual || text.isEmpty)
    }
    let lowers = clause.pointee.lowers
    switch clause.pointee.op {
    case .textEqual: return text.count == count && Self.isSame(text, 0, needle, count, lowers)
    case .textPrefix: return Self.isSame(text, 0, needle, count, lowers)
    case .textSuffix: return Self.isSame(text, text.count &- count, needle, count, lowers)
    default:
      var place = 0
      while place &+ count <= text.count {
        if Self.isSame(text, place, needle, count, lowers) { return true }
        place &+= 1
      }
      return false
    }
  }

  @inline(__always)
  private static func isSame(
    _ text: UnsafeRawBufferPointer, _ place: Int, _ needle: UnsafeRawPointer, _ count: Int, _ lowers: Bool
  ) -> Bool {
    guard let base = text.baseAddress else { return count == 0 }
    let start = base + place
    var index = 0
    if !lowers {
      while index &+ 8 <= count {
        let left = start.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        if left != needle.loadUnaligned(fromByteOffset: index, as: UInt64.self) { return false }
        index &+= 8
      }
    }
    while index < count {
      let byte = start.load(fromByteOffset: index, as: UInt8.self)
      let wanted = needle.load(fromByteOffset: index, as: UInt8.self)
      if wanted != (lowers ? StringFolding.lowercased(byte) : byte) { return false }
      index &+= 1
    }
    return true
  }

  @inline(never)
  private func compareFolding(_ text: UnsafeRawBufferPointer, _ clause: UnsafePointer<Clause>) -> Bool {
    let constant = texts[Int(clause.pointee.side)]
    switch clause.pointee.op {
    case .textEqual: return constant.isEqual(to: text)
    case .textPrefix: return constant.isPrefix(of: text)
    case .textSuffix: return constant.isSuffix(of: text)
    case .textPart: return constant.isPart(of: text)
    default: return constant.matchesPattern(text)
    }
  }
}

/// Builds a program, from its last clause to its first.
struct RowProgramBuilder {
  private var clauses: [Clause] = []
  private var texts: [FoldedText] = []
  private var tests: [RowTest] = []
  private var memory: [UnsafeMutableRawPointer] = []

  /// Adds a clause and returns its position.
  mutating func add(_ clause: Clause, _ whenTrue: Int32, _ whenFalse: Int32) -> Int32 {
    var clause = clause
    clause.whenTrue = whenTrue
    clause.whenFalse = whenFalse
    clauses.append(clause)
    return Int32(clauses.count - 1)
  }

  /// Adds a clause that calls a closure.
  mutating func add(_ test: @escaping RowTest, _ whenTrue: Int32, _ whenFalse: Int32) -> Int32 {
    var clause = Clause(.custom)
    clause.side = Int32(tests.count)
    tests.append(test)
    return add(clause, whenTrue, whenFalse)
  }

  /// Sets the constant of a text clause.
  mutating func setText(_ text: FoldedText, of clause: inout Clause) {
    clause.side = Int32(texts.count)
    texts.append(text)
    clause.isASCII = text.isASCII
    clause.lowers = text.lowers
    clause.count = text.bytes.count
    clause.constant = text.bytes.withUnsafeBytes { keep($0) }
  }

  /// Sets the words of a list clause.
  mutating func setWords(_ words: Set<UInt64>, of clause: inout Clause) {
    clause.count = words.count
    clause.constant = words.sorted().withUnsafeBytes { keep($0) }
  }

  private mutating func keep(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawPointer {
    let block = UnsafeMutableRawPointer.allocate(byteCount: max(1, bytes.count), alignment: 8)
    if let source = bytes.baseAddress { block.copyMemory(from: source, byteCount: bytes.count) }
    memory.append(block)
    return UnsafeRawPointer(block)
  }

  /// The program that begins at a clause, or at `RowProgram.accept` or `reject`.
  consuming func program(start: Int32) -> RowProgram {
    RowProgram(start: start, clauses: clauses, texts: texts, tests: tests, memory: memory)
  }
}
