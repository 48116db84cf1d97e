import Foundation
import Perdure
import Testing

// Reads that the compiler inlines into this module (ManagedObject+InlinedReading.swift). A release
// build reads loaded rows without a call.

@Entity private final class Gauge: ManagedObject {
  var int16: Int16
  var int32: Int32
  var int64: Int64
  var int: Int
  var bool: Bool
  var double: Double
  var float: Float
  var date: Date = Date(timeIntervalSinceReferenceDate: 0)
  var uuid: UUID = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
  var text: String
  var int16OrNil: Int16?
  var int32OrNil: Int32?
  var int64OrNil: Int64?
  var intOrNil: Int?
  var boolOrNil: Bool?
  var doubleOrNil: Double?
  var floatOrNil: Float?
  var dateOrNil: Date?
  var uuidOrNil: UUID?
  var textOrNil: String?
  @Relationship(inverse: "gauges") var panel: Panel?

  @TaskLocal static var onFetch: Action?

  /// Wraps a function, because optimized code of Swift 6.3 loses the type of a function that is a
  /// task-local value.
  struct Action: Sendable {
    let run: @Sendable (Gauge) -> Void
  }

  override func awakeFromFetch() { Self.onFetch?.run(self) }

  /// All values, as the accessors return them.
  var values: [AnyHashable?] {
    [
      int16, int32, int64, int, bool, double, float, date, uuid, text, int16OrNil, int32OrNil, int64OrNil,
      intOrNil, boolOrNil, doubleOrNil, floatOrNil, dateOrNil, uuidOrNil, textOrNil,
    ]
  }

  /// Sets all values to those of a number. Nil sets optional values to nil, and others to zero.
  func set(_ number: Int?) {
    let n = number ?? 0
    (int16, int32, int64, int) = (Int16(n), Int32(n), Int64(n), n)
    (bool, double, float, text) = (n % 2 == 1, Double(n) / 2, Float(n) / 4, n == 0 ? "" : "number \(n)")
    (date, uuid) = (Self.date(n), Self.uuid(n))
    (int16OrNil, int32OrNil) = (number.map { Int16($0) }, number.map { Int32($0) })
    (int64OrNil, intOrNil, boolOrNil) = (number.map { Int64($0) }, number, number.map { $0 % 2 == 1 })
    (doubleOrNil, floatOrNil) = (number.map { Double($0) / 2 }, number.map { Float($0) / 4 })
    (dateOrNil, uuidOrNil) = (number.map(Self.date), number.map(Self.uuid))
    textOrNil = number.map { "number \($0)" }
  }

  static func date(_ n: Int) -> Date { Date(timeIntervalSinceReferenceDate: Double(n)) }

  static func uuid(_ n: Int) -> UUID {
    UUID(uuid: (UInt8(n), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(n)))
  }

  /// The expected `values` after `set(_:)`.
  static func values(_ number: Int?) -> [AnyHashable?] {
    let n = number ?? 0
    let required: [AnyHashable?] = [
      Int16(n), Int32(n), Int64(n), n, n % 2 == 1, Double(n) / 2, Float(n) / 4, date(n), uuid(n),
      n == 0 ? "" : "number \(n)",
    ]
    guard let n = number else { return required + [AnyHashable?](repeating: nil, count: 10) }
    return required + [
      Int16(n), Int32(n), Int64(n), n, n % 2 == 1, Double(n) / 2, Float(n) / 4, date(n), uuid(n),
      "number \(n)",
    ]
  }
}

@Entity private final class Panel: ManagedObject {
  var title: String
  var size: Int64
  @Relationship(inverse: "panel") var gauges: ToMany<Gauge>

  @TaskLocal static var log: Log?

  /// The values that hooks have read.
  // Unchecked: a test uses it in one task.
  final class Log: @unchecked Sendable {
    var entries: [String] = []
  }

  private func note(_ hook: String) {
    Self.log?.entries.append("\(hook) \(title) \(size) \(gauges.map(\.int64).sorted())")
  }

  override func prepareForDeletion() { note("prepareForDeletion") }
  override func willTurnIntoFault() { note("willTurnIntoFault") }
  override func didTurnIntoFault() { Self.log?.entries.append("didTurnIntoFault \(title) \(size)") }
}

