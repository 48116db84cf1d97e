import PerdureFileIO
import PerdureTestSupport
import Testing

@testable import PerdureLog

// Random programs run as overlapping transactions: a transaction may run other transactions between
// its steps. A model then runs the committed programs one after another, in the order of their
// commits. All results of reads, and the final state, must be equal.

/// One step of a program. The value of a write depends on the results of all earlier reads.
private enum Step {
  case readID(UInt64)
  case readKey(UInt8)
  case readIDs(ClosedRange<UInt64>, limit: Int, descending: Bool)
  case readKeys(UInt8, UInt8, limit: Int, descending: Bool)
  case countIDs(ClosedRange<UInt64>)
  case putID(UInt64)
  case putKey(UInt8)
  case removeID(UInt64)
  case removeKey(UInt8)
  /// Runs other programs, each as a complete transaction.
  case overlap([Program])
}

private struct Program {
  var number: Int
  var steps: [Step]

  static func random(_ number: inout Int, depth: Int, _ random: inout SeededGenerator) -> Program {
    let mine = number
    number += 1
    var steps = (0..<random.pick(1...6)).map { _ in Step.random(&random) }
    if depth > 0 && random.chance(70) {
      let others = (0..<random.pick(1...2)).map { _ in Program.random(&number, depth: depth - 1, &random) }
      steps.insert(.overlap(others), at: random.pick(0...steps.count))
    }
    return Program(number: mine, steps: steps)
  }
}

extension Step {
  static func random(_ random: inout SeededGenerator) -> Step {
    let id = random.pick(1...5 as ClosedRange<UInt64>)
    let key = random.pick(1...5 as ClosedRange<UInt8>)
    let (limit, descending) = (random.pick([1, 2, .max]), random.chance(50))
    switch random.pick(0..<9) {
    case 0: return .readID(id)
    case 1: return .readKey(key)
    case 2: return .readIDs(id...random.pick(id...6), limit: limit, descending: descending)
    case 3: return .readKeys(key, random.pick(key...6), limit: limit, descending: descending)
    case 4: return .countIDs(id...random.pick(id...6))
    case 5: return .putID(id)
    case 6: return .putKey(key)
    case 7: return .removeID(id)
    default: return .removeKey(key)
    }
  }
}

/// The results of all reads of a program, as one hash.
private struct Answers {
  private(set) var sum: UInt64 = 1

  mutating func add(_ bytes: [UInt8]?) {
    for byte in bytes ?? [255, 255] { sum = (sum ^ UInt64(byte)) &* 0x100_0000_01B3 }
  }
  mutating func add(_ number: UInt64) { add(withUnsafeBytes(of: number) { Array($0) }) }

  /// The value that the next write stores.
  var value: [UInt8] { [UInt8(truncatingIfNeeded: sum >> 20), UInt8(truncatingIfNeeded: sum >> 40)] }
}

/// The model of the store, as dictionaries. It runs one program after another.
private struct Serial: Equatable {
  var ids: [UInt64: [UInt8]] = [:]
  var keys: [UInt8: [UInt8]] = [:]

  mutating func run(_ program: Program) -> UInt64 {
    var answers = Answers()
    for step in program.steps { run(step, &answers) }
    return answers.sum
  }

  private mutating func run(_ step: Step, _ answers: inout Answers) {
    switch step {
    case .readID(let id): answers.add(ids[id])
    case .readKey(let key): answers.add(keys[key])
    case .readIDs(let range, let limit, let descending):
      let found = ids.keys.filter { range.contains($0) }.sorted { descending ? $0 > $1 : $0 < $1 }
      for id in found.prefix(limit) {
        answers.add(id)
        answers.add(ids[id])
      }
    case .readKeys(let lower, let upper, let limit, let descending):
      let found = keys.keys.filter { $0 >= lower && $0 < upper }.sorted { descending ? $0 > $1 : $0 < $1 }
      for key in found.prefix(limit) {
        answers.add([key])
        answers.add(keys[key])
      }
    case .countIDs(let range): answers.add(UInt64(ids.keys.filter { range.contains($0) }.count))
    case .putID(let id): ids[id] = answers.value
    case .putKey(let key): keys[key] = answers.value
    case .removeID(let id): ids[id] = nil
    case .removeKey(let key): keys[key] = nil
    case .overlap: break
    }
  }
}

