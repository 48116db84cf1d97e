// Unique values that move between objects in one save, at every level of contexts.

import Testing

@testable import Perdure

@Suite("Unique values that move between objects")
struct ChildUniquenessTests {
  /// Returns nested contexts, from the innermost child to the context on the store.
  private static func line(_ container: PersistentContainer, _ depth: Int) throws -> [ManagedObjectContext] {
    var line = [container.newContext()]
    for _ in 0..<depth { line.insert(line[0].newChildContext(), at: 0) }
    return line
  }

  private func emails(_ container: PersistentContainer) throws -> [String: String] {
    let all = try container.newContext().fetch(Employee.fetchRequest())
    return Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0.email ?? "nil") })
  }

  @Test(
    "One save can exchange unique values, and move them from a deleted object to a new one",
    arguments: [0, 1, 2])
  func handedOn(depth: Int) throws {
    let container = try Staff.container(.engine)
    let line = try Self.line(container, depth)
    let top = line[line.count - 1]
    let workers = ["a", "b", "c", "d", "e"].map { top.worker($0, email: $0) }
    let nobody = top.worker("n")
    try top.save()
    // Children begin with the parent's unsaved changes.
    if depth > 0 { workers[4].email = "f" }
    for context in line.reversed() { context.refreshAllObjects() }
    let context = line[0]
    let mine = try workers.map { try context.same($0) }
    (mine[0].email, mine[1].email, mine[2].email) = (mine[1].email, mine[2].email, mine[0].email)
    context.delete(mine[3])
    let new = context.worker("new", email: "d")
    try context.same(nobody).email = mine[4].email
    mine[4].email = nil
    for context in line { try context.save() }
    let last = depth > 0 ? "f" : "e"
    let expected = ["a": "b", "b": "c", "c": "a", "e": "nil", "n": last, "new": "d"]
    #expect(try emails(container) == expected)
    #expect(new.email == "d")
    try expectWhole(container)
  }

  @Test("An upsert merges into the object that receives the unique value in the same save")
  func upsertOfMoved() throws {
    for depth in 0...1 {
      let container = try Staff.container(.engine)
      let line = try Self.line(container, depth)
      let top = line[line.count - 1]
      let (first, second) = (top.worker("first", email: "x"), top.worker("second", email: "y"))
      try top.save()
      for context in line.reversed() { context.refreshAllObjects() }
      let context = line[0]
      context.mergePolicy = .mergeByPropertyObjectTrump
      try context.same(first).email = "z"
      try context.same(second).email = "x"
      let new = context.worker("new", email: "x")
      for context in line { try context.save() }
      #expect(context.mergedObjectIDs[new.objectID] == second.objectID || depth > 0)
      #expect(try emails(container) == ["first": "z", "new": "x"], "\(depth)")
      try expectWhole(container)
    }
  }
}
