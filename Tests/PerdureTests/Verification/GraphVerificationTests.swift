import PerdureLog
import PerdureModel
import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

// The tests G1 to G6 each violate one invariant by writes that the graph never makes. They expect
// only findings of that invariant.

@Suite("Verification of a graph")
struct GraphVerificationTests {
  private let store: LogPersistentStore
  private let options: StoreOptions
  private let company: ObjectReference
  private let worker: ObjectReference
  private let project: ObjectReference

  /// Creates a worker with a company and a project.
  init() throws {
    var options = StoreOptions()
    options.fileSystem = SimulatedFileSystem()
    let model = try ManagedObjectModel(Staff.entities)
    let opened = try LogPersistentStore(at: "/staff.perdure", model: model, options: options)
    let container = PersistentContainer(
      name: "Staff", model: model, classes: Staff.classes, description: .init(path: "/staff.perdure"),
      factory: StoreFactory { _, _ in opened })
    try container.loadPersistentStores()
    let context = container.newContext()
    let (company, worker) = (context.company("C"), context.worker("W"))
    let project = Project(context: context)
    worker.company = company
    worker.projects.insert(project)
    try context.save()
    store = opened
    self.options = options
    (self.company, self.worker, self.project) = (company.reference, worker.reference, project.reference)
  }

  private func findings() -> [String] {
    GraphVerification(store.view(), store.model.model).run().findings.map(\.description)
  }

  private func rows(_ entity: UInt16) throws -> Keyspace {
    try store.store.keyspace(LogKeyspaces.rowsName(entity), .dense)
  }

  private func remove(_ reference: ObjectReference) throws {
    let rows = try rows(reference.entityNumber)
    try store.store.write { try $0.remove(id: reference.id, in: rows) }
  }

  /// The worker's row with another reference in one property.
  private func workerRow(_ property: String, leadingTo target: ObjectReference) throws -> [UInt8] {
    try row(of: worker, property, .reference(target))
  }

  /// An object's row with another value in one property.
  private func row(of reference: ObjectReference, _ property: String, _ value: Value) throws -> [UInt8] {
    let entity = store.schema.entity(reference.entityNumber)
    let (slot, layouts) = (try #require(entity.slot(named: property)), try #require(entity.layouts))
    let view = store.view()
    let stored = try #require(try view.leasedRow(reference))
    return try stored.withRow { stored in
      let row = try RowView(checking: stored.bytes, layouts)
      return RowWriter(layouts).row(base: row) { $0 == slot ? .value(value) : .copied }
    }
  }

  private func put(_ row: [UInt8], as reference: ObjectReference) throws {
    let rows = try rows(reference.entityNumber)
    try store.store.write { try $0.put(row, id: reference.id, in: rows) }
  }

  /// Adds or removes a link without its reverse link.
  private func change(
    _ property: String, _ source: ObjectReference, _ target: ObjectReference, adds: Bool = true
  ) throws {
    let entity = store.schema.entity(source.entityNumber)
    let number = try #require(entity.slot(named: property).map { entity.properties[$0].number })
    var change = StoreChange(view: store.view(), schema: store.schema, durability: .relaxed)
    let index = try #require(store.schema.index(named: "link/\(number)"))
    let link = StoreLink(index: index, source: source, target: target)
    if adds { change.linksAdded = [link] } else { change.linksRemoved = [link] }
    _ = try store.commit(change)
  }

  @Test("An intact graph has no findings, and verification checks every row and link")
  func whole() {
    let report = GraphVerification(store.view(), store.model.model).run()
    #expect(report.isClean && report.rows == 3 && report.links == 1)
  }

  @Test("Verification reports progress up to the total, and rethrows an error of the callback")
  func progress() throws {
    struct Enough: Error {}
    try store.close()
    let inspection = try StoreInspection(at: "/staff.perdure", options: options)
    var calls: [[UInt64]] = []
    #expect(try inspection.verifyGraph { calls.append([$0, $1]) }.isClean)
    // Three rows and a link.
    #expect(calls == [[4, 4]])
    #expect(throws: Enough.self) { try inspection.verifyGraph { _, _ in throw Enough() } }
    #expect(try inspection.verifyGraph().rows == 3)
    try inspection.engine.close()
  }

  @Test("G1: Verification finds a truncated row, and a row of an unknown layout")
  func row() throws {
    let rows = try rows(worker.entityNumber)
    let good = try workerRow("company", leadingTo: company)
    for bad in [Array(good.dropLast()), [0xFF, 0xFF] + good.dropFirst(2)] {
      try store.store.write { try $0.put(bad, id: worker.id, in: rows) }
      let found = findings()
      #expect(found.count == 1 && found[0].hasPrefix("G1 at Employee/p1: "), "\(found)")
    }
    try store.store.write { try $0.put(good, id: worker.id, in: rows) }
    #expect(findings() == [])
  }

  @Test("G2: Verification finds a reference to a deleted object or to another entity")
  func reference() throws {
    let rows = try rows(worker.entityNumber)
    let strange = try workerRow("company", leadingTo: project)
    try store.store.write { try $0.put(strange, id: worker.id, in: rows) }
    #expect(
      findings() == [
        "G2 at Employee/p1: company leads to Project/p1, which is not an object of the entity Company"
      ])
    let good = try workerRow("company", leadingTo: company)
    try store.store.write { try $0.put(good, id: worker.id, in: rows) }
    try remove(company)
    #expect(findings() == ["G2 at Employee/p1: company leads to Company/p1, which does not exist"])
  }

