import PerdureLog

// The text of a history: each step is a line with a word and numbers. Failing histories are printed
// in this form, and tests parse it to run them again.

/// The numbers of a line that are not parsed yet.
struct HistoryWords {
  private var rest: ArraySlice<Int>

  init(_ numbers: [Int]) { rest = numbers[...] }

  var isEmpty: Bool { rest.isEmpty }

  mutating func next() throws -> Int {
    guard let number = rest.popFirst() else { throw Violation("a line of a history is too short") }
    return number
  }

  mutating func next<Raw: RawRepresentable>(_ type: Raw.Type) throws -> Raw where Raw.RawValue == UInt8 {
    let number = try next()
    guard let raw = UInt8(exactly: number), let value = Raw(rawValue: raw) else {
      throw Violation("a history has no \(type) \(number)")
    }
    return value
  }

  mutating func list<Element>(_ read: (inout HistoryWords) throws -> Element) throws -> [Element] {
    let count = try next()
    guard (0...rest.count).contains(count) else { throw Violation("a list in a history is too long") }
    return try (0..<count).map { _ in try read(&self) }
  }
}

/// A value that lines can contain.
protocol HistoryWritable {
  var words: [Int] { get }
  init(_ words: inout HistoryWords) throws
}

extension Array where Element: HistoryWritable {
  fileprivate var words: [Int] { [count] + flatMap(\.words) }
}

extension History: CustomStringConvertible {
  package var description: String {
    var lines = [
      "universe \(Int(bitPattern: UInt(universe.seed))) \(universe.ids) \(universe.names) \(universe.side)",
      "options " + options.words.map(String.init).joined(separator: " "),
    ]
    for step in steps {
      let (name, numbers) = step.line
      lines.append(([name] + numbers.map(String.init)).joined(separator: " "))
    }
    return lines.joined(separator: "\n")
  }

  /// Parses the text of `description`. Ignores empty lines and lines that begin with `#`.
  package init(_ text: String) throws {
    var universe: HistoryUniverse?
    var options: HistoryOptions?
    var steps: [HistoryStep] = []
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      let parts = line.split(separator: " ")
      guard let name = parts.first else { continue }
      let numbers = parts.dropFirst().compactMap { Int($0) }
      guard numbers.count == parts.count - 1 else { throw Violation("not a line of a history: \(line)") }
      var words = HistoryWords(numbers)
      switch name {
      case "universe":
        universe = try HistoryUniverse(
          seed: UInt64(UInt(bitPattern: words.next())), ids: words.next(), names: words.next(),
          side: words.next())
      case "options": options = try HistoryOptions(&words)
      default: steps.append(try HistoryStep(String(name), &words))
      }
      guard words.isEmpty else { throw Violation("a line of a history is too long: \(line)") }
    }
    guard let universe, let options else { throw Violation("a history has a universe and options") }
    self.init(universe: universe, options: options, steps: steps)
  }
}

extension HistoryView: HistoryWritable {
  var words: [Int] {
    switch self {
    case .newest: [-1]
    case .reader: [-2]
    case .held(let slot): [slot]
    }
  }

  init(_ words: inout HistoryWords) throws {
    switch try words.next() {
    case -1: self = .newest
    case -2: self = .reader
    case let slot where (0..<Self.slots).contains(slot): self = .held(slot)
    case let other: throw Violation("a history has no view \(other)")
    }
  }
}

extension HistoryPlace: HistoryWritable {
  var words: [Int] { [Int(space.rawValue), position] }
  init(_ words: inout HistoryWords) throws { self.init(try words.next(HistorySpace.self), try words.next()) }
}

extension HistoryRange: HistoryWritable {
  var words: [Int] { [lower, upper, isBetween ? 1 : 0] }
  init(_ words: inout HistoryWords) throws {
    self.init(try words.next(), try words.next(), isBetween: try words.next() > 0)
  }
}

extension HistoryWalk: HistoryWritable {
  var words: [Int] { [limit, isDescending ? 1 : 0] }
  init(_ words: inout HistoryWords) throws {
    self.init(limit: try words.next(), isDescending: try words.next() > 0)
  }
}

extension HistoryChange: HistoryWritable {
  var words: [Int] {
    guard let value else { return place.words + [-1] }
    return place.words + [
      Int(value.length), Int(value.group), Int(value.serial), Int(value.style.rawValue), Int(value.seed),
      pieces,
    ]
  }

  init(_ words: inout HistoryWords) throws {
    let place = try HistoryPlace(&words)
    let length = try words.next()
    guard length >= 0 else {
      self.init(place, nil)
      return
    }
    let (group, serial) = (try words.next(), try words.next())
    let style = try words.next(HistoryValue.Style.self)
    let value = HistoryValue(
      length: length, group: UInt8(truncatingIfNeeded: group), serial: UInt16(truncatingIfNeeded: serial),
      style: style, seed: UInt32(truncatingIfNeeded: try words.next()))
    self.init(place, value, pieces: try words.next())
  }
}