/// Holds a strong reference to an object until a test removes it.
// Unchecked: a test uses it in one task.
private final class Owner<Object: ManagedObject>: @unchecked Sendable {
  var object: Object?
  init(_ object: Object?) { self.object = object }
}

@Suite("Inlined reads")
struct InlinedReadingTests {
  /// Returns the sum of the values. The compiler may optimize the loop as a whole.
  @inline(never)
  private func sum(_ gauges: [Gauge]) -> Int64 {
    var sum: Int64 = 0
    for gauge in gauges { sum += gauge.int64 }
    return sum
  }

  /// Returns a sandbox, and a context of it with three gauges, 1 to 3, in one panel.
  private func scene() throws -> (Sandbox, ManagedObjectContext, [Gauge]) {
    let sandbox = try Sandbox(Gauge.self, Panel.self)
    let setup = sandbox.container.newContext()
    let panel = Panel(context: setup)
    (panel.title, panel.size) = ("front", 3)
    for number in 1...3 {
      let gauge = Gauge(context: setup)
      gauge.set(number)
      gauge.panel = panel
    }
    try setup.save()
    let context = sandbox.container.newContext()
    return (sandbox, context, try gauges(context))
  }

  private func gauges(_ context: ManagedObjectContext) throws -> [Gauge] {
    try context.fetch(FetchRequest<Gauge>()).sorted { $0.int64 < $1.int64 }
  }

