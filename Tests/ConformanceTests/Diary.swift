// Classes with macros that record the calls of their hooks in a diary.

import Perdure
import Testing

/// The calls of hooks in one test, in order.
final class Diary {
  private(set) var lines: [String] = []
  /// Additional operations of a hook, by "Name.hook". Each operation runs at most `times` times.
  var actions: [String: (times: Int, run: (Member) throws -> Void)] = [:]

  /// Returns the lines since the last call.
  func read() -> [String] {
    defer { lines = [] }
    return lines
  }

  func note(_ hook: String, of member: Member, _ more: String = "") {
    lines.append("\(member.title).\(hook)\(more)")
  }

  func act(_ hook: String, of member: Member) throws {
    let key = "\(member.title).\(hook)"
    guard let action = actions[key], action.times > 0 else { return }
    actions[key]?.times -= 1
    try action.run(member)
  }

  /// Runs an operation at each of the next `times` calls of a hook, such as "Name.willSave".
  func on(_ hook: String, _ times: Int = 1, _ run: @escaping (Member) throws -> Void) {
    actions[hook] = (times, run)
  }
}

/// A member of a club. Records the calls of all hooks.
@Entity
class Member: ManagedObject {
  var name: String = ""
  var age: Int = 0
  @Relationship(inverse: "members") var club: Club?

  /// The diary in which the objects of the test's contexts record their calls.
  @TaskLocal static var diary: Box?

  // Unchecked: a test is one task, and its diary is not shared.
  final class Box: @unchecked Sendable {
    let diary = Diary()
  }

  /// The name of the object in the diary. Reading the name does not fire a fault.
  @Transient var title = "?"

  func tell(_ hook: String, _ more: String = "") {
    guard let diary = Self.diary?.diary else { return }
    diary.note(hook, of: self, more)
    do { try diary.act(hook, of: self) } catch { Issue.record(error) }
  }

  func ask(_ hook: String) throws {
    guard let diary = Self.diary?.diary else { return }
    diary.note(hook, of: self)
    try diary.act(hook, of: self)
  }

  override func awakeFromInsert() { tell("awakeFromInsert") }
  override func awakeFromFetch() {
    title = name
    tell("awakeFromFetch")
  }
  override func awake(fromSnapshotEvents events: SnapshotEventType) {
    tell("awake", "(\(events.rawValue))")
  }
  override func willSave() { tell("willSave", isDeleted ? " deleted" : "") }
  override func didSave() { tell("didSave", isInserted ? " inserted" : isDeleted ? " deleted" : "") }
  override func prepareForDeletion() { tell("prepareForDeletion") }
  override func willTurnIntoFault() { tell("willTurnIntoFault") }
  override func didTurnIntoFault() { tell("didTurnIntoFault") }
  override func validateForInsert() throws { try ask("validateForInsert") }
  override func validateForUpdate() throws { try ask("validateForUpdate") }
  override func validateForDelete() throws { try ask("validateForDelete") }
}

@Entity
final class Club: ManagedObject {
  var name: String = ""
  @Relationship(inverse: "club", deleteRule: .cascade) var members: ToMany<Member>
  @Relationship(inverse: "club", deleteRule: .cascade) var lockers: ToMany<Locker>
}

/// A class without hooks.
@Entity
final class Locker: ManagedObject {
  @Relationship(inverse: "lockers") var club: Club?
}

/// A class with a one-way relationship to a club.
@Entity
final class Sponsor: ManagedObject {
  @Relationship(deleteRule: .nullify) var club: Club?
}

/// A class with a transient attribute.
@Entity
final class Tent: ManagedObject {
  @Attribute(.transient) var mood: String?
}

/// A class that normalises the values of `school` and rejects some values of the inherited `age`.
@Entity
final class Child: Member {
  var school: String?
  override class var validatedKeys: [String] { ["school", "age"] }

  struct TooOld: Error, Equatable { var age: Int }

  override func validateValue(_ value: inout Any?, forKey key: String) throws {
    try super.validateValue(&value, forKey: key)
    if key == "school", let school = value as? String { value = school.uppercased() }
    if key == "age", let age = value as? Int, age > 17 { throw TooOld(age: age) }
  }
}

enum Clubhouse {
  static let classes: [ManagedObject.Type] = [
    Member.self, Club.self, Child.self, Locker.self, Sponsor.self, Tent.self,
  ]

  static func container() throws -> PersistentContainer {
    let container = try PersistentContainer(name: "Club", classes: classes, description: .inMemory)
    try container.loadPersistentStores()
    return container
  }

  /// Runs a test with a container, a context and a diary.
  static func visit(_ body: (PersistentContainer, ManagedObjectContext, Diary) throws -> Void) throws {
    let box = Member.Box()
    try Member.$diary.withValue(box) {
      let container = try container()
      try body(container, container.newContext(), box.diary)
    }
  }
}

extension ManagedObjectContext {
  func member(_ name: String, in club: Club? = nil) -> Member {
    let member = Member(context: self)
    (member.name, member.title) = (name, name)
    if let club { member.club = club }
    return member
  }
  /// The same object in this context.
  func same<T: ManagedObject>(_ object: T) throws -> T {
    try #require(try existingObject(with: object.objectID) as? T)
  }
}
