import Foundation
import PerdureModel
import PerdurePredicates
import PerdureTestSupport

@testable import PerdureModelFiles

/// Random valid models. Their properties have the order and form that models have after reading a
/// file.
struct RandomModels {
  var random: SeededGenerator

  private static let words = ["name", "a2", "a10", "B", "straße", "Größe", "x_y", "count2", "zip", "Value"]
  private static let texts = ["", "v", "a \"b\" <c> & 'd'", "zwei\nZeilen\t", "é", " x ", "]]>", "&amp;"]

  private mutating func int(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

  private mutating func text() -> String { random.pick(Self.texts) }

  private mutating func name() -> String { random.pick(Self.words) + "\(int(0...99))" }

  private mutating func names(_ count: Int) -> [String] {
    var names: Set<String> = []
    while names.count < count { names.insert(name()) }
    return names.sorted(by: precedes)
  }

  private func precedes(_ left: String, _ right: String) -> Bool {
    NaturalOrder.precedes(left, right)
  }

  private mutating func info() -> [String: String] {
    guard random.chance(20) else { return [:] }
    return Dictionary((0...int(0...2)).map { _ in (name(), text()) }, uniquingKeysWith: { $1 })
  }

  private mutating func maybe(_ value: String) -> String? { random.chance(20) ? value + name() : nil }

  // MARK: Models

  mutating func model() throws -> ManagedObjectModel {
    let entityNames = names(int(1...5)).map { "E" + $0 }.sorted(by: precedes)
    var entities: [EntityDescription] = []
    for (number, name) in entityNames.enumerated() {
      var entity = EntityDescription(
        name, superentity: number > 0 && random.chance(30) ? entityNames[0] : nil,
        isAbstract: random.chance(20),
        className: random.pick([name, ".\(name)", "M.\(name)", "ManagedObject"]),
        properties: [])
      entity.renamingIdentifier = maybe("old\(number)")
      entity.versionHashModifier = maybe("hash")
      entity.userInfo = info()
      entity.properties = names(int(0...6)).map { property("e\(number)\($0)") }
      entities.append(entity)
    }
    for number in entities.indices { addRelationships(to: number, &entities) }
    for number in entities.indices where random.chance(40) { addDerived(to: &entities[number], number) }
    for number in entities.indices {
      entities[number].properties = sorted(entities[number].properties)
      addIndexes(to: &entities[number], number)
    }
    let plain = entities
    for number in entities.indices where random.chance(30) {
      entities[number].fetchedProperties = [
        FetchedPropertyDescription(
          "f\(number)", request(plain, "$FETCH_SOURCE != nil"), isCached: random.chance(50), userInfo: info()
        )
      ]
    }
    return try ManagedObjectModel(
      entities, configurations: random.chance(30) ? ["All": entityNames, "None": []] : [:],
      versionIdentifiers: random.chance(50) ? [name()] : [],
      templates: names(int(0...2)).map {
        FetchRequestTemplate($0, request(entities, "$a == \"<\" OR TRUEPREDICATE"))
      })
  }

  /// A request with random settings.
  private mutating func request(_ entities: [EntityDescription], _ predicate: String)
    -> FetchRequestDescription
  {
    let entity = random.pick(entities)
    var request = FetchRequestDescription(
      entity.name, random.chance(50) ? predicate : nil, fetchLimit: random.pick([0, 7]))
    request.fetchOffset = random.pick([0, 3])
    request.fetchBatchSize = random.pick([0, 20])
    request.includesSubentities = random.chance(70)
    request.includesPendingChanges = random.chance(70)
    request.includesPropertyValues = random.chance(70)
    request.returnsObjectsAsFaults = random.chance(70)
    request.returnsDistinctResults = random.chance(30)
    let sortable = entity.attributes.filter { !$0.isTransient && $0.type != .transformable }
    request.sortDescriptors = sortable.prefix(int(0...2)).map {
      FetchOrder($0.name, ascending: random.chance(50))
    }
    request.relationshipKeyPathsForPrefetching = entity.relationships.filter { !$0.isTransient }
      .prefix(int(0...2)).map(\.name)
    return request
  }

  /// Attributes and composites by name, then relationships by name.
  private func sorted(_ properties: [PropertyDescription]) -> [PropertyDescription] {
    func isRelationship(_ property: PropertyDescription) -> Bool {
      if case .relationship = property { true } else { false }
    }
    let byName = properties.sorted { precedes($0.name, $1.name) }
    return byName.filter { !isRelationship($0) } + byName.filter(isRelationship)
  }

  private mutating func addRelationships(to number: Int, _ entities: inout [EntityDescription]) {
    for link in 0..<int(0...2) {
      let other = int(0...entities.count - 1)
      let names = ["r\(number)x\(link)", "s\(number)x\(link)"]
      let hasInverse = random.chance(80)
      let isTransient = random.chance(15)
      entities[number].properties.append(
        relationship(names[0], entities[other].name, hasInverse ? names[1] : nil, isTransient: isTransient))
      if hasInverse {
        entities[other].properties.append(
          relationship(names[1], entities[number].name, names[0], isTransient: isTransient))
      }
    }
  }

  /// Adds attributes that are derived from others: a copy, a folded text, a count, the save time.
  private mutating func addDerived(to entity: inout EntityDescription, _ number: Int) {
    let texts = entity.attributes.filter { $0.type == .string && !$0.isTransient }
    let many = entity.relationships.filter { $0.isToMany && !$0.isTransient && $0.inverseName != nil }
    var derivations: [(type: AttributeType, text: String)] = [(.date, "now()")]
    if let text = texts.first {
      derivations += [(.string, text.name), (.string, "canonical:(\(text.name))")]
    }
    if let link = many.first { derivations.append((.int64, "\(link.name).@count")) }
    let (type, derivation) = random.pick(derivations)
    var attribute = AttributeDescription("d\(number)", type)
    attribute.derivation = derivation
    attribute.userInfo = info()
    entity.properties.append(.attribute(attribute))
  }

  private mutating func relationship(
    _ name: String, _ destination: String, _ inverse: String?, isTransient: Bool
  ) -> PropertyDescription {
    let isToMany = random.chance(60)
    let most = isToMany ? random.pick([0, 0, 5]) : 1
    var relationship = RelationshipDescription(
      name, to: destination, inverse: inverse, minCount: random.pick([0, 1]), maxCount: most,
      isOptional: random.chance(70), deleteRule: random.pick(DeleteRule.allCases),
      isOrdered: isToMany && !isTransient && random.chance(30))
    relationship.isTransient = isTransient
    relationship.renamingIdentifier = maybe("old\(name)")
    relationship.versionHashModifier = maybe("hash")
    relationship.userInfo = info()
    return .relationship(relationship)
  }

  private mutating func property(_ name: String) -> PropertyDescription {
    guard random.chance(15) else { return .attribute(attribute(name)) }
    let isNested = random.chance(40)
    var elements: [PropertyDescription] = names(int(1...3)).shuffled(using: &random).map {
      .attribute(attribute($0, isElement: true))
    }
    if isNested { elements.append(.composite("inside", [.attribute(attribute("leaf", isElement: true))])) }
    var composite = CompositeAttributeDescription(name, elements, isOptional: random.chance(50))
    composite.renamingIdentifier = maybe("old\(name)")
    composite.userInfo = info()
    return .composite(composite)
  }

  private mutating func attribute(_ name: String, isElement: Bool = false) -> AttributeDescription {
    var attribute = AttributeDescription(
      name, random.pick(AttributeType.allCases.filter { $0 != .undefined }), isOptional: random.chance(60))
    attribute.isTransient = !isElement && random.chance(10)
    if attribute.isTransient, random.chance(50) { attribute.type = .undefined }
    attribute.renamingIdentifier = maybe("old\(name)")
    attribute.versionHashModifier = maybe("hash")
    attribute.userInfo = info()
    if attribute.type == .transformable { attribute.valueTransformerName = maybe("Transformer") }
    attribute.rules = rules(attribute.type)
    if random.chance(40) { attribute.defaultValue = value(attribute.type) }
    if attribute.isTransient, [.now, .newUUID].contains(attribute.defaultValue) {
      attribute.defaultValue = nil
    }
    return attribute
  }

  private mutating func rules(_ type: AttributeType) -> [ValidationRule] {
    var rules: [ValidationRule] = []
    switch type {
    case .int16, .int32, .int64: rules = [.minimum(.integer(-5)), .maximum(.integer(Int64(int(0...9))))]
    case .double, .float: rules = [.minimum(.double(-0.5)), .maximum(.double(Double(int(0...9))))]
    case .decimal: rules = [.minimum(.decimal(-3)), .maximum(.decimal(Decimal(int(0...9)) / 8))]
    case .date: rules = [.minimum(.date(Date(timeIntervalSinceReferenceDate: Double(int(-9...9)) / 8)))]
    case .string, .uri:
      rules = [.minimumLength(int(0...2)), .maximumLength(int(3...9)), .pattern("[a-z\"<]*")]
    case .binary: rules = [.minimumLength(1)]
    default: break
    }
    if type == .string, let even = try? FetchPredicate(format: "SELF != 'it''s' AND SELF != \"\\\"\"") {
      rules.append(.predicate(even, message: random.pick(["", "must be \"good\""])))
      rules.append(.predicate(even, message: "twice"))
    }
    return rules.filter { _ in random.chance(30) }
  }

  private mutating func value(_ type: AttributeType) -> DefaultValue? {
    switch type {
    case .int16: .integer(Int64(Int16.random(in: .min ... .max, using: &random)))
    case .int32: .integer(Int64(Int32.random(in: .min ... .max, using: &random)))
    case .int64: .integer(Int64.random(in: .min ... .max, using: &random))
    case .double: .double(random.pick([0, -0.1, 1e300, .infinity, Double(bitPattern: random.next() >> 2)]))
    case .float: .double(Double(random.pick([Float(0.1), -3, .greatestFiniteMagnitude])))
    case .decimal: .decimal(Decimal(int(-1_000_000...1_000_000)) / 128)
    case .string: .string(text())
    case .boolean: .bool(random.chance(50))
    case .date: random.pick([.now, .date(Date(timeIntervalSinceReferenceDate: Double(int(-99...99)) / 16))])
    case .uuid:
      random.pick([.newUUID, UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F").map { .uuid($0) }])
    case .uri: URL(string: "https://example.com/a?b=1&c=\"").map { .url($0) }
    case .binary, .transformable: .data(Data([0, 255, 7]))
    case .undefined, .objectID: nil
    }
  }

  private mutating func addIndexes(to entity: inout EntityDescription, _ number: Int) {
    let stored = entity.attributes.filter {
      !$0.isTransient && $0.type != .transformable && $0.derivation == nil
    }
    for index in 0..<int(0...2) where !stored.isEmpty {
      let elements = stored.shuffled(using: &random).prefix(2).map { attribute in
        let isFunction = attribute.type == .string && random.chance(50)
        return FetchIndexDescription.Element(
          isFunction ? "canonical:(\(attribute.name))" : attribute.name, ascending: random.chance(70))
      }
      entity.indexes.append(FetchIndexDescription("i\(number)x\(index)", Array(elements)))
    }
    if let text = stored.first(where: { $0.type == .string }), random.chance(50) {
      entity.indexes.append(
        FetchIndexDescription("p\(number)", [.init(text.name)], where: "\(text.name) != \"a<b\""))
    }
    let names = stored.map(\.name)
    if names.count > 1, random.chance(50) {
      entity.uniquenessConstraints = [[names[1], names[0]], [names[0]]]
    }
  }
}
