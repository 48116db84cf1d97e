// The content and the random edits of `RandomUndoRulesTests`.

import Perdure
import PerdureTestSupport

/// The properties of all objects of a context as text, by the names of the objects.
struct UndoRulesContent: Equatable {
  static let derived: Set<String> = ["parcelCount", "ownWeight"]

  var objects: [String: [String: String]] = [:]

  /// The content that the store also contains.
  var withoutTransients: UndoRulesContent {
    UndoRulesContent(objects: objects.mapValues { $0.filter { $0.key != "mood" } })
  }

  /// The content without the references of parcels to removed crates. `.noAction` leaves such
  /// references, and a context shows them until it has unsaved changes of the parcel.
  var withoutRemovedCrates: UndoRulesContent {
    UndoRulesContent(
      objects: objects.mapValues { values in
        guard let crate = values["crate"], objects[crate] == nil else { return values }
        return values.merging(["crate": "-"]) { $1 }
      })
  }

  /// The objects whose own properties differ; derived properties are not compared.
  func changedObjects(_ other: UndoRulesContent) -> Set<String> {
    func own(_ values: [String: String]?) -> [String: String]? {
      values?.filter { !Self.derived.contains($0.key) }
    }
    return Set(objects.keys).union(other.objects.keys)
      .filter { own(objects[$0]) != own(other.objects[$0]) }
  }

  func difference(_ other: UndoRulesContent) -> String {
    Set(objects.keys).union(other.objects.keys).sorted().flatMap { name -> [String] in
      guard let mine = objects[name] else { return ["\(name) only in the second"] }
      guard let others = other.objects[name] else { return ["\(name) only in the first"] }
      return mine.keys.sorted().filter { mine[$0] != others[$0] }
        .map { "\(name).\($0): '\(mine[$0] ?? "")' and '\(others[$0] ?? "")'" }
    }
    .joined(separator: "; ")
  }
}

/// The random numbers, the trace and the names of objects in a run.
final class UndoRulesDesk {
  var random: SeededGenerator
  /// Objects that the run keeps in memory.
  var held: [ManagedObject] = []
  private(set) var failure: StepFailure?
  private let title: String
  private let hasTransients: Bool
  private var trace: [String] = []
  private var namesByID: [ManagedObjectID: String] = [:]
  private var lastNumber = 1

  init(_ title: String, _ random: SeededGenerator, hasTransients: Bool) {
    (self.title, self.random, self.hasTransients) = (title, random, hasTransients)
  }

  var hasFailed: Bool { failure != nil }

  func roll(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

  func note(_ text: String) { trace.append(text) }

  func expect(_ holds: Bool, _ what: @autoclosure () -> String, line: UInt = #line) {
    if holds || hasFailed { return }
    failure = StepFailure("\(title): \(what())", after: trace, line: line)
  }

  func name(_ object: ManagedObject?) -> String {
    guard let object else { return "-" }
    if let name = namesByID[object.objectID] { return name }
    let name = "#\(namesByID.count)"
    namesByID[object.objectID] = name
    return name
  }

  private func number() -> Int {
    lastNumber += 1
    return lastNumber
  }
}

// MARK: - Content

extension UndoRulesDesk {
  /// Returns the content of a context. Also checks that derived values, inverse relationships and
  /// fetches by predicate agree with it.
  func content(_ context: ManagedObjectContext) -> UndoRulesContent {
    var content = UndoRulesContent()
    do {
      let crates = try objects(UndoCrate.self, context)
      let parcels = try objects(UndoParcel.self, context)
      for crate in crates {
        content.objects[name(crate)] = values(crate)
        checkEnds(crate)
      }
      for label in try objects(UndoLabel.self, context) {
        content.objects[name(label)] = values(label)
        checkEnds(label)
      }
      for parcel in parcels {
        content.objects[name(parcel)] = values(parcel)
        checkEnds(parcel)
      }
      try checkFetches(of: crates, context)
      try checkFetches(of: parcels, crates.first, context)
    } catch {
      expect(false, "fetching throws \(error)")
    }
    return content
  }

  private func objects<T: ManagedObject>(_ type: T.Type, _ context: ManagedObjectContext) throws -> [T] {
    try context.fetch(FetchRequest<T>()).map { (uri: $0.objectID.uri, object: $0) }
      .sorted { $0.uri < $1.uri }.map(\.object)
  }

  private func names<T: ManagedObject>(_ objects: some Sequence<T>) -> String {
    objects.map { name($0) }.joined(separator: " ")
  }

  private func sortedNames<T: ManagedObject>(_ objects: some Sequence<T>) -> String {
    objects.map { name($0) }.sorted().joined(separator: " ")
  }

  private func values(_ crate: UndoCrate) -> [String: String] {
    [
      "name": crate.name, "count": "\(crate.count)", "nameLength": "\(crate.nameLength)",
      "labels": names(crate.labels), "parcels": sortedNames(crate.parcels),
      "ownParcels": names(crate.ownParcels), "mainLabel": name(crate.mainLabel),
      "parcelCount": "\(crate.parcelCount)", "ownWeight": "\(crate.ownWeight)",
    ]
  }

