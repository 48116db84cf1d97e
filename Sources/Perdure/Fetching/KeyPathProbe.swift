// Finds the property that an unknown key path reads. In code that is generic over a protocol,
// `\T.name` is the key path of the protocol's requirement. It reads the same value as
// `\Worker.name`, but the two are not equal.
//
// The probe makes an object of the class in a private store in memory. In each of several rounds,
// it gives the attributes other values, reads the key path, and records which properties the key
// path reads (ProbedReads.swift). A key path belongs to an attribute or a to-one relationship if
// every round read only this property, read it once, and returned its value. A key path belongs to
// a to-many relationship if it returns this relationship's view and reads nothing.
//
//   KP1. The probe calls no hook of the class and saves nothing.
//   KP2. A computed property has no name if it reads a second property, reads one property twice,
//        or changes the value in some round. One case is not detected: a function of one attribute
//        that returns all values of ProbeValues.swift unchanged. If a property is not optional and
//        reads by name, each of its reads gets a value, because `as!` without a value stops the
//        program. So `value(forKey: "nick") as? String ?? "none"` counts as the attribute.
//   KP3. Few reads of a property stop the program. A to-many relationship is empty, an optional
//        to-one relationship is nil, and a required one returns an object of the probe. Three
//        kinds of reads can lack a value, and then stop the program: a required transformable
//        attribute, a required transient attribute of any type, and a read by name with `as!`. The
//        message contains the name of the property or of its type. A path to an element of a
//        composite is recognized by its parts, without a probe.
//   KP4. If a class does not describe its entity, the probe uses the entity of the class in the
//        newest container. If the class has several entities there, the probe uses the last one in
//        the model.
//   KP5. An attribute of an enumeration is found if the enumeration is `CaseIterable` with several
//        cases.
//   KP6. A to-one relationship is found if the property's type is the class of its destination.