  @Test("G3: Verification finds a link with a missing end")
  func link() throws {
    try remove(project)
    #expect(findings() == ["G3 at Employee/p1 to Project/p1: Project/p1 does not exist"])
  }

  @Test("G5: Verification finds an object with two one-to-one partners, and a link without its reverse")
  func inverses() throws {
    let other = ObjectReference(entity: company.entityNumber, id: 700)
    try put(row(of: company, "chief", .reference(worker)), as: other)
    #expect(findings() == [])
    try put(row(of: company, "chief", .reference(worker)), as: company)
    #expect(findings() == ["G5 at Employee/p1: both Company/p1 and Company/p700 refer to it by chief"])
    try remove(other)
    let friend = ObjectReference(entity: worker.entityNumber, id: 700)
    try put(workerRow("spouse", leadingTo: worker), as: friend)
    #expect(
      findings() == ["G5 at Employee/p700: spouse leads to Employee/p1, whose spouse does not lead back"])
    try put(workerRow("spouse", leadingTo: friend), as: worker)
    #expect(findings() == [])
    try change("friends", worker, friend)
    #expect(
      findings() == [
        "G5 at Employee/p1 to Employee/p700: the link does not lead back, and its relationship is its own inverse"
      ])
    try change("friends", friend, worker)
    try change("friends", worker, worker)
    #expect(findings() == [])
  }

  @Test("G6: Verification finds relationships with too many objects, and empty required relationships")
  func limits() throws {
    for number in 700..<703 as Range<UInt64> {
      let member = ObjectReference(entity: worker.entityNumber, id: number)
      try put(workerRow("company", leadingTo: company), as: member)
      try change("projects", member, project)
    }
    #expect(findings() == ["G6 at Project/p1: members has 4: it must have at most 3 objects"])
    try change("projects", worker, project, adds: false)
    #expect(findings() == [])
    let contract = try #require(store.schema.entity(named: "Contract"))
    let layouts = try #require(contract.layouts)
    let row = RowWriter(layouts).row { _ in .value(.null) }
    try put(row, as: ObjectReference(entity: contract.number, id: 9))
    #expect(
      findings() == [
        "G6 at Contract/p9: company has 0: it is required but has no object: connect one, or make the relationship optional"
      ])
  }

  @Test("If reading fails, the report has the earlier findings and the error")
  func unreadable() throws {
    let rows = try rows(worker.entityNumber)
    let good = try workerRow("company", leadingTo: company)
    try store.store.write { try $0.put(Array(good.dropLast()), id: worker.id, in: rows) }
    try store.store.write { try $0.put(good, id: worker.id + 1, in: rows) }
    try remove(project)
    let whole = findings()
    #expect(whole.count == 2 && whole[0].hasPrefix("G1") && whole[1].hasPrefix("G3"), "\(whole)")
    for part in [UnreadableStore.Part.versions, .rows, .entries] {
      var most = 0
      for reads in 0..<40 {
        let failing = UnreadableStore.Switch()
        failing.set([part], after: reads)
        let view = UnreadableView(store.view(), failing)
        let found = GraphVerification(view, store.model.model).run().findings.map(\.description)
        let failures = found.filter { $0.contains("Failure()") }
        let others = found.filter { !$0.contains("Failure()") }
        // The earlier findings stay in the report.
        #expect(others.count >= most && others == whole.filter(others.contains), "\(part) \(reads): \(found)")
        most = max(most, others.count)
        #expect(!failures.isEmpty || others == whole, "\(part) \(reads): \(found)")
        if failures.isEmpty { break }
        #expect(reads < 39)
      }
    }
  }

  @Test("G4: After a write that does not maintain indexes, verification finds equal unique values")
  func uniqueness() throws {
    let entity = store.schema.entity(worker.entityNumber)
    let (slot, layouts) = (try #require(entity.slot(named: "email")), try #require(entity.layouts))
    let stored = try #require(try store.view().leasedRow(worker))
    let twin = try stored.withRow { stored in
      let row = try RowView(checking: stored.bytes, layouts)
      return RowWriter(layouts).row(base: row) { $0 == slot ? .value(.string("x")) : .copied }
    }
    try store.close()
    let stranger = try Store(at: "/staff.perdure", options: options)
    let rows = try stranger.keyspace(LogKeyspaces.rowsName(worker.entityNumber), .dense)
    try stranger.write { for id in [worker.id, 900, 901] { try $0.put(twin, id: id, in: rows) } }
    try stranger.close()
    let again = try LogPersistentStore(at: "/staff.perdure", model: nil, options: options)
    let found = GraphVerification(again.view(), again.model.model).run().findings
    #expect(
      found.map(\.description)
        == [900, 901].map {
          "G4 at Employee.email: Employee/p1 and Employee/p\($0) have the same email \"x\""
        })
    try again.close()
  }
}
