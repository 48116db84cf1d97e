// Checks whether the rows and links of a store form a consistent graph. The check needs only the
// stored model, so it works on any store, without the program that wrote it.
//
// Invariants of a graph
//   G1  every row can be decoded as a row of its entity, in a layout of the stored model
//   G2  a to-one reference refers to a row of the destination or of one of its subentities; the row
//       may be absent if the inverse has the delete rule noAction
//   G3  a link's ends are rows of the entities that the relationship connects
//   G4  no two objects have the same values in a uniqueness constraint
//   G5  in a one-to-one relationship, each object has at most one partner; a relationship that is
//       its own inverse is the same at both ends
//   G6  the number of objects in a relationship is within its limits, and at least one if it is not
//       optional
//   G7  an object with an entry in an ordered relationship is a member of it, and the entry's value
//       is an order key
//
// RelationshipChecks.swift checks G5 and G6, and OrderChecks.swift checks G7. The engine checks
// that the indexes match the rows, including derived counts (V4 of its verification). The engine
// also checks G4 (V5): it reports index and key, and this check reports objects, properties and
// values.

internal import PerdureLog
internal import PerdurePredicates

/// The result of a graph's verification.
public struct GraphVerificationReport: Sendable {
  /// A finding.
  public struct Finding: Sendable, CustomStringConvertible {
    /// The number of the invariant, 1 to 7.
    public let invariant: Int
    /// The object, the link or the constraint that violates the invariant.
    public let place: String
    /// The problem.
    public let message: String

    /// One line for a log.
    public var description: String { "G\(invariant) at \(place): \(message)" }
  }

  /// The findings; empty for an intact graph.
  public internal(set) var findings: [Finding] = []
  /// The number of members without an order key in ordered relationships. Such members follow the
  /// others. This is not damage.
  public internal(set) var membersWithoutPlace = 0
  /// The number of checked rows of all entities, including unreadable rows.
  public internal(set) var rows = 0
  /// The number of checked links of many-to-many relationships.
  public internal(set) var links = 0
  /// The number of references to deleted objects that the delete rule noAction left. Such
  /// references are not damage, because the program must handle them.
  public internal(set) var referencesLeft = 0

  /// Whether there are no findings.
  public var isClean: Bool { findings.isEmpty }
}