internal import PerdureModel
internal import PerdurePredicates
internal import Synchronization

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
  private struct ProbeKey: Hashable, @unchecked Sendable {
    let type: ObjectIdentifier
    let keyPath: AnyKeyPath
  }

  private struct ProbeCache {
    var answers: [ProbeKey: String?] = [:]
    /// For each class that does not describe its entity: the entity in the newest container and its
    /// superentities, the root first.
    var entities: [ObjectIdentifier: [EntityDescription]] = [:]
  }

  private static let knowledge = Mutex(ProbeCache())

  /// The name of the property that a key path of a class reads; nil unless it reads exactly one.
  static func name(of keyPath: AnyKeyPath, in type: ManagedObject.Type) -> String? {
    let question = ProbeKey(type: ObjectIdentifier(type), keyPath: keyPath)
    if let known = knowledge.withLock({ $0.answers[question] }) { return known }
    // A class whose entities do not form a valid model gets no names; the fetch reports the key
    // path.
    let name = element(keyPath, of: type) ?? (keyPath.isOneProperty ? try? probe(keyPath, type) : nil)
    knowledge.withLock { $0.answers[question] = .some(name) }
    return name
  }

  /// Records the entities of classes that do not describe them.
  ///
  /// - Parameter classes: The classes of a container by the names of their entities.
  static func note(_ classes: [String: ManagedObject.Type], of model: ManagedObjectModel) {
    // The container of a probe is ignored.
    guard model.entitiesByName[mark] == nil else { return }
    for entity in model.entities {
      guard let type = classes[entity.name], type._entityName != entity.name else { continue }
      let identifier = ObjectIdentifier(type)
      let entities = entity.lineage.reversed().map { plain($0) }
      knowledge.withLock { knowledge in
        knowledge.entities[identifier] = entities
        knowledge.answers = knowledge.answers.filter { $0.key.type != identifier }
      }
    }
  }

  /// The path of the composite's element that a key path reads; nil if it reads none.
  private static func element(_ keyPath: AnyKeyPath, of type: ManagedObject.Type) -> String? {
    for (front, name) in type._propertyNamesByKeyPath {
      if let path = element(keyPath, behind: front, name) { return path }
    }
    return nil
  }

  private static func element(_ keyPath: AnyKeyPath, behind front: AnyKeyPath, _ name: String) -> String? {
    guard let composite = Swift.type(of: front).valueType as? any CompositeAttributeValue.Type else {
      return nil
    }
    for (part, partName) in composite.compositeNames {
      guard let whole = front.appending(path: part) else { continue }
      let path = "\(name).\(partName)"
      if whole == keyPath { return path }
      if let deeper = element(keyPath, behind: whole, path) { return deeper }
    }
    return nil
  }

  private static func probe(_ keyPath: AnyKeyPath, _ type: ManagedObject.Type) throws -> String? {
    let entities = entities(of: type)
    guard !entities.isEmpty else { return nil }
    let probe = Probe()
    defer { probe.end() }
    let object = try probe.object(of: type, entities)
    probe.reads.object = object
    probe.reads.question = question(keyPath, of: object, probe.reads)
    return property(keyPath, of: object, probe.reads).map(object.shape.propertyName)
  }

  private static func question(
    _ keyPath: AnyKeyPath, of object: ManagedObject, _ reads: ProbedReads
  ) -> ProbedReads.Question {
    var question = ProbedReads.Question(
      cases: ProbedType.cases(of: keyPath), needsValue: !ProbedType.isOptional(keyPath))
    guard let type = ProbedType.objectClass(of: keyPath), let name = entities(of: type).last?.name else {
      return question
    }
    let slots = object.shape.relationships.filter {
      object.core.graph.shape(numbered: $0.destination).name == name
    }.map(\.slot)
    if slots.isEmpty { return question }
    question.target = reads.requiredObject(of: type)
    question.slots = Set(slots)
    return question
  }

  private static func property(
    _ keyPath: AnyKeyPath, of object: ManagedObject, _ reads: ProbedReads
  ) -> Int? {
    let root: Any = object
    var slot: Int?
    for round in 0..<ProbedReads.roundCount {
      reads.begin(round: round)
      let result = root[keyPath: keyPath]
      guard let found = property(result, of: object, reads), slot == nil || slot == found else { return nil }
      slot = found
    }
    return slot
  }

  /// The slot of the property whose value the round returned; nil if the result is not the value of
  /// one property.
  private static func property(_ result: Any?, of object: ManagedObject, _ reads: ProbedReads) -> Int? {
    if let view = result as? any RelationshipView {
      return reads.isEmpty && view.source.owner === object ? view.source.slot : nil
    }
    switch reads.onlyRead {
    case .attribute(let slot, let given):
      guard let value = (result as? any PredicateArgument)?.predicateValue else { return nil }
      return isSame(value, given, object.shape.storage.properties[slot].form) ? slot : nil
    case .relationship(let slot, let given):
      let isGiven =
        object.shape.relationship(slot).isToMany
        ? ProbedType.objects(in: result) == (given.map { [$0] } ?? [])
        : result as? ManagedObject === given
      return isGiven ? slot : nil
    case nil: return nil
    }
  }

  private static func isSame(_ result: Value, _ value: Value, _ form: PropertyStorage.Form) -> Bool {
    if result == value { return true }
    if case (.double(let left), .double(let right)) = (result, value) { return left.isNaN && right.isNaN }
    guard value == .null, case .attribute(let kind) = form else { return false }
    return result == ProbeValues.zero(of: kind)
  }

  // MARK: A model for one class

  /// The containers of a probe, one for each object that it has made.
  private final class Probe {
    private var containers: [(container: PersistentContainer, core: ContextCore)] = []
    private(set) lazy var reads = ProbedReads { [unowned self] in requiredObject(of: $0) }

    private func requiredObject(of type: ManagedObject.Type) -> ManagedObject? {
      let known = KeyPathProbe.entities(of: type)
      // A class without an entity reads its properties by name, and finds none.
      let entities = known.isEmpty ? [EntityDescription("PerdureProbeObject", properties: [])] : known
      return try? object(of: type, entities)
    }

    /// A new object of a class. Its properties have the values that `reads` provides.
    func object(of type: ManagedObject.Type, _ entities: [EntityDescription]) throws -> ManagedObject {
      guard let name = entities.last?.name else { preconditionFailure("A class without an entity.") }
      let container = PersistentContainer(
        name: "Probe",
        model: try ManagedObjectModel(entities + destinations(of: entities)),
        classesByEntityName: [name: type], description: .inMemory)
      try container.loadPersistentStores()
      let core = container.newContext().core
      containers.append((container, core))
      core.reading.retirement.probedReads = reads
      guard let shape = core.graph.shape(of: type),
        let object = core.reading.retirement.absentInstance(of: shape.number)
      else {
        preconditionFailure("The probe's container does not know \(type).")
      }
      return object
    }

    func end() {
      reads.end()
      for (_, core) in containers { core.reading.retirement.probedReads = nil }
    }
  }

  /// The name of an entity that only models of probes have.
  private static let mark = "PerdureProbeDestination"

  /// The destination entities of relationships, without properties.
  private static func destinations(of entities: [EntityDescription]) -> [EntityDescription] {
    let names = entities.flatMap(\.relationships).map(\.destinationEntityName) + [mark]
    return Set(names).subtracting(entities.map(\.name)).sorted().map { EntityDescription($0, properties: []) }
  }

  /// The entities of a class and of its superclasses, the root first. Relationships have no
  /// inverse.
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
          isTransient: attribute.type == .undefined, valueTransformerName: attribute.valueTransformerName))
    case .relationship(let relationship):
      relationship.isToMany
        ? .toMany(relationship.name, relationship.destinationEntityName, ordered: relationship.isOrdered)
        : .toOne(relationship.name, relationship.destinationEntityName)
    case .composite: property
    }
  }
}