  private func values(_ label: UndoLabel) -> [String: String] {
    ["name": label.name, "crates": names(label.crates), "mainOf": sortedNames(label.mainOf)]
  }

  private func values(_ parcel: UndoParcel) -> [String: String] {
    [
      "weight": "\(parcel.weight)", "code": parcel.code ?? "-",
      "size": "\(parcel.size.width)x\(parcel.size.height)", "mood": parcel.mood ?? "-",
      "crate": name(parcel.crate), "owner": name(parcel.owner), "next": name(parcel.next),
      "previous": name(parcel.previous), "follows": name(parcel.follows),
      "likes": sortedNames(parcel.likes),
    ]
  }

  private func checkEnds(_ crate: UndoCrate) {
    let text = "\(name(crate)) \(values(crate))"
    let weight = crate.ownParcels.reduce(0) { $0 + $1.weight }
    expect(crate.parcelCount == crate.parcels.count, "\(text) counts its parcels wrong")
    expect(crate.ownWeight == weight, "\(text) weighs \(weight)")
    expect(Set(crate.labels).count == crate.labels.count, "\(text) has a label twice")
    expect(Set(crate.ownParcels).count == crate.ownParcels.count, "\(text) has a parcel twice")
    for label in crate.labels { expect(label.crates.contains(crate), "\(text) is not in \(name(label))") }
    for parcel in crate.parcels { expect(parcel.crate === crate, "\(text): \(name(parcel)) is elsewhere") }
    for parcel in crate.ownParcels {
      expect(parcel.owner === crate, "\(text): \(name(parcel)) has another owner")
    }
    if isLiving(crate.mainLabel), let label = crate.mainLabel {
      expect(label.mainOf.contains(crate), "\(text) is not in \(name(label)).mainOf")
    }
  }

  private func checkEnds(_ label: UndoLabel) {
    let text = "\(name(label)) \(values(label))"
    expect(Set(label.crates).count == label.crates.count, "\(text) has a crate twice")
    for crate in label.crates { expect(crate.labels.contains(label), "\(text) is not in \(name(crate))") }
    for crate in label.mainOf {
      expect(crate.mainLabel === label, "\(text) is not the main label of \(name(crate))")
    }
  }

  private func checkEnds(_ parcel: UndoParcel) {
    let text = "\(name(parcel)) \(values(parcel))"
    // `.noAction` leaves references to deleted objects.
    if isLiving(parcel.crate), let crate = parcel.crate {
      expect(crate.parcels.contains(parcel), "\(text) is not in its crate")
    }
    if let owner = parcel.owner { expect(owner.ownParcels.contains(parcel), "\(text) is not in its owner") }
    if let next = parcel.next { expect(next.previous === parcel, "\(text) is not previous to its next one") }
    if let previous = parcel.previous {
      expect(previous.next === parcel, "\(text) is not next to its previous one")
    }
  }

  private func isLiving(_ object: ManagedObject?) -> Bool {
    object.map { $0.managedObjectContext != nil && !$0.isDeleted } ?? false
  }

  private func checkFetches(of crates: [UndoCrate], _ context: ManagedObjectContext) throws {
    compare(
      try context.fetch(UndoCrate.fetchRequest { $0.parcelCount >= 1 }),
      crates.filter { $0.parcelCount >= 1 }, "parcelCount")
    compare(
      try context.fetch(UndoCrate.fetchRequest { $0.ownWeight > 5 }), crates.filter { $0.ownWeight > 5 },
      "ownWeight")
  }

  private func checkFetches(
    of parcels: [UndoParcel], _ crate: UndoCrate?, _ context: ManagedObjectContext
  ) throws {
    compare(
      try context.fetch(UndoParcel.fetchRequest { $0.weight > 0 }), parcels.filter { $0.weight > 0 }, "weight"
    )
    compare(
      try context.fetch(UndoParcel.fetchRequest { $0.code == "c1" }), parcels.filter { $0.code == "c1" },
      "code")
    compare(
      try context.fetch(UndoParcel.fetchRequest { $0.next == nil }), parcels.filter { $0.next == nil }, "next"
    )
    compare(
      try context.fetch(UndoParcel.fetchRequest { $0.previous == nil }),
      parcels.filter { $0.previous == nil }, "previous")
    guard let crate else { return }
    compare(
      try context.fetch(UndoParcel.fetchRequest { $0.owner == crate }), parcels.filter { $0.owner === crate },
      "owner")
    compare(
      try context.fetch(UndoParcel.fetchRequest { $0.crate == crate }), parcels.filter { $0.crate === crate },
      "crate")
  }