extension HistoryRead: HistoryWritable {
  var words: [Int] {
    switch self {
    case .get(let place): [0] + place.words
    case .contains(let place): [1] + place.words
    case .getMany(let space, let positions): [2, Int(space.rawValue), positions.count] + positions
    case .part(let place, let part, let count): [3] + place.words + [part, count]
    case .scan(let space, let range, let walk): [4, Int(space.rawValue)] + range.words + walk.words
    case .keys(let space, let range, let walk): [5, Int(space.rawValue)] + range.words + walk.words
    case .prefix(let position, let length, let walk): [6, position, length] + walk.words
    case .count(let space, let range): [7, Int(space.rawValue)] + range.words
    case .countAll(let space): [8, Int(space.rawValue)]
    case .index(let index, let range, let walk): [9, Int(index.rawValue)] + range.words + walk.words
    case .indexCount(let index, let range): [10, Int(index.rawValue)] + range.words
    }
  }

  init(_ words: inout HistoryWords) throws {
    switch try words.next() {
    case 0: self = .get(try HistoryPlace(&words))
    case 1: self = .contains(try HistoryPlace(&words))
    case 2: self = .getMany(try words.next(HistorySpace.self), try words.list { try $0.next() })
    case 3: self = .part(try HistoryPlace(&words), of: try words.next(), count: try words.next())
    case 4:
      self = .scan(try words.next(HistorySpace.self), try HistoryRange(&words), try HistoryWalk(&words))
    case 5:
      self = .keys(try words.next(HistorySpace.self), try HistoryRange(&words), try HistoryWalk(&words))
    case 6: self = .prefix(try words.next(), length: try words.next(), try HistoryWalk(&words))
    case 7: self = .count(try words.next(HistorySpace.self), try HistoryRange(&words))
    case 8: self = .countAll(try words.next(HistorySpace.self))
    case 9:
      self = .index(try words.next(HistoryIndex.self), try HistoryRange(&words), try HistoryWalk(&words))
    case 10: self = .indexCount(try words.next(HistoryIndex.self), try HistoryRange(&words))
    case let other: throw Violation("a history has no read \(other)")
    }
  }
}

extension HistoryCondition: HistoryWritable {
  var words: [Int] {
    switch self {
    case .unchanged(let place, let view): [0] + place.words + view.words
    case .exists(let place): [1] + place.words
    case .range(let space, let range, let view): [2, Int(space.rawValue)] + range.words + view.words
    case .index(let index, let range, let view): [3, Int(index.rawValue)] + range.words + view.words
    }
  }

  init(_ words: inout HistoryWords) throws {
    switch try words.next() {
    case 0: self = .unchanged(try HistoryPlace(&words), since: try HistoryView(&words))
    case 1: self = .exists(try HistoryPlace(&words))
    case 2:
      self = .range(
        try words.next(HistorySpace.self), try HistoryRange(&words), since: try HistoryView(&words))
    case 3:
      self = .index(
        try words.next(HistoryIndex.self), try HistoryRange(&words), since: try HistoryView(&words))
    case let other: throw Violation("a history has no condition \(other)")
    }
  }
}

extension HistoryMove: HistoryWritable {
  var words: [Int] {
    switch self {
    case .read(let read): [0] + read.words
    case .write(let change): [1] + change.words
    }
  }

  init(_ words: inout HistoryWords) throws {
    self = try words.next() == 0 ? .read(HistoryRead(&words)) : .write(HistoryChange(&words))
  }
}

extension HistoryStep {
  var line: (name: String, numbers: [Int]) {
    switch self {
    case .read(let view, let read): ("read", view.words + read.words)
    case .commit(let commit):
      (
        "commit",
        commit.changes.words + commit.conditions.words + [
          commit.durability?.rawValue ?? -1, commit.isGivenUp ? 1 : 0,
        ]
      )
    case .transaction(let transaction):
      ("transaction", transaction.moves.words + transaction.between.words + [transaction.attemptsMax])
    case .hold(let slot): ("hold", [slot])
    case .letGo(let slot): ("letgo", [slot])
    case .compact: ("compact", [])
    case .checkpoint: ("checkpoint", [])
    case .train(let space): ("train", [Int(space.rawValue)])
    case .sync: ("sync", [])
    case .verify: ("verify", [])
    case .lookAround: ("look", [])
    case .reopen(let options, let closes): ("reopen", [closes ? 1 : 0] + options.words)
    case .follow: ("follow", [])
    case .unfollow: ("unfollow", [])
    }
  }

  init(_ name: String, _ words: inout HistoryWords) throws {
    switch name {
    case "read": self = .read(try HistoryView(&words), try HistoryRead(&words))
    case "commit":
      var commit = HistoryCommit(try words.list { try HistoryChange(&$0) })
      commit.conditions = try words.list { try HistoryCondition(&$0) }
      commit.durability = Durability(rawValue: try words.next())
      commit.isGivenUp = try words.next() > 0
      self = .commit(commit)
    case "transaction":
      var transaction = HistoryTransaction(try words.list { try HistoryMove(&$0) })
      transaction.between = try words.list { try HistoryChange(&$0) }
      transaction.attemptsMax = try words.next()
      self = .transaction(transaction)
    case "hold": self = .hold(try words.next())
    case "letgo": self = .letGo(try words.next())
    case "compact": self = .compact
    case "checkpoint": self = .checkpoint
    case "train": self = .train(try words.next(HistorySpace.self))
    case "sync": self = .sync
    case "verify": self = .verify
    case "look": self = .lookAround
    case "reopen":
      let closes = try words.next() > 0
      self = .reopen(try HistoryOptions(&words), closes: closes)
    case "follow": self = .follow
    case "unfollow": self = .unfollow
    default: throw Violation("a history has no step \(name)")
    }
  }
}