/// The static type of a key path's value.
private enum ProbedType {
  /// The values of an enumeration; nil for other types, and for those without several cases.
  static func cases(of keyPath: AnyKeyPath) -> [Value]? {
    guard let cases = keyPath.plainValueType as? any (AttributeValue & CaseIterable).Type else { return nil }
    let values = values(cases)
    return values.count > 1 ? values : nil
  }

  private static func values<T: AttributeValue & CaseIterable>(_ type: T.Type) -> [Value] {
    type.allCases.map(\.predicateValue)
  }

  static func isOptional(_ keyPath: AnyKeyPath) -> Bool {
    Swift.type(of: keyPath).valueType is any AnyOptional.Type
  }

  /// The class of the value, or of its elements; nil if the value is neither an object nor a
  /// collection of objects.
  static func objectClass(of keyPath: AnyKeyPath) -> ManagedObject.Type? {
    let type = keyPath.plainValueType
    if let object = type as? ManagedObject.Type { return object }
    if let elements = type as? any QueryableCollection.Type { return elementClass(elements) }
    return (type as? any ObjectList.Type)?.elementClass
  }

  private static func elementClass<C: QueryableCollection>(_ type: C.Type) -> ManagedObject.Type? {
    C.QueryElement.self as? ManagedObject.Type
  }

  /// The objects of a set or an array; nil for other values.
  static func objects(in value: Any?) -> [ManagedObject]? {
    (value as? [ManagedObject]) ?? (value as? Set<ManagedObject>).map(Array.init)
  }
}

private protocol ObjectList {
  static var elementClass: ManagedObject.Type { get }
}

extension Array: ObjectList where Element: ManagedObject {
  fileprivate static var elementClass: ManagedObject.Type { Element.self }
}

/// A live view of a to-many relationship.
private protocol RelationshipView {
  var source: ToManySource { get }
}

extension ToMany: RelationshipView {}
extension OrderedToMany: RelationshipView {}

extension AnyKeyPath {
  /// Whether the key path has one component. A longer one also accesses the value of a property,
  /// and may force-unwrap it.
  ///
  /// The description of a component without a known name is `<computed 0x… (Type)>`.
  fileprivate var isOneProperty: Bool {
    let text = "\(self)"
    let front = "\\\(type(of: self).rootType)."
    guard text.hasPrefix(front) else { return true }
    var depth = 0
    for (index, character) in text.dropFirst(front.count).enumerated() {
      switch character {
      case "<", "(": depth += 1
      case ">", ")": depth -= 1
      case ".", "?", "!", "[": if depth == 0, index > 0 { return false }
      default: break
      }
    }
    return true
  }
}
