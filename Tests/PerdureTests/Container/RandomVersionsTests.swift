import Foundation
import Perdure
import PerdureLog
import PerdureModel
import PerdureTestSupport
import Testing

/// A property of a random model.
private struct Grown {
  let name: String
  let type: AttributeType
  let isOptional: Bool
  /// Whether the parent entity declares the property.
  let isInherited: Bool
  /// Whether the property is the element `v` of a composite attribute.
  let isElement: Bool
  var defaultValue: DefaultValue?

  /// The path in requests.
  var path: String { isElement ? "\(name).v" : name }

  var description: PropertyDescription {
    let attribute = AttributeDescription(
      isElement ? "v" : name, type, isOptional: isOptional, defaultValue: defaultValue)
    return isElement
      ? .composite(name, [.attribute(attribute)], optional: isOptional) : .attribute(attribute)
  }
}

/// Opens a store with a sequence of models. Each model has more properties and other defaults. A
/// list in memory has the expected values: the value that was set, or the first default of the
/// property.
@Suite("Old objects keep the defaults of the model that added their properties")
struct RandomVersionsTests {
  private static let types: [AttributeType] = [
    .int16, .int32, .int64, .double, .float, .decimal, .string, .boolean, .date, .uuid, .binary, .uri,
  ]

  @Test("Under all later models, every query shows the first default of each property", arguments: 0..<12)
  func agree(_ round: Int) throws {
    let seed = SeededGenerator.seedFromEnvironment() &+ UInt64(round)
    var run = try Run(SeededGenerator(seed: seed))
    for _ in 0..<5 { try run.nextVersion() }
    #expect(run.problems.isEmpty, "PERDURE_SEED=\(seed) \(run.problems.prefix(5))")
  }

  private struct Run {
    var random: SeededGenerator
    let directory: TemporaryDirectory
    var properties: [Grown] = []
    /// The expected values of each object by path. The keys are the names of the objects.
    var objects: [String: [String: Value]] = [:]
    var version = 0
    var problems: [String] = []

    init(_ random: SeededGenerator) throws {
      self.random = random
      directory = try TemporaryDirectory()
    }

    // MARK: Models

    func model() throws -> ManagedObjectModel {
      var (base, sub) = (entity("Base", isInherited: true), entity("Sub", isInherited: false))
      base.properties += [.string("name"), .toOne("owner", "Owner", inverse: "items")]
      sub.superentityName = "Base"
      var owner = EntityDescription(
        "Owner", properties: [.string("title"), .toMany("items", "Base", inverse: "owner")])
      for property in properties where property.isInherited && property.type == .int64 && !property.isElement
      {
        owner.properties.append(.derived("sum_\(property.name)", "items.\(property.name).@sum"))
        owner.indexes.append(FetchIndexDescription(on: "sum_\(property.name)"))
      }
      return try ManagedObjectModel([base, sub, owner])
    }

    private func entity(_ name: String, isInherited: Bool) -> EntityDescription {
      let own = properties.filter { $0.isInherited == isInherited }
      var entity = EntityDescription(name, properties: own.map(\.description))
      for (number, property) in own.enumerated() where (number + version) % 3 != 0 {
        entity.indexes.append(FetchIndexDescription(on: property.path))
      }
      return entity
    }

    private mutating func grow() {
      for position in properties.indices where properties[position].defaultValue != nil {
        properties[position].defaultValue = value(of: properties[position].type)
      }
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let type = random.pick(RandomVersionsTests.types)
        let hasDefault = random.chance(80)
        let property = Grown(
          name: "p\(properties.count)", type: type, isOptional: !hasDefault || random.chance(40),
          isInherited: random.chance(60), isElement: random.chance(20),
          defaultValue: hasDefault ? value(of: type) : nil)
        properties.append(property)
        // The model that adds the property fixes its default.
        for name in objects.keys where property.isInherited || name.hasPrefix("Sub") {
          objects[name]?[property.path] = property.defaultValue?.value ?? .null
        }
      }
    }

