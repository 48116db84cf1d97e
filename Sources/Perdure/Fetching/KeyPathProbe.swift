// Finds the property that an unknown key path reads. In code that is generic over a protocol,
// `\T.name` is the key path of the protocol's requirement. It reads the same value as
// `\Worker.name`, but the two are not equal.
//
// The probe inserts an object of the class into a private store in memory. In each of several
// rounds, it gives the attributes other values and reads the key path. The attribute whose
// value the key path returns in every round is the result.
//
//   K1. The probe calls no hook of the class and saves nothing. The relationships of its object are
//       empty.
//   K2. A computed property differs from every attribute in some round, so it gets no name: rounds
//       have no values, zeros, negative numbers, capitals and spaces too. A property that differs only
//       for other values, such as numbers above a million, cannot be recognized. Truth values are
//       identified by their sequence over all rounds. In the first two rounds they are all equal,
//       which rules out a negated one.
//   K3. Attributes of types with few values, such as enumerations, are not found.
//   K4. The entity of a class without a description is the one that the newest container gives it.

internal import PerdureModel
internal import PerdurePredicates
internal import Synchronization

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

extension QueryableObject {
  /// The name of the property that a key path reads.
  ///
  /// - Returns: The description of the key path if it reads no property. No property has such a
  ///   name, so the fetch rejects it.
  /// - Complexity: O(1) for a known key path; the first use of another one opens a store in memory.
  static func propertyName(of keyPath: AnyKeyPath) -> String {
    if let name = _propertyNamesByKeyPath[keyPath] { return name }
    let probed = (Self.self as? ManagedObject.Type).flatMap { KeyPathProbe.name(of: keyPath, in: $0) }
    return probed ?? "\(keyPath)"
  }
}

enum KeyPathProbe {
  // Unchecked: a key path is immutable, and is only compared here.
  private struct Question: Hashable, @unchecked Sendable {
    let type: ObjectIdentifier
    let keyPath: AnyKeyPath
  }

  private struct Knowledge {
    var answers: [Question: String?] = [:]
    /// The entities of classes that do not describe themselves, the root first, as the newest
    /// container has them.
    var entities: [ObjectIdentifier: [EntityDescription]] = [:]
  }

  private static let knowledge = Mutex(Knowledge())

  /// The values that the attributes get in a round.
  fileprivate enum Round {
    /// Different values. In the first two of these rounds all truth values are equal; each of the
    /// other eight has one bit of the slot's number.
    case marks(Int)
    /// Different negative numbers, and texts with capitals and spaces at both ends.
    case odd
    /// Zeros, empty texts and the like.
    case zeros
    /// No values in optional attributes, different values in others.
    case absent
  }

  private static let rounds = (0..<10).map(Round.marks) + [.odd, .zeros, .absent]

  /// The name of the attribute that a key path of a class reads; nil unless it reads exactly one.
  static func name(of keyPath: AnyKeyPath, in type: ManagedObject.Type) -> String? {
    let question = Question(type: ObjectIdentifier(type), keyPath: keyPath)
    if let known = knowledge.withLock({ $0.answers[question] }) { return known }
    // A class whose entities do not form a valid model gets no names; the fetch reports the key
    // path.
    let name = try? probe(keyPath, type)
    knowledge.withLock { $0.answers[question] = .some(name) }
    return name
  }

  /// Notes the entities of classes whose accessors use names and that do not describe themselves.
  ///
  /// - Parameter classes: The classes of a container by the names of their entities.
  static func note(_ classes: [String: ManagedObject.Type], of model: ManagedObjectModel) {
    // The probe's own container has no news.
    guard model.entitiesByName[destination] == nil else { return }
    for (name, type) in classes where type._entityName != name {
      guard let entity = model.entitiesByName[name] else { continue }
      let identifier = ObjectIdentifier(type)
      let entities = entity.lineage.reversed().map { plain($0) }
      knowledge.withLock { knowledge in
        knowledge.entities[identifier] = entities
        knowledge.answers = knowledge.answers.filter { $0.key.type != identifier }
      }
    }
  }