  private func compare(_ found: [ManagedObject], _ expected: [ManagedObject], _ property: String) {
    let (found, expected) = (sortedNames(found), sortedNames(expected))
    expect(found == expected, "a fetch by \(property) finds \(found), not \(expected)")
  }
}

// MARK: - Edits

extension UndoRulesDesk {
  /// Makes a random edit.
  func edit(_ context: ManagedObjectContext) throws {
    switch roll(100) {
    case 0..<(try objectCount(context) < 5 ? 40 : 4): insert(context)
    case 40..<48:
      guard let object = try pick(ManagedObject.self, context) else { return }
      note("  deletes \(name(object))")
      context.delete(object)
      // A fetch processes the deletion.
      if random.chance(50) { _ = try objects(UndoParcel.self, context) }
    case 48..<62: if let crate = try pick(UndoCrate.self, context) { try change(crate, context) }
    case 62..<70:
      guard let label = try pick(UndoLabel.self, context), let crate = try pick(UndoCrate.self, context)
      else { return }
      change(label.crates, crate, "\(name(label)).crates")
    default: if let parcel = try pick(UndoParcel.self, context) { try change(parcel, context) }
    }
  }

  /// Returns a random object of a type, or nil if there is none.
  func pick<T: ManagedObject>(_ type: T.Type, _ context: ManagedObjectContext) throws -> T? {
    let found = try everything(context).compactMap { $0 as? T }
    if found.isEmpty { return nil }
    let object = random.pick(found)
    if isUndone(context) { held.append(object) }
    return object
  }

  /// Whether a context is the one with the undo manager, neither a child nor the other context.
  private func isUndone(_ context: ManagedObjectContext) -> Bool {
    context.undoManager != nil && context.parent == nil
  }

  private func objectCount(_ context: ManagedObjectContext) throws -> Int {
    try context.count(for: FetchRequest<UndoCrate>()) + context.count(for: FetchRequest<UndoLabel>())
      + context.count(for: FetchRequest<UndoParcel>())
  }

  private func everything(_ context: ManagedObjectContext) throws -> [ManagedObject] {
    try objects(UndoCrate.self, context) + objects(UndoLabel.self, context)
      + objects(UndoParcel.self, context)
  }

  private func insert(_ context: ManagedObjectContext) {
    let object: ManagedObject =
      switch roll(4) {
      case 0: UndoCrate(context: context)
      case 1: UndoLabel(context: context)
      default: UndoParcel(context: context)
      }
    note("  inserts \(type(of: object)) \(name(object))")
    if isUndone(context) { held.append(object) }
  }

  private func change(_ crate: UndoCrate, _ context: ManagedObjectContext) throws {
    switch roll(5) {
    case 0: crate.name = String(repeating: "n", count: roll(3)) + "\(number())"
    case 1: crate.count = Int64(number())
    case 2: crate.mainLabel = random.chance(40) ? nil : try pick(UndoLabel.self, context)
    default:
      guard let parcel = try pick(UndoParcel.self, context) else { return }
      return change(crate.ownParcels, parcel, "\(name(crate)).ownParcels")
    }
    note("  changes \(name(crate)) to \(crate.name) \(crate.count) \(name(crate.mainLabel))")
  }

  /// Moves, removes or adds a member.
  private func change<T: ManagedObject>(_ members: OrderedToMany<T>, _ member: T, _ text: String) {
    guard let position = members.firstIndex(of: member) else {
      note("  adds \(name(member)) to \(text)")
      return members.insert(member, at: roll(members.count + 1))
    }
    if members.count > 1, random.chance(70) {
      note("  moves \(name(member)) in \(text)")
      members.move(from: position, to: roll(members.count))
    } else {
      note("  removes \(name(member)) from \(text)")
      members.remove(at: position)
    }
  }

  private func change(_ parcel: UndoParcel, _ context: ManagedObjectContext) throws {
    func other<T: ManagedObject>(_ type: T.Type) throws -> T? {
      random.chance(30) ? nil : try pick(type, context)
    }
    switch roll(10) {
    case 0: parcel.weight = Int64(number())
    case 1: parcel.code = random.chance(30) ? nil : "c\(roll(4))"
    case 2:
      if random.chance(50) {
        parcel.size.width = number()
      } else {
        parcel.size = UndoParcelSize(width: number(), height: parcel.size.height)
      }
    case 3: if hasTransients, isUndone(context) { parcel.mood = random.chance(30) ? nil : "m\(number())" }
    case 4: parcel.crate = try other(UndoCrate.self)
    case 5: parcel.owner = try other(UndoCrate.self)
    case 6: parcel.next = try other(UndoParcel.self)
    case 7: parcel.previous = try other(UndoParcel.self)
    case 8: parcel.follows = try other(UndoParcel.self)
    default:
      guard let liked = try pick(UndoParcel.self, context) else { return }
      if parcel.likes.contains(liked) { parcel.likes.remove(liked) } else { parcel.likes.insert(liked) }
    }
    let values = values(parcel).sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
    note("  changes \(name(parcel)) to \(values)")
  }
}
