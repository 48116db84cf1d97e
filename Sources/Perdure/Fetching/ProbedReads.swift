// What the code behind a key path reads, and what it gets.
//
// The object of a probe is gone, so the reads of its properties come to the context's rare paths
// (ContextCore+LastValues.swift), which ask this record.

internal import PerdurePredicates

/// The reads of one key path, round by round.
final class ProbedReads {
  /// The number of rounds. In the last one, optional attributes have no value.
  static let roundCount = ProbeValues.count + 1

  /// The object that the key path is read on; nil before it is made.
  var object: ManagedObject?
  /// Values for attributes of a type with few values, such as an enumeration; nil for other types.
  var cases: [Value]?
  private var round = 0
  private var readCount = 0
  private var slot: Int?
  private var given: Value = .null
  private var readsOther = false
  /// One object of each class that a required relationship leads to.
  private var standIns: [ObjectIdentifier: ManagedObject] = [:]
  private let makeStandIn: (ManagedObject.Type) -> ManagedObject?

  /// After so many reads in a round, values vary, so that a loop over them ends.
  private static let steadyReadsMax = 1_000

  init(_ makeStandIn: @escaping (ManagedObject.Type) -> ManagedObject?) {
    self.makeStandIn = makeStandIn
  }

  func begin(round: Int) {
    (self.round, readCount, slot, given, readsOther) = (round, 0, nil, .null, false)
  }

  /// The slot and the value of the only read of the round; nil unless it was one read of an
  /// attribute.
  var onlyRead: (slot: Int, value: Value)? {
    guard readCount == 1, !readsOther, let slot else { return nil }
    return (slot, given)
  }

  /// The value of a column. Notes the read.
  func value(_ slot: Int, of reader: ManagedObject) -> Value {
    readCount += 1
    let property = reader.shape.storage.properties[slot]
    guard case .attribute(let kind) = property.form, !property.isOpaque else {
      readsOther = true
      return .null
    }
    if reader === object { self.slot = slot } else { readsOther = true }
    let place = readCount > Self.steadyReadsMax ? readCount % Self.roundCount : round
    if place == Self.roundCount - 1 {
      given = reader.shape.isOptional(slot) ? .null : value(kind, 0) ?? .null
    } else {
      given = value(kind, place) ?? .null
    }
    return given
  }

  private func value(_ kind: FieldKind, _ place: Int) -> Value? {
    if let cases, readCount == 1, let fitting = cases[place % cases.count].stored(as: kind) { return fitting }
    return ProbeValues.value(of: kind, place)
  }

  /// Notes that the code asks for something that is no attribute.
  func noteOther() { readsOther = true }

  /// The object at the other end of a required relationship: always the same of a class, and the
  /// probe's own if it is of the class. So a walk that ends where an object leads to itself ends.
  func standIn(of type: ManagedObject.Type) -> ManagedObject? {
    readsOther = true
    if let object, Swift.type(of: object) == type { return object }
    if let known = standIns[ObjectIdentifier(type)] { return known }
    let made = makeStandIn(type)
    standIns[ObjectIdentifier(type)] = made
    return made
  }

  /// Releases the objects, which retain their contexts and so this record.
  func end() {
    object = nil
    standIns = [:]
  }
}

extension ContextCore {
  /// The context of an object that is gone: none. Lets a probe know that it was asked for.
  @inline(never)
  func contextOfGone() -> ContextCore? {
    probedReads?.noteOther()
    return nil
  }

  /// The walk over a relationship of an object that is gone.
  @inline(never)
  func walkOfGone() -> SiblingWalk {
    probedReads?.noteOther()
    return SiblingWalk()
  }
}
