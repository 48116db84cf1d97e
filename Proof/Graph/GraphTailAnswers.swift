import Perdure
import PerdureLog

/// Compares the answers of a damaged `TailedGraph`, by index and by scan, with its content.
struct GraphTailAnswers {
  /// The values of a part as a read returned them. `row` is nil if no version has these values.
  private struct Seen {
    let number: Int
    let row: PartRow?

    init(_ part: Part) { (number, row) = (part.number, PartRow(part)) }
  }

  private let container: PersistentContainer
  /// The parts whose rows may have an older version.
  private let older: Set<Int>
  private(set) var mistakes: [String] = []
  /// Whether a read threw an error. An error that does not report damage is also a mistake.
  private(set) var hasErrors = false
  private(set) var hasOlderRows = false

  init(_ container: PersistentContainer, older: Set<Int>) {
    (self.container, self.older) = (container, older)
  }

  private static var all: Range<Int> { 0..<TailedGraph.partCount }

  mutating func check() {
    checkScan()
    for number in Self.all { checkName(TailedGraph.row(number)) }
    for weight in Set(Self.all.map { TailedGraph.row($0).weight }).sorted() { checkWeight(weight) }
    for number in 0..<TailedGraph.crateCount { checkMembers(ofCrate: "crate \(number)") }
    checkUniqueness(TailedGraph.row(TailedGraph.partCount / 3))
  }

  /// The corruption error that `error` is, or that caused it; nil for other errors.
  static func damage(in error: any Error) -> StoreError? {
    let found = error as? StoreError ?? (error as? PerdureError)?.cause as? StoreError
    return found?.code == .corruption ? found : nil
  }

  /// Runs a read. It may only throw a corruption error.
  private mutating func read<R>(_ what: String, _ body: (ManagedObjectContext) throws -> R) -> R? {
    do {
      let context = container.newContext()
      let result = try body(context)
      // If a property could not be read, the next fetch of the context throws.
      _ = try context.fetch(Crate.fetchRequest { $0.name == "none" })
      return result
    } catch {
      hasErrors = true
      if Self.damage(in: error) == nil {
        mistakes.append("\(what): the error does not report damage: \(error)")
      }
      return nil
    }
  }

  /// Checks the rows that a read returned, and notes older ones.
  ///
  /// - Returns: The numbers of the parts, ascending.
  private mutating func check(_ parts: [Seen], _ what: String) -> [Int] {
    for part in parts where part.row != TailedGraph.row(part.number) {
      if part.row != nil, older.contains(part.number) {
        hasOlderRows = true
      } else {
        mistakes.append("\(what): the row of part \(part.number) never had these values")
      }
    }
    return parts.map(\.number).sorted()
  }

  private mutating func checkScan() {
    guard let parts = read("a scan", { try $0.fetch(Part.fetchRequest()).map(Seen.init) }) else { return }
    if check(parts, "a scan") != Array(Self.all) { mistakes.append("a scan returns wrong parts") }
  }

  private mutating func checkName(_ row: PartRow) {
    let name = row.name
    let found = read(name) { try $0.fetch(Part.fetchRequest { $0.name == name }).map(Seen.init) }
    guard let found else { return }
    let numbers = check(found, name)
    // The fetch compares the row's value, and the older version of the row has another name.
    if numbers.isEmpty && older.contains(row.number) { return hasOlderRows = true }
    if numbers != [row.number] { mistakes.append("\(name) is the name of \(numbers)") }
  }

  private mutating func checkWeight(_ weight: Int) {
    let what = "weight \(weight)"
    let found = read(what) { try $0.fetch(Part.fetchRequest { $0.weight == weight }).map(Seen.init) }
    guard let found else { return }
    let numbers = check(found, what)
    let right = Self.all.filter { TailedGraph.row($0).weight == weight }
    if !isRight(numbers, right) { mistakes.append("\(what) is the weight of \(numbers), not \(right)") }
  }

  private mutating func checkMembers(ofCrate name: String) {
    let right = Self.all.filter { TailedGraph.row($0).crateName == name }
    let found = read(name) { context in
      let crate = try context.fetch(Crate.fetchRequest { $0.name == name }).first
      return (count: crate?.parts.count ?? 0, parts: crate?.parts.map(Seen.init) ?? [])
    }
    guard let found else { return }
    let numbers = check(found.parts, name)
    if found.count != right.count {
      mistakes.append("\(name) counts \(found.count) parts, not \(right.count)")
    }
    if !isRight(numbers, right) { mistakes.append("\(name) has the parts \(numbers), not \(right)") }
  }

  /// Whether the found parts are right: only parts with an older row are missing or surplus, and no
  /// part occurs twice.
  private func isRight(_ found: [Int], _ right: [Int]) -> Bool {
    Set(found).count == found.count && Set(found).symmetricDifference(right).isSubset(of: older)
  }

  private mutating func checkUniqueness(_ row: PartRow) {
    let context = container.newContext()
    Part(context: context).name = row.name
    do {
      try context.save()
      mistakes.append("a second part with the name \(row.name) was saved")
    } catch {
      let isRight = error.code == .constraintConflict || Self.damage(in: error) != nil
      if !isRight {
        mistakes.append("an unexpected error for a second part with the name \(row.name): \(error)")
      }
    }
  }
}
