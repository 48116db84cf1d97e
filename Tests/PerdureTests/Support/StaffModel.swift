// A small model with every kind of relationship except ordered ones. Its accessors are written by
// hand.

import FoundationEssentials
import Perdure
import PerdureModel
import Testing

class Party: ManagedObject {
  override class var entityDescription: EntityDescription { Staff.entity("Party") }

  var name: String {
    get { _get(0) }
    set { _set(0, newValue) }
  }
  var address: Address? {
    get { _get(1) }
    set { _set(1, newValue) }
  }
}

final class Company: Party {
  override class var entityDescription: EntityDescription { Staff.entity("Company") }
  override class var _propertyNamesByKeyPath: [AnyKeyPath: String] {
    [\Company.name: "name", \Company.workerCount: "workerCount", \Company.workers: "workers"]
  }

  var workers: ToMany<Employee> {
    get { _get(2) }
    set { _set(2, newValue) }
  }
  var workerCount: Int { _get(3) }
  /// The stored end of a one-to-one relationship. The other end, `Employee.leads`, is derived.
  var chief: Employee? {
    get { _get(4) }
    set { _set(4, newValue) }
  }
  /// Delete rule: cascade.
  var departments: ToMany<Department> { _get(5) }
  /// Delete rule: deny.
  var contracts: ToMany<Contract> { _get(6) }
}

final class Employee: Party {
  override class var entityDescription: EntityDescription { Staff.entity("Employee") }
  override class var _propertyNamesByKeyPath: [AnyKeyPath: String] {
    [
      \Employee.name: "name", \Employee.salary: "salary", \Employee.company: "company",
      \Employee.email: "email",
    ]
  }

  var email: String? {
    get { _get(2) }
    set { _set(2, newValue) }
  }
  var salary: Int64 {
    get { _get(3) }
    set { _set(3, newValue) }
  }
  var company: Company? {
    get { _get(4) }
    set { _set(4, newValue) }
  }
  var leads: Company? {
    get { _get(5) }
    set { _set(5, newValue) }
  }
  var projects: ToMany<Project> { _get(6) }
  /// Many-to-many, its own inverse.
  var friends: ToMany<Employee> { _get(7) }
  /// One-to-one, its own inverse.
  var spouse: Employee? {
    get { _get(8) }
    set { _set(8, newValue) }
  }
  /// One way, to-one.
  var mentor: Employee? {
    get { _get(9) }
    set { _set(9, newValue) }
  }
  /// One way, to-many.
  var bookmarks: ToMany<Project> { _get(10) }
}

final class Project: ManagedObject {
  override class var entityDescription: EntityDescription { Staff.entity("Project") }

  var title: String {
    get { _get(0) }
    set { _set(0, newValue) }
  }
  /// No members, or 1 to 3 members.
  var members: ToMany<Employee> { _get(1) }
  var memberCount: Int { _get(2) }
}

final class Department: ManagedObject {
  override class var entityDescription: EntityDescription { Staff.entity("Department") }
  /// Declares no hooks, so that a cascade calls no hook.
  override class var _lifeCycle: _LifeCycle { [] }

  var name: String {
    get { _get(0) }
    set { _set(0, newValue) }
  }
  var company: Company? {
    get { _get(1) }
    set { _set(1, newValue) }
  }
  var parent: Department? {
    get { _get(2) }
    set { _set(2, newValue) }
  }
  /// Delete rule: cascade. Deleting one department of a ring deletes the whole ring.
  var children: ToMany<Department> { _get(3) }
}

final class Contract: ManagedObject {
  override class var entityDescription: EntityDescription { Staff.entity("Contract") }

  /// Required.
  var company: Company? {
    get { _get(0) }
    set { _set(0, newValue) }
  }
}

final class Address: ManagedObject {
  override class var entityDescription: EntityDescription { Staff.entity("Address") }

  var street: String {
    get { _get(0) }
    set { _set(0, newValue) }
  }
  /// Delete rule: `.noAction`. The destination is an abstract entity.
  var residents: ToMany<Party> { _get(1) }
}

final class Sample: ManagedObject {
  override class var entityDescription: EntityDescription { Staff.entity("Sample") }

  var flag: Bool {
    get { _get(0) }
    set { _set(0, newValue) }
  }
  var small: Int16 {
    get { _get(1) }
    set { _set(1, newValue) }
  }
  var middle: Int32 {
    get { _get(2) }
    set { _set(2, newValue) }
  }
  var large: Int64 {
    get { _get(3) }
    set { _set(3, newValue) }
  }
  var single: Float {
    get { _get(4) }
    set { _set(4, newValue) }
  }
  var double: Double {
    get { _get(5) }
    set { _set(5, newValue) }
  }
  var exact: Decimal {
    get { _get(6) }
    set { _set(6, newValue) }
  }
  var text: String {
    get { _get(7) }
    set { _set(7, newValue) }
  }
  var moment: Date {
    get { _get(8) }
    set { _set(8, newValue) }
  }
  var identifier: UUID {
    get { _get(9) }
    set { _set(9, newValue) }
  }
  var bytes: Data {
    get { _get(10) }
    set { _set(10, newValue) }
  }
  var link: URL? {
    get { _get(11) }
    set { _set(11, newValue) }
  }
  var number: Int? {
    get { _get(12) }
    set { _set(12, newValue) }
  }
}

