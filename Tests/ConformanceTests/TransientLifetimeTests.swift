import Foundation
import Perdure
import PerdureTestSupport
import Testing

/// Calls a closure when the instance is released.
private final class Caller {
  private let action: () -> Void
  init(_ action: @escaping () -> Void) { self.action = action }
  deinit { action() }
}

private final class Cache { var entries: [Int] = [] }

@Entity private final class Node: ManagedObject {
  var title: String?
  @Attribute(.transient) var zoom: Double = 1
  @Attribute(.transient) var partner: Node?
  @Attribute(.transient) var caller: Caller?
  @Attribute(.transient) var cache: Cache = Cache()
  @Attribute(.transient) var notes: [String] = ["new"]
}

/// Behaviour T2 of Core Data (README.md): values of transient attributes are released.
@Suite("Release of transient values")
struct TransientLifetimeTests {
  private func pair(_ context: ManagedObjectContext) throws -> (Node, Node) {
    let (first, second) = (Node(context: context), Node(context: context))
    first.title = "1"
    second.title = "2"
    try context.save()
    return (first, second)
  }

  @Test("A context that is released with an unsaved change does not retain the earlier value")
  func unsaved() throws {
    let sandbox = try Sandbox(Node.self)
    weak var held: Node?
    do {
      let context = sandbox.container.newContext()
      let (first, second) = try pair(context)
      first.partner = second
      try context.save()
      first.partner = nil
      held = second
    }
    #expect(held == nil)
  }

  @Test("A change after the release of the context does not retain the earlier value")
  func late() throws {
    let sandbox = try Sandbox(Node.self)
    weak var held: Node?
    do {
      let first = try {
        let context = sandbox.container.newContext()
        return try pair(context).0
      }()
      let caller = Caller {}
      first.caller = caller
      first.zoom = 2
      #expect(first.zoom == 2 && first.caller === caller)
      first.caller = nil
      held = first
    }
    #expect(held == nil)
  }

  @Test("Objects that retain each other are freed with their context", arguments: [false, true])
  func circle(isSaved: Bool) throws {
    let sandbox = try Sandbox(Node.self)
    weak var held: Node?
    do {
      let context = sandbox.container.newContext()
      let (first, second) = try pair(context)
      first.partner = second
      second.partner = first
      if isSaved { try context.save() }
      held = second
    }
    #expect(held == nil)
  }

  @Test("An object that outlives its context has default transient values")
  func outliving() throws {
    let node = try {
      let context = try Sandbox(Node.self).container.newContext()
      let (first, _) = try pair(context)
      first.zoom = 2
      try context.save()
      #expect(first.zoom == 2)
      return first
    }()
    #expect(node.managedObjectContext == nil && node.zoom == 1 && node.title == "1")
  }

  @Test(
    "Objects that retain each other are freed after a deletion by any context",
    arguments: [false, true])
  func deletedCircle(isElsewhere: Bool) throws {
    let sandbox = try Sandbox(Node.self)
    let context = sandbox.container.newContext()
    weak var held: Node?
    do {
      let (first, second) = try pair(context)
      first.partner = second
      second.partner = first
      try context.save()
      held = second
      let deleting = isElsewhere ? sandbox.container.newContext() : context
      for node in try deleting.fetch(FetchRequest<Node>()) { deleting.delete(node) }
      try deleting.save()
      context.refreshAllObjects()
      #expect(first.title == (isElsewhere ? nil : "1"))
      #expect(second.title == (isElsewhere ? nil : "2"))
      #expect(first.partner == nil)
    }
    #expect(held == nil)
  }

  @Test("A reset is complete before the deinit of a released value sets a property")
  func reset() throws {
    let sandbox = try Sandbox(Node.self)
    let context = sandbox.container.newContext()
    let (first, second) = try pair(context)
    first.caller = Caller { second.title = "late" }
    second.caller = Caller { first.title = "late" }
    try context.save()
    context.reset()
    #expect(context.updatedObjects.isEmpty)
    #expect(refusals(context) == ["133000 title", "133000 title"])
    try context.save()
    #expect(Set(try context.fetch(FetchRequest<Node>()).map(\.title)) == ["1", "2"])
  }