    private mutating func value(of type: AttributeType) -> DefaultValue {
      let number = Int64.random(in: 0...3, using: &random)
      return switch type {
      case .int16, .int32, .int64: .integer(number)
      case .double, .float: .double(Double(number) / 2)
      case .decimal: .decimal(Decimal(number) / 4)
      case .string: .string("t\(number)")
      case .boolean: .bool(number < 2)
      case .date: .date(Date(timeIntervalSinceReferenceDate: Double(number)))
      case .uuid: .uuid(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(number))))
      case .binary: .data(Data([UInt8(number)]))
      default: .url(URL(string: "https://example.org/\(number)")!)
      }
    }

    // MARK: Steps

    mutating func nextVersion() throws {
      version += 1
      grow()
      let model = try model()
      let path = directory.file("store")
      let container = PersistentContainer(name: "v", model: model, description: .init(path: path))
      try container.loadPersistentStores()
      check(container.newContext(), "opened")
      let context = container.newContext()
      try edit(context)
      try context.save()
      check(context, "saved")
      try container.backup(to: directory.file("backup\(version)"))
      try container.close()
      try checkCopy()
      try verify(path)
    }

    /// Opens a copy of the store with other defaults.
    private mutating func checkCopy() throws {
      let before = properties
      for position in properties.indices where properties[position].defaultValue != nil {
        properties[position].defaultValue = value(of: properties[position].type)
      }
      let copy = PersistentContainer(
        name: "v", model: try model(), description: .init(path: directory.file("backup\(version)")))
      try copy.loadPersistentStores()
      check(copy.newContext(), "backup")
      try copy.close()
      properties = before
    }

    private func verify(_ path: String) throws {
      let inspection = try StoreInspection(at: path)
      let findings = try inspection.verifyGraph()
      #expect(findings.isClean, "\(findings)")
    }

    private func has(_ name: String, _ property: Grown) -> Bool {
      property.isInherited || name.hasPrefix("Sub")
    }

    private mutating func edit(_ context: ManagedObjectContext) throws {
      let owner =
        try context.fetch(FetchRequest<ManagedObject>(entityName: "Owner")).first
        ?? context.insertNewObject(forEntityName: "Owner")
      for object in try all(context) where random.chance(40) {
        guard let name = object["name"] as? String else { continue }
        if random.chance(50) { object["owner"] = owner }
        let able = properties.filter { has(name, $0) }
        if able.isEmpty || random.chance(30) { continue }
        let property = random.pick(able)
        let new = property.isOptional && random.chance(20) ? .null : value(of: property.type).value
        object.setValue(new.isNull ? nil : new, forKey: property.path)
        objects[name]?[property.path] = new
      }
      for number in 0..<3 {
        let entity = random.chance(50) ? "Base" : "Sub"
        let name = "\(entity)\(version).\(number)"
        let object = context.insertNewObject(forEntityName: entity)
        object["name"] = name
        objects[name] = [:]
        for property in properties where has(name, property) {
          objects[name]?[property.path] = property.defaultValue?.value ?? .null
        }
      }
    }

    private func all(_ context: ManagedObjectContext) throws -> [ManagedObject] {
      var request = FetchRequest<ManagedObject>(entityName: "Base")
      request.sortDescriptors = [FetchOrder("name")]
      return try context.fetch(request)
    }

    // MARK: Checks

    private mutating func check(_ context: ManagedObjectContext, _ place: String) {
      do {
        for problem in try differences(context) { problems.append("v\(version) \(place): \(problem)") }
      } catch { problems.append("v\(version) \(place): \(error)") }
    }

    private func differences(_ context: ManagedObjectContext) throws -> [String] {
      var found: [String] = []
      for object in try all(context) {
        let name = object["name"] as? String ?? ""
        let snapshot = try object.snapshot()
        for property in properties where has(name, property) {
          let want = objects[name]?[property.path] ?? .null
          let got = (object.value(forKey: property.path) as? any PredicateArgument)?.predicateValue ?? .null
          if got != want { found.append("\(name).\(property.path) is \(got), not \(want)") }
          let pictured = snapshot[property.path]?.value ?? .null
          if pictured != want {
            found.append("\(name).\(property.path) is \(pictured) in the snapshot, not \(want)")
          }
        }
      }
      for property in properties { found += try differences(context, property) }
      for owner in try context.fetch(FetchRequest<ManagedObject>(entityName: "Owner")) {
        found += differences(ofSums: owner)
      }
      return found
    }

    /// The differences in the results of predicates, counts and orders.
    private func differences(_ context: ManagedObjectContext, _ property: Grown) throws -> [String] {
      let entity = property.isInherited ? "Base" : "Sub"
      let holders = objects.filter { has($0.key, property) }.mapValues { $0[property.path] ?? .null }
      var found: [String] = []
      for value in Set(holders.values) {
        var request = FetchRequest<ManagedObject>(entityName: entity)
        request.predicate = try FetchPredicate(format: "%K == %@", argumentArray: [property.path, value])
        let names = Set(try context.fetch(request).compactMap { $0["name"] as? String })
        let want = Set(holders.filter { $0.value == value }.keys)
        if names != want { found.append("\(property.path) == \(value) gives \(names), not \(want)") }
        request.predicate = try FetchPredicate(
          format: "%K != %@ AND name != nil", argumentArray: [property.path, value])
        let others = try context.count(for: request)
        if others != holders.count - want.count { found.append("\(property.path) != \(value): \(others)") }
      }
      var request = FetchRequest<ManagedObject>(entityName: entity)
      request.sortDescriptors = [FetchOrder(property.path), FetchOrder("name")]
      let order = try context.fetch(request).map { holders[$0["name"] as? String ?? ""] ?? .null }
      // In any correct order, equal values are adjacent.
      let changes = zip(order, order.dropFirst()).count { $0 != $1 }
      if changes + 1 != Set(holders.values).count, !holders.isEmpty {
        found.append("\(property.path) is in the order \(order)")
      }
      return found
    }

    private func differences(ofSums owner: ManagedObject) -> [String] {
      let members = (owner["items"] as? Set<ManagedObject> ?? []).compactMap { $0["name"] as? String }
      return properties.compactMap { property in
        guard property.isInherited, property.type == .int64, !property.isElement else { return nil }
        var want: Int64 = 0
        for name in members {
          if case .integer(let number)? = objects[name]?[property.path] { want += number }
        }
        let got = (owner["sum_\(property.name)"] as? any PredicateArgument)?.predicateValue
        return got == .integer(want)
          ? nil : "sum of \(property.name) is \(String(describing: got)), not \(want)"
      }
    }
  }
}
