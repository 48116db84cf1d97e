// Records the reads of the code behind a key path, and provides the values for them.
//
// The object of a probe counts as removed. So its properties are read by the code for removed
// objects (`ObjectRetirement.lastValue`), which calls `ProbedReads`.

internal import PerdurePredicates

/// The reads of one key path, round by round.
final class ProbedReads {
  /// The number of rounds. In the last one, optional attributes have no value.
  static let roundCount = ProbeValues.count + 1

  /// The only read of a round.
  enum Read {
    case attribute(slot: Int, value: Value)
    /// A relationship, and the object that it returned.
    case relationship(slot: Int, ManagedObject?)
  }

  /// The facts about a key path before it is read.
  struct Question {
    /// Values for attributes of a type with few values, such as an enumeration; nil for others.
    var cases: [Value]?
    /// Whether the type of the value is not optional.
    var needsValue = false
    /// The object that relationships with `slots` return; nil if the value is no object.
    var target: ManagedObject?
    var slots: Set<Int> = []
  }

  /// The object that the key path is read on; nil before it is made.
  var object: ManagedObject?
  var question = Question()
  /// Whether the round reads a property by its name. The code behind the key path may then use
  /// `as!`, which traps without a value.
  private var readsByName = false
  private var round = 0
  private var readCount = 0
  private var read: Read?
  private var readsOther = false
  /// One object of each class that a required relationship returned.
  private var requiredObjects: [ObjectIdentifier: ManagedObject] = [:]
  private let makeObject: (ManagedObject.Type) -> ManagedObject?

  /// After this many reads in a round, values vary, so that a loop over them ends.
  private static let steadyReadsMax = 1_000

  init(_ makeObject: @escaping (ManagedObject.Type) -> ManagedObject?) {
    self.makeObject = makeObject
  }

  func begin(round: Int) {
    (self.round, readCount, read, readsOther, readsByName) = (round, 0, nil, false, false)
  }

  /// The only read of the round; nil unless it was one read of a property of the object.
  var onlyRead: Read? { readCount == 1 && !readsOther ? read : nil }

  /// Whether the round read nothing.
  var isEmpty: Bool { readCount == 0 && !readsOther }

  private var needsValue: Bool { readsByName && question.needsValue }

  /// The value of a column. Notes the read.
  func value(_ slot: Int, of reader: ManagedObject) -> Value {
    readCount += 1
    let property = reader.shape.storage.properties[slot]
    guard case .attribute(let kind) = property.form, !property.isOpaque else {
      readsOther = true
      return .null
    }
    let place = readCount > Self.steadyReadsMax ? readCount % Self.roundCount : round
    let isLast = place == Self.roundCount - 1
    let isNull = isLast && reader.shape.isOptional(slot) && !needsValue
    let given = isNull ? .null : value(kind, isLast ? 0 : place) ?? .null
    if reader === object { read = .attribute(slot: slot, value: given) } else { readsOther = true }
    return given
  }

  private func value(_ kind: FieldKind, _ place: Int) -> Value? {
    if let cases = question.cases, readCount == 1,
      let fitting = cases[place % cases.count].stored(as: kind)
    {
      return fitting
    }
    return ProbeValues.value(of: kind, place)
  }

  /// The object of a relationship. It is the target if the round is even or a value is needed, and
  /// if this is the first read of the round and the key path may be that of the relationship. Nil
  /// for any other read. Notes the read.
  func related(_ slot: Int, of reader: ManagedObject) -> ManagedObject? {
    readCount += 1
    guard reader === object, readCount == 1, question.slots.contains(slot) else {
      readsOther = true
      return nil
    }
    let given = round % 2 == 0 || needsValue ? question.target : nil
    read = .relationship(slot: slot, given)
    return given
  }

  /// Notes that the code reads something other than a property with a value.
  func noteOther() { readsOther = true }

  /// Notes that the code reads a property by its name.
  func noteName() { readsByName = true }

  /// The object for a read of a required relationship that has no object. If the key path may be
  /// that of the relationship, the result is the target. Otherwise each class has one object as
  /// result: the probe's own object, if it has that class. So a loop along a relationship ends if
  /// its condition stops at an object that refers to itself. Nil if the object cannot be made.
  func requiredObject(of type: ManagedObject.Type) -> ManagedObject? {
    if case .relationship(let slot, nil) = onlyRead, let target = question.target,
      Swift.type(of: target) == type
    {
      read = .relationship(slot: slot, target)
      return target
    }
    readsOther = true
    if let object, Swift.type(of: object) == type { return object }
    if let known = requiredObjects[ObjectIdentifier(type)] { return known }
    let made = makeObject(type)
    requiredObjects[ObjectIdentifier(type)] = made
    return made
  }

  /// Releases the objects, because they retain their contexts, and the contexts retain this
  /// instance.
  func end() {
    object = nil
    question = Question()
    requiredObjects = [:]
  }
}