  @Test(
    "A rollback is complete before the deinit of a released value sets a property")
  func rollback() throws {
    let sandbox = try Sandbox(Node.self)
    let context = sandbox.container.newContext()
    let (first, second) = try pair(context)
    first.caller = Caller { second.title = "late" }
    second.caller = Caller { first.title = "late" }
    context.rollback()
    #expect(context.updatedObjects == [first, second])
    #expect(first.title == "late" && second.title == "late" && first.caller == nil)
    try context.save()
    #expect(try sandbox.container.newContext().fetch(FetchRequest<Node>()).map(\.title) == ["late", "late"])
  }

  @Test("A save is complete before the deinit of a released value sets a property")
  func saving() throws {
    let sandbox = try Sandbox(Node.self)
    let context = sandbox.container.newContext()
    let (first, second) = try pair(context)
    first.caller = Caller { second.title = "late" }
    second.caller = Caller { first.title = "late" }
    try context.save()
    (first.caller, second.caller) = (nil, nil)
    #expect(first.title == "1" && second.title == "2")
    try context.save()
    #expect(context.updatedObjects == [first, second])
    try context.save()
    #expect(try sandbox.container.newContext().fetch(FetchRequest<Node>()).map(\.title) == ["late", "late"])
  }

  @Test("A refresh is complete before the deinit of a released value sets a property")
  func refreshing() throws {
    let context = try Sandbox(Node.self).container.newContext()
    let (first, second) = try pair(context)
    first.caller = Caller { first.title = "late" }
    context.refresh(first, mergeChanges: false)
    #expect(first.title == "late" && first.isUpdated && first.caller == nil)
    context.rollback()
    first.caller = Caller { second.title = "late" }
    second.caller = Caller { first.title = "late" }
    try context.save()
    context.refreshAllObjects()
    #expect(context.updatedObjects == [first, second])
  }

  @Test(
    "A refresh discards transient changes of an object whose row was removed, and the next save reports them")
  func removedElsewhere() throws {
    let sandbox = try Sandbox(Node.self)
    let context = sandbox.container.newContext()
    let (first, second) = try pair(context)
    first.zoom = 2
    second.zoom = 2
    let other = sandbox.container.newContext()
    for node in try other.fetch(FetchRequest<Node>()) { other.delete(node) }
    try other.save()
    context.refresh(first, mergeChanges: true)
    #expect(first.isDeleted && !first.hasChanges && context.updatedObjects == [second])
    context.refreshAllObjects()
    #expect(second.isDeleted && context.hasChanges && second.zoom == 1)
    #expect(refusals(context) == ["133000 zoom", "133000 zoom"])
    try context.save()
  }

  @Test("A rollback keeps a default that a read has generated")
  func madeDefaults() throws {
    let context = try Sandbox(Node.self).container.newContext()
    let (node, _) = try pair(context)
    node.zoom = 2
    #expect(node.value(forKey: "cache") == nil)
    let cache = node.cache
    #expect(node.value(forKey: "cache") as? Cache === cache)
    cache.entries.append(1)
    context.rollback()
    #expect(node.zoom == 1 && node.cache === cache)
    #expect(!context.hasChanges)
  }

  @Test("After nil is set by name, the property reads as its default, and value(forKey:) returns nil")
  func takenAway() throws {
    let context = try Sandbox(Node.self).container.newContext()
    let (node, _) = try pair(context)
    node.setValue(nil, forKey: "notes")
    #expect(node.notes == ["new"] && node.value(forKey: "notes") == nil)
    node.notes = ["set"]
    #expect(node.notes == ["set"] && node.value(forKey: "notes") as? [String] == ["set"])
  }
}