/// One verification of one view of a store.
package struct GraphVerification {
  private let view: any StateReader
  private let schema: StoreSchema
  private let model: ManagedObjectModel
  private var report = GraphVerificationReport()
  /// The number of findings after which each check ends at its next row or entry.
  private let findingsMax: Int
  private let steps: VerificationSteps
  private let relationships: RelationshipChecks

  /// - Parameter shouldContinue: Called at intervals with the number of checked rows and entries,
  ///   and their total. Returning false cancels.
  package init(
    _ view: any StateReader, _ model: ManagedObjectModel, findingsMax: Int = 1000,
    shouldContinue: ((_ done: UInt64, _ total: UInt64) -> Bool)? = nil
  ) {
    let schema = view.schema
    self.view = view
    self.schema = schema
    self.model = model
    self.findingsMax = findingsMax
    relationships = RelationshipChecks(view, schema, model)
    steps = VerificationSteps(
      of: shouldContinue == nil ? 0 : Self.stepCount(view, schema, relationships.pairs), shouldContinue)
  }

  /// The number of rows and of entries to check. Rows and entries that cannot be counted count as
  /// 0.
  private static func stepCount(
    _ view: any StateReader, _ schema: StoreSchema, _ pairs: [RelationshipChecks.Pair]
  ) -> Int {
    let rows = schema.entities.compactMap { $0 }.filter { $0.layouts != nil }
      .reduce(0) { $0 + ((try? view.rowCount(entity: $1.number)) ?? 0) }
    return schema.indexes.indices.reduce(rows) { sum, position in
      guard schema.indexes[position].isVerified || pairs.contains(where: { $0.index.rawValue == position })
      else { return sum }
      return sum + ((try? view.entryCount(StoreIndex(rawValue: position), .all)) ?? 0)
    }
  }

  /// Reads every row and follows every reference and link. Unreadable data is a finding.
  package consuming func run() -> GraphVerificationReport {
    for entity in schema.entities where !steps.isStopped {
      guard let entity, entity.layouts != nil else { continue }
      attempt(1, entity.name) { try $0.checkRows(of: entity) }
    }
    for position in schema.indexes.indices where !steps.isStopped {
      let index = StoreIndex(rawValue: position)
      if case .links(let property) = schema.indexes[position].kind {
        attempt(3, schema.indexes[position].name) { try $0.checkLinks(index, property) }
      } else if schema.indexes[position].isUnique {
        attempt(4, schema.name(ofConstraint: index)) { try $0.checkUniqueness(index) }
      }
    }
    for check in OrderCheck.all(of: schema) where !steps.isStopped {
      attempt(7, check.name) { try $0.checkOrder(check) }
    }
    for pair in relationships.pairs where !steps.isStopped {
      attempt(5, pair.name) { try $0.checkPairs(pair) }
    }
    return report
  }

  private mutating func attempt(_ invariant: Int, _ place: String, _ check: (inout Self) throws -> Void) {
    do {
      try check(&self)
    } catch {
      report.findings.append(
        .init(invariant: invariant, place: place, message: "cannot be read further: \(error)"))
    }
  }

  private mutating func checkRows(of entity: EntityStorage) throws {
    let references = entity.properties.enumerated().compactMap { slot, property -> (Int, PropertyStorage)? in
      guard case .toOne = property.form else { return nil }
      return (slot, property)
    }
    var found = report
    defer { report = found }
    let rows = schema.rows
    try view.visitEveryRow(entity: entity.number) { reference, row in
      found.rows += 1
      do {
        let fields = try rows.view(row.get().bytes, of: reference)
        for (slot, property) in references {
          try check(property, at: slot, of: reference, fields, in: entity, &found)
        }
        checkLimits(of: reference, fields, &found)
      } catch {
        found.findings.append(.init(invariant: 1, place: name(reference), message: "\(error)"))
      }
      return found.findings.count < findingsMax && steps.next()
    }
  }

  private func check(
    _ property: PropertyStorage, at slot: Int, of reference: ObjectReference, _ row: RowView,
    in entity: EntityStorage, _ found: inout GraphVerificationReport
  ) throws {
    let field = row.fields[slot]
    guard field.kind != .absent, row.isPresent(field) else { return }
    let target = row.reference(field)
    if try isGone(target, property.destination), isLeftBehind(property, in: entity) {
      found.referencesLeft += 1
      return
    }
    if let problem = try problem(with: target, as: property.destination) {
      found.findings.append(
        .init(
          invariant: 2, place: name(reference),
          message: "\(property.name) leads to \(name(target)), which \(problem)"))
    }
  }

  private func checkLimits(
    of reference: ObjectReference, _ row: RowView, _ found: inout GraphVerificationReport
  ) {
    do {
      for problem in try relationships.brokenLimits(of: reference, row) {
        found.findings.append(.init(invariant: 6, place: name(reference), message: problem))
      }
    } catch {
      found.findings.append(
        .init(invariant: 6, place: name(reference), message: "cannot be counted: \(error)"))
    }
  }

  /// Checks G5. References to the same object are adjacent in the index.
  private mutating func checkPairs(_ pair: RelationshipChecks.Pair) throws {
    var found = report
    defer { report = found }
    var last: (target: ObjectReference, source: ObjectReference)?
    try view.visitEntries(pair.index, .all, descending: false) { key, source in
      guard key.count == 8 else { return found.findings.count < findingsMax && steps.next() }
      let target = ObjectReference(rawValue: UInt64(bigEndian: key.loadUnaligned(as: UInt64.self)))
      if let last, last.target == target {
        found.findings.append(
          .init(
            invariant: 5, place: name(target),
            message: "both \(name(last.source)) and \(name(source)) refer to it by \(pair.name)"))
      }
      last = (target, source)
      if try relationships.isOneSided(pair, source, target), try !isGone(target, pair.destination) {
        found.findings.append(
          .init(
            invariant: 5, place: name(source),
            message: "\(pair.name) leads to \(name(target)), whose \(pair.name) does not lead back"))
      }
      return found.findings.count < findingsMax && steps.next()
    }
  }

  private mutating func checkOrder(_ check: OrderCheck) throws {
    var found = report
    defer { report = found }
    let placed = try check.visit(view) { owner, member, problem in
      if let problem {
        found.findings.append(
          .init(
            invariant: 7, place: "\(name(owner)).\(check.name)", message: "\(name(member)) \(problem)"))
      }
      return found.findings.count < findingsMax && steps.next()
    }
    if let placed { found.membersWithoutPlace += max(0, try view.entryCount(check.members, .all) - placed) }
  }

  private mutating func checkLinks(_ index: StoreIndex, _ property: UInt32) throws {
    let ends = endpoints(of: property)
    var found = report
    defer { report = found }
    try view.visitEntries(index, .all, descending: false) { key, target in
      found.links += 1
      guard key.count == 8 else {
        found.findings.append(.init(invariant: 3, place: "a link", message: "its key has \(key.count) bytes"))
        return found.findings.count < findingsMax && steps.next()
      }
      let source = ObjectReference(rawValue: UInt64(bigEndian: key.loadUnaligned(as: UInt64.self)))
      for (end, entity) in [(source, ends.source), (target, ends.target)] {
        guard let problem = try problem(with: end, as: entity) else { continue }
        found.findings.append(
          .init(
            invariant: 3, place: "\(name(source)) to \(name(target))", message: "\(name(end)) \(problem)"))
      }
      if try relationships.isOneSided(index, source, target) {
        found.findings.append(
          .init(
            invariant: 5, place: "\(name(source)) to \(name(target))",
            message: "the link does not lead back, and its relationship is its own inverse"))
      }
      return found.findings.count < findingsMax && steps.next()
    }
  }

  /// Checks G4. Entries with the same key are adjacent.
  private mutating func checkUniqueness(_ index: StoreIndex) throws {
    var found = report
    defer { report = found }
    var last: (key: [UInt8], holder: ObjectReference)?
    try view.visitEntries(index, .all, descending: false) { key, reference in
      if let last, last.key.elementsEqual(key) {
        found.findings.append(
          .init(
            invariant: 4, place: schema.name(ofConstraint: index),
            message: "\(name(last.holder)) and \(name(reference)) have the same \(words(index, reference))"))
      } else {
        last = (Array(key), reference)
      }
      return found.findings.count < findingsMax && steps.next()
    }
  }

  /// An object's values of a uniqueness constraint.
  private func words(_ index: StoreIndex, _ reference: ObjectReference) -> String {
    let entity = schema.entity(reference.entityNumber)
    let slots = (schema.definition(index).components ?? []).compactMap {
      entity.slot(ofProperty: $0.property)
    }
    let source = RowSource(reference, RowGraph(schema: schema, view: view))
    let values = slots.map { slot -> Value in
      if case .value(let value)? = try? source.value(of: entity.properties[slot].name) {
        value
      } else {
        .null
      }
    }
    return PerdureError.Conflict.words(slots.map { entity.properties[$0].name }, values)
  }

  private func endpoints(of property: UInt32) -> (source: UInt16?, target: UInt16?) {
    for case let entity? in schema.entities {
      if let slot = entity.slot(ofProperty: property) {
        // The declaring entity is the one with the most concrete entities, because these include
        // its subentities.
        let declaring = schema.entities.compactMap { $0 }
          .filter { $0.slot(ofProperty: property) != nil }.max { $0.concrete.count < $1.concrete.count }
        return (declaring?.number ?? entity.number, entity.properties[slot].destination)
      }
    }
    return (nil, nil)
  }

  private func problem(with target: ObjectReference, as destination: UInt16?) throws -> String? {
    guard let destination else { return "belongs to a relationship that the model does not have" }
    guard schema.entity(destination).concrete.contains(target.entityNumber) else {
      return "is not an object of the entity \(schema.entity(destination).name)"
    }
    return try view.version(of: target) == nil ? "does not exist" : nil
  }

  /// Whether the delete rule of the inverse leaves the reference unchanged when its target is
  /// deleted.
  private func isLeftBehind(_ property: PropertyStorage, in entity: EntityStorage) -> Bool {
    guard let inverse = model.schema(named: entity.name)?.property(named: property.name)?.inverse else {
      return false
    }
    return model.schemas[inverse.entity].properties[inverse.slot].deleteRule == .noAction
  }

  private func isGone(_ target: ObjectReference, _ destination: UInt16?) throws -> Bool {
    guard let destination, schema.entity(destination).concrete.contains(target.entityNumber) else {
      return false
    }
    return try view.version(of: target) == nil
  }

  private func name(_ reference: ObjectReference) -> String {
    let number = Int(reference.entityNumber)
    let entity = number < schema.entities.count ? schema.entities[number]?.name : nil
    return "\(entity ?? "entity \(number)")/p\(reference.id)"
  }
}

extension IndexDefinition {
  /// Whether the entries of the index are checked separately: links, orders and unique values.
  fileprivate var isVerified: Bool {
    switch kind {
    case .links, .orders: return true
    default: break
    }
    return isUnique
  }
}