  @Test(
    "Every type reads the same value when set, saved, loaded, changed and rolled back",
    arguments: [7, 0, nil])
  func types(number: Int?) throws {
    let sandbox = try Sandbox(Gauge.self, Panel.self)
    let setup = sandbox.container.newContext()
    let new = Gauge(context: setup)
    new.set(number)
    #expect(new.values == Gauge.values(number))
    try setup.save()
    #expect(new.values == Gauge.values(number))
    let context = sandbox.container.newContext()
    let gauge = try #require(try gauges(context).first)
    for _ in 0..<3 { #expect(gauge.values == Gauge.values(number)) }
    gauge.set(9)
    for _ in 0..<3 { #expect(gauge.values == Gauge.values(9)) }
    context.rollback()
    for _ in 0..<3 { #expect(gauge.values == Gauge.values(number)) }
    gauge.setPrimitiveValue(Int64(5), forKey: "int64")
    #expect(gauge.int64 == 5)
  }

  @Test("A loop reads the new values after a set, a rollback, an undo, a redo and a refresh")
  func changes() throws {
    let (_, context, gauges) = try scene()
    let manager = ContextUndoManager()
    context.undoManager = manager
    #expect(sum(gauges) == 6 && sum(gauges) == 6)
    context.undoGroup("Set") { gauges[1].int64 = 20 }
    #expect(sum(gauges) == 24)
    try context.undo()
    #expect(sum(gauges) == 6)
    try manager.redo()
    #expect(sum(gauges) == 24)
    context.rollback()
    #expect(sum(gauges) == 6)
    gauges[0].int64 = 10
    context.refresh(gauges[0], mergeChanges: false)
    #expect(gauges[0].isFault && sum(gauges) == 6)
  }

  @Test(
    "After a merge or a refresh, a loop reads the values that another context has saved",
    arguments: [true, false])
  func others(isMerged: Bool) throws {
    let (sandbox, context, gauges) = try scene()
    context.automaticallyMergesChangesFromParent = isMerged
    #expect(sum(gauges) == 6)
    let other = sandbox.container.newContext()
    let others = try self.gauges(other)
    others[0].int64 = 100
    try other.save()
    if isMerged { context.processPendingChanges() } else { context.refreshAllObjects() }
    #expect(sum(gauges) == 105)
    other.delete(others[1])
    try other.save()
    if isMerged { context.processPendingChanges() } else { context.refreshAllObjects() }
    #expect(try self.gauges(context).count == 2)
    #expect(gauges[0].int64 == 100 && gauges[2].int64 == 3)
  }

  @Test("A deleted object reads its last values before and after the save")
  func deletion() throws {
    let (_, context, gauges) = try scene()
    #expect(sum(gauges) == 6)
    let before = sum(gauges)
    context.delete(gauges[2])
    #expect(sum(gauges) == before)
    try context.save()
    #expect(sum(gauges) == before && gauges[2].text == "number 3")
  }

  @Test("A hook may release the last reference to its object while an attribute is read")
  func releasedByHook() throws {
    let (sandbox, _, gauges) = try scene()
    let context = sandbox.container.newContext()
    let owner = Owner(try context.existingObject(with: gauges[2].objectID) as? Gauge)
    context.refresh(try #require(owner.object), mergeChanges: false)
    weak let released = owner.object
    let action = Gauge.Action { _ in owner.object = nil }
    Gauge.$onFetch.withValue(action) { #expect(owner.object?.int64 == 3) }
    #expect(owner.object == nil && released == nil)
  }

  @Test("The body of a loop over a cached relationship may release its members")
  func releasedByBody() throws {
    var (_, context, held) = try scene()
    let panel = try #require(held[0].panel)
    for _ in 0..<3 { #expect(panel.gauges.reduce(0) { $0 + $1.int64 } == 6) }
    var sum: Int64 = 0
    for gauge in panel.gauges {
      held = []
      sum += gauge.int64
      context.refreshAllObjects()
      sum += gauge.panel?.size ?? 0
    }
    #expect(sum == 15 && held.isEmpty)
  }

  @Test("A cached to-one object can be read after another strong reference to it is released")
  func releasedTarget() throws {
    let (_, _, gauges) = try scene()
    let owner = Owner(gauges[0].panel)
    for _ in 0..<3 { #expect(gauges.allSatisfy { $0.panel?.title == "front" }) }
    let panel = gauges[1].panel
    owner.object = nil
    #expect(panel?.size == 3 && gauges[1].panel === panel)
  }

  @Test("A to-many relationship that was read as empty shows objects that are connected later")
  func empty() throws {
    let (_, context, gauges) = try scene()
    let panel = Panel(context: context)
    panel.title = "back"
    for _ in 0..<3 {
      #expect(panel.gauges.isEmpty && panel.gauges.first == nil)
      for _ in panel.gauges { Issue.record("The relationship has no objects.") }
    }
    panel.gauges.insert(gauges[1])
    for _ in 0..<3 { #expect(panel.gauges.map(\.int64) == [2] && panel.gauges.count == 1) }
    panel.gauges.removeAll()
    for _ in 0..<3 { #expect(panel.gauges.isEmpty && panel.gauges.map(\.int64) == []) }
    context.rollback()
    for _ in 0..<3 { #expect(panel.gauges.isEmpty) }
  }

  @Test("An iteration at its end retains no object of the relationship")
  func endOfIteration() throws {
    let (sandbox, _, gauges) = try scene()
    let context = sandbox.container.newContext()
    let id = try #require(gauges[0].panel?.objectID)
    let panel = try #require(try context.existingObject(with: id) as? Panel)
    var walk = panel.gauges.makeIterator()
    var sum: Int64 = 0
    while let gauge = walk.next() { sum += gauge.int64 }
    #expect(sum == 6 && context.registeredObjects == [panel])
    #expect(walk.next() == nil)
  }

  @Test("Hooks around a deletion and a refresh read the values that their documentation promises")
  func hooks() throws {
    let (_, context, gauges) = try scene()
    let panel = try #require(gauges[0].panel)
    for _ in 0..<3 { #expect(panel.size == 3 && panel.gauges.map(\.int64).sorted() == [1, 2, 3]) }
    let log = Panel.Log()
    Panel.$log.withValue(log) {
      panel.size = 4
      context.refresh(panel, mergeChanges: false)
      #expect(panel.size == 3)
      context.delete(panel)
    }
    #expect(
      log.entries == [
        "willTurnIntoFault front 4 [1, 2, 3]", "didTurnIntoFault front 3",
        "prepareForDeletion front 3 [1, 2, 3]",
      ])
    #expect(panel.isDeleted && panel.title == "front")
  }
}