  private static func probe(_ keyPath: AnyKeyPath, _ type: ManagedObject.Type) throws -> String? {
    if continuesBehindProperty(keyPath, type) { return nil }
    let entities = entities(of: type)
    guard let name = entities.last?.name else { return nil }
    let container = PersistentContainer(
      name: "Probe",
      model: try ManagedObjectModel(entities + [EntityDescription(destination, properties: [])]),
      classesByEntityName: [name: type], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let found = attribute(keyPath, of: context.core.insertWithoutHooks(type))
    try container.close()
    return found
  }

  /// Whether a key path extends the key path of a property. The probe's object has no value there.
  private static func continuesBehindProperty(_ keyPath: AnyKeyPath, _ type: ManagedObject.Type) -> Bool {
    let text = "\(keyPath)"
    return type._propertyNamesByKeyPath.keys.contains { known in
      let front = "\(known)"
      return text.hasPrefix(front) && [".", "?", "!"].contains(text.dropFirst(front.count).first)
    }
  }

  private static func attribute(_ keyPath: AnyKeyPath, of object: ManagedObject) -> String? {
    let root: Any = object
    var candidates: [Int]?
    for round in rounds {
      var values: [Int: [Value]] = [:]
      for (slot, property) in object.shape.storage.properties.enumerated() {
        guard case .attribute(let kind) = property.form, !property.isOpaque,
          let value = Value(marking: slot, in: round, kind, isOptional: object.shape.isOptional(slot))
        else { continue }
        object.setAttributeValue(value, slot)
        // An accessor may read a zero where there is no value.
        values[slot] = [value] + (value == .null ? [Value(zeroOf: kind)].compactMap(\.self) : [])
      }
      guard let read = (root[keyPath: keyPath] as? any PredicateArgument)?.predicateValue else { return nil }
      candidates = (candidates ?? Array(values.keys)).filter { values[$0]?.contains(read) == true }
    }
    guard let candidates, candidates.count == 1 else { return nil }
    return object.shape.propertyName(candidates[0])
  }

  // MARK: A model for one class

  private static let destination = "PerdureProbeDestination"

  /// The entities of a class and of its superclasses, the root first. All relationships lead to the
  /// probe's own entity, which has no objects.
  private static func entities(of type: ManagedObject.Type) -> [EntityDescription] {
    if let known = knowledge.withLock({ $0.entities[ObjectIdentifier(type)] }) { return known }
    var entities: [EntityDescription] = []
    var next: AnyClass? = type
    while let type = next as? ManagedObject.Type {
      let own = type.entityDescription
      if !own.name.isEmpty, own.name != entities.first?.name {
        entities.insert(plain(own), at: 0)
      }
      next = _getSuperclass(type)
    }
    return entities
  }

  private static func plain(_ entity: EntityDescription) -> EntityDescription {
    var plain = EntityDescription(entity.name, properties: entity.properties.map(Self.plain))
    plain.superentityName = entity.superentityName
    return plain
  }

  private static func plain(_ property: PropertyDescription) -> PropertyDescription {
    switch property {
    case .attribute(let attribute):
      .attribute(
        AttributeDescription(
          attribute.name, attribute.type, isOptional: attribute.isOptional,
          valueTransformerName: attribute.valueTransformerName))
    case .relationship(let relationship):
      relationship.isToMany
        ? .toMany(relationship.name, destination, ordered: relationship.isOrdered)
        : .toOne(relationship.name, destination)
    case .composite: property
    }
  }
}

extension Value {
  /// The value of an attribute in a round; nil for kinds without different values. Truth values are
  /// unique only over all rounds (K2).
  fileprivate init?(marking slot: Int, in round: KeyPathProbe.Round, _ kind: FieldKind, isOptional: Bool) {
    switch round {
    case .marks(let round): self.init(slot, round, kind)
    case .odd: self.init(oddOf: kind, slot)
    case .zeros:
      guard let zero = Value(zeroOf: kind) ?? Value(slot, 10, kind) else { return nil }
      self = zero
    case .absent:
      guard let value = Value(slot, 11, kind) else { return nil }
      self = isOptional ? .null : value
    }
  }

  private init?(_ slot: Int, _ round: Int, _ kind: FieldKind) {
    let number = 1_000 + slot * 16 + round
    switch kind {
    case .bool: self = .bool(round < 2 ? round == 0 : (slot + 1) >> (round - 2) & 1 == 1)
    case .int16:
      guard Int16(exactly: number) != nil else { return nil }
      self = .integer(Int64(number))
    case .int32, .int64: self = .integer(Int64(number))
    case .float, .double: self = .double(Double(number) + 0.5)
    case .decimal: self = .decimal(Decimal(number) + Decimal(sign: .plus, exponent: -1, significand: 5))
    case .string: self = .string("probe \(number)")
    case .date: self = .date(Date(timeIntervalSinceReferenceDate: Double(number)))
    case .data: self = .data(Data("probe \(number)".utf8))
    case .uuid:
      let (high, low) = (UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number))
      self = .uuid(UUID(uuid: (0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, high, low)))
    case .url:
      guard let url = URL(string: "probe:\(number)") else { return nil }
      self = .url(url)
    case .absent, .reference: return nil
    }
  }

  private init?(oddOf kind: FieldKind, _ slot: Int) {
    guard let value = Value(slot, 12, kind) else { return nil }
    switch value {
    case .integer(let integer): self = .integer(-integer)
    case .double(let double): self = .double(-double)
    case .decimal(let decimal): self = .decimal(-decimal)
    case .string(let text): self = .string(" Odd \(text) ")
    case .date(let date):
      self = .date(Date(timeIntervalSinceReferenceDate: -date.timeIntervalSinceReferenceDate))
    default: self = value
    }
  }

  /// The zero of a kind; nil if it has none.
  fileprivate init?(zeroOf kind: FieldKind) {
    switch kind {
    case .bool: self = .bool(false)
    case .int16, .int32, .int64: self = .integer(0)
    case .float, .double: self = .double(0)
    case .decimal: self = .decimal(0)
    case .string: self = .string("")
    case .data: self = .data(Data())
    default: return nil
    }
  }
}

extension ContextCore {
  /// Inserts an object of a class without calling hooks or observers.
  fileprivate func insertWithoutHooks(_ type: ManagedObject.Type) -> ManagedObject {
    let object = type.init(seedForInserting(type))
    let overlay = ObjectOverlay(object.reference, object.shape, isNew: true, in: memory)
    tracker.insert(overlay)
    attach(overlay, to: object)
    object.header.pointee.wakefulness = .awake
    return object
  }
}