enum Staff {
  static let entities: [EntityDescription] = [
    EntityDescription(
      "Party", isAbstract: true,
      properties: [.string("name", optional: false), .toOne("address", "Address", inverse: "residents")]),
    EntityDescription(
      "Company", superentity: "Party",
      properties: [
        .toMany("workers", "Employee", inverse: "company"),
        .derived("workerCount", "workers.@count"),
        .toOne("chief", "Employee", inverse: "leads"),
        .toMany("departments", "Department", inverse: "company", deleteRule: .cascade),
        .toMany("contracts", "Contract", inverse: "company", deleteRule: .deny),
      ]),
    EntityDescription(
      "Employee", superentity: "Party",
      properties: [
        .string("email"),
        .int64("salary", optional: false, default: 1000),
        .toOne("company", "Company", inverse: "workers"),
        .toOne("leads", "Company", inverse: "chief"),
        .toMany("projects", "Project", inverse: "members"),
        .toMany("friends", "Employee", inverse: "friends"),
        .toOne("spouse", "Employee", inverse: "spouse"),
        .toOne("mentor", "Employee"),
        .toMany("bookmarks", "Project"),
      ], indexes: [.init(on: "salary")], uniquenessConstraints: [["email"]]),
    EntityDescription(
      "Project",
      properties: [
        .string("title", optional: false, default: "untitled"),
        .toMany("members", "Employee", inverse: "projects", minCount: 1, maxCount: 3),
        .derived("memberCount", "members.@count"),
      ]),
    EntityDescription(
      "Department",
      properties: [
        .string("name", optional: false, default: "department"),
        .toOne("company", "Company", inverse: "departments"),
        .toOne("parent", "Department", inverse: "children"),
        .toMany("children", "Department", inverse: "parent", deleteRule: .cascade),
      ]),
    EntityDescription(
      "Contract",
      properties: [.toOne("company", "Company", inverse: "contracts", optional: false)]),
    EntityDescription(
      "Address",
      properties: [
        .string("street", optional: false, default: "nowhere"),
        .toMany("residents", "Party", inverse: "address", deleteRule: .noAction),
      ]),
    EntityDescription(
      "Sample",
      properties: [
        .boolean("flag", optional: false, default: true),
        .int16("small", optional: false, default: -7),
        .int32("middle", optional: false, default: 70_000),
        .int64("large", optional: false, default: 5_000_000_000),
        .float("single", optional: false, default: 0.5),
        .double("double", optional: false, default: 1.25),
        .decimal("exact", optional: false, default: .decimal(Decimal(string: "3.14") ?? 0)),
        .string("text", optional: false, default: "ä"),
        .date("moment", optional: false, default: .date(Date(timeIntervalSinceReferenceDate: 60))),
        .uuid("identifier"), .binary("bytes"), .uri("link"), .int64("number"),
      ]),
  ]

  static let classes: [ManagedObject.Type] = [
    Party.self, Company.self, Employee.self, Project.self, Department.self, Contract.self, Address.self,
    Sample.self,
  ]

  static func entity(_ name: String) -> EntityDescription {
    entities.first { $0.name == name } ?? EntityDescription(name, properties: [])
  }

  /// Returns a container with its own store.
  static func container(_ kind: StoreKind = StoreKind.current) throws -> PersistentContainer {
    let container = PersistentContainer(
      name: "Staff", model: try ManagedObjectModel(entities), classes: classes, description: .inMemory,
      factory: kind.factory)
    try container.loadPersistentStores()
    return container
  }

  static func context(_ kind: StoreKind = StoreKind.current) throws -> ManagedObjectContext {
    try container(kind).newContext()
  }
}

/// The stores that the graph is tested on.
enum StoreKind: String, CaseIterable, Sendable {
  /// Dictionaries in memory, without any capability (NaiveStore.swift).
  case naive
  /// The log engine, on files in memory.
  case engine
  /// Two joined stores. The second one has the graph, and numbers its entities differently than the
  /// joined store.
  case joined
  /// A parent context, which saves into the engine after some saves of its children. All other
  /// contexts are its children.
  case child

  /// The store of tests that do not choose a store: `PERDURE_STORE`, or else the engine.
  static let current =
    ProcessInfo.processInfo.environment["PERDURE_STORE"].flatMap { StoreKind(rawValue: $0) } ?? .engine

  /// Like `current`, but the engine instead of a parent context. In a parent context, objects that
  /// the parent has not saved count as new.
  static var stored: StoreKind { current == .child ? .engine : current }

  var factory: StoreFactory {
    switch self {
    case .naive:
      StoreFactory { _, model in NaiveStore(StoreSchema(try StoredModel.initial(for: model))) }
    case .engine: .standard
    case .joined: StoreFactory { try Self.joined($0, $1) }
    case .child: StoreFactory { try HeldParent(StoreFactory.standard.open($0, $1), $1) }
    }
  }

  private static func joined(
    _ description: PersistentStoreDescription, _ model: ManagedObjectModel
  ) throws -> any PersistentStore {
    let others = (1...9).map { EntityDescription("Other\($0)", properties: [.string("a"), .int64("b")]) }
    let other = try StoreFactory.standard.open(.inMemory, ManagedObjectModel(others))
    let store = try StoreFactory.standard.open(description, model)
    let members = [other, store].map {
      JoinedStore.Member($0, durability: description.durability, isReadOnly: description.isReadOnly)
    }
    guard let joined = JoinedStore(members) else { preconditionFailure("Two stores are within the limit.") }
    return joined
  }
}

extension ManagedObjectContext {
  @discardableResult func worker(_ name: String, email: String? = nil) -> Employee {
    let worker = Employee(context: self)
    worker.name = name
    worker.email = email
    return worker
  }

  func company(_ name: String) -> Company {
    let company = Company(context: self)
    company.name = name
    return company
  }

  /// The same object in this context.
  func same<T: ManagedObject>(_ object: T) throws -> T {
    try #require(try existingObject(with: object.objectID) as? T)
  }
}