/// The store, with programs as overlapping transactions.
private final class Overlapping {
  let store: Store
  let ids: Keyspace
  let keys: Keyspace
  /// The committed programs in the order of their commits, with the results of their reads. The
  /// sequence number of a program without writes is that of its snapshot.
  var committed: [(program: Program, answers: UInt64, sequence: UInt64, isReader: Bool)] = []
  var conflicts = 0

  init() throws {
    store = try MemoryStore().open()
    ids = try store.keyspace("ids", .dense)
    keys = try store.keyspace("keys", .bytes)
  }

  func run(_ program: Program) throws {
    do {
      let (done, sequence) = try store.transaction(durability: .relaxed) { transaction in
        var answers = Answers()
        for step in program.steps { try run(step, &transaction, &answers) }
        return (answers: answers.sum, isReader: transaction.order.isEmpty)
      }
      committed.append((program, done.answers, sequence, done.isReader))
    } catch let error as StoreError where error.isRetryable {
      conflicts += 1
    }
  }

  private func run(
    _ step: Step, _ transaction: inout StoreTransaction, _ answers: inout Answers
  ) throws {
    switch step {
    case .readID(let id): answers.add(try transaction.value(id: id, in: ids))
    case .readKey(let key): answers.add(try transaction.value(key: [key], in: keys))
    case .readIDs(let range, let limit, let descending):
      for (id, value) in try transaction.entries(in: ids, ids: range, limit: limit, descending: descending) {
        answers.add(id)
        answers.add(value)
      }
    case .readKeys(let lower, let upper, let limit, let descending):
      let range = KeyRange(lower: [lower], upper: [upper])
      for (key, value) in try transaction.entries(
        in: keys, range: range, limit: limit, descending: descending)
      {
        answers.add(key)
        answers.add(value)
      }
    case .countIDs(let range): answers.add(UInt64(try transaction.count(in: ids, ids: range)))
    case .putID(let id): try transaction.put(answers.value, id: id, in: ids)
    case .putKey(let key): try transaction.put(answers.value, key: [key], in: keys)
    case .removeID(let id): try transaction.remove(id: id, in: ids)
    case .removeKey(let key): try transaction.remove(key: [key], in: keys)
    case .overlap(let others): for other in others { try run(other) }
    }
  }

  var content: Serial {
    get throws {
      var content = Serial()
      let snapshot = store.snapshot()
      try snapshot.forEach(in: ids) { id, value in
        content.ids[id] = value.withUnsafeBytes { Array($0) }
        return true
      }
      try snapshot.forEach(in: keys) { key, value in
        content.keys[key.withUnsafeBytes { $0[0] }] = value.withUnsafeBytes { Array($0) }
        return true
      }
      return content
    }
  }
}

@Suite("Overlapping transactions")
struct TransactionHistoryTests {
  @Test("Committed transactions have the results and the state of a serial execution")
  func serializable() throws {
    let root = SeededGenerator.forTest("overlapping transactions")
    var (commits, conflicts) = (0, 0)
    for round in 0..<400 as Range<UInt64> {
      var random = root.derived(round)
      let overlapping = try Overlapping()
      var number = 0
      for _ in 0..<8 { try overlapping.run(.random(&number, depth: 3, &random)) }
      var serial = Serial()
      // A program without writes is ordered after the commit of its snapshot, and before the next
      // one.
      let order = overlapping.committed.enumerated().sorted {
        ($0.element.sequence, $0.element.isReader ? 1 : 0, $0.offset)
          < ($1.element.sequence, $1.element.isReader ? 1 : 0, $1.offset)
      }
      for (_, done) in order {
        guard serial.run(done.program) == done.answers else {
          Issue.record("round \(round): reads of program \(done.program.number) differ from the serial run")
          return
        }
      }
      guard try overlapping.content == serial else {
        Issue.record("round \(round): the final state differs from that of the serial run")
        return
      }
      commits += overlapping.committed.count
      conflicts += overlapping.conflicts
    }
    print("overlapping transactions: \(commits) committed, \(conflicts) conflicts")
    #expect(commits > 1000 && conflicts > 100)
  }
}
