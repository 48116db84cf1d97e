// Ordered relationships of classes, and the findings of a verification about order keys.

import PerdureLog
import PerdureModel
import Testing

@testable import Perdure

@Entity
private final class Conversation: ManagedObject {
  var title: String
  @Relationship(inverse: "conversation", deleteRule: .cascade) var messages: OrderedToMany<Message>
  @Relationship(inverse: "conversations") var users: Perdure.OrderedToMany<User>
}

@Entity
private final class Message: ManagedObject {
  var text: String
  @Relationship(inverse: "messages") var conversation: Conversation?
}

@Entity
private final class User: ManagedObject {
  var name: String
  @Relationship(inverse: "users") var conversations: ToMany<Conversation>
}

@Suite("Ordered relationships of classes")
struct OrderedClassTests {
  private func context() throws -> ManagedObjectContext {
    let container = try PersistentContainer(
      name: "Chat", classes: [Conversation.self, Message.self, User.self], description: .inMemory)
    try container.loadPersistentStores()
    return container.newContext()
  }

  private func message(_ text: String, in context: ManagedObjectContext) -> Message {
    let message = Message(context: context)
    message.text = text
    return message
  }

  @Test("The insertion of several objects skips removed ones, and the next save reports them")
  func removedAmongOthers() throws {
    let context = try context()
    let (conversation, removed) = (Conversation(context: context), message("removed", in: context))
    conversation.title = "A"
    context.delete(removed)
    context.processPendingChanges()
    let (first, second) = (message("first", in: context), message("second", in: context))
    conversation.messages.insert(contentsOf: [removed, first, removed, second], at: 0)
    #expect(conversation.messages.map(\.text) == ["first", "second"])
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .objectNotFound)
    context.rollback()
  }

  @Test("The first object of an unordered relationship is the first of an iteration, or nil")
  func firstOfUnordered() throws {
    let context = try context()
    let user = User(context: context)
    user.name = "Ada"
    #expect(user.conversations.first == nil)
    for title in ["A", "B"] {
      let conversation = Conversation(context: context)
      conversation.title = title
      user.conversations.insert(conversation)
    }
    #expect(user.conversations.first == Array(user.conversations).first)
    try context.save()
    context.reset()
    let again = try #require(try context.fetch(User.self).first)
    #expect(["A", "B"].contains(again.conversations.first?.title))
  }

  @Test("A property for an ordered relationship has an ordered type, and methods that use positions")
  func accessors() throws {
    let context = try context()
    let conversation = Conversation(context: context)
    conversation.title = "A"
    let (first, second, third) = (
      message("1", in: context), message("2", in: context), message("3", in: context)
    )
    conversation.addToMessages([second, third])
    conversation.insertIntoMessages(first, at: 0)
    #expect(conversation.messages.map(\.text) == ["1", "2", "3"] && first.conversation == conversation)
    try context.save()
    conversation.removeFromMessages(at: 1)
    let fourth = message("4", in: context)
    conversation.replaceMessages(at: 0, with: fourth)
    #expect(conversation.messages.map(\.text) == ["4", "3"] && conversation.messages.last == third)
    conversation.removeFromMessages([third])
    conversation.addToMessages(first)
    try context.save()
    #expect(conversation.messages.map(\.text) == ["4", "1"])
    let other = Conversation(context: context)
    other.title = "B"
    other.messages = conversation.messages
    #expect(other.messages.map(\.text) == ["4", "1"] && conversation.messages.isEmpty)
  }

  @Test("A relationship can be ordered at one end, even in predicates and snapshots")
  func oneEnd() throws {
    let context = try context()
    let conversation = Conversation(context: context)
    conversation.title = "A"
    for name in ["x", "y", "z"] {
      let user = User(context: context)
      user.name = name
      conversation.users.insert(user, at: 0)
    }
    try context.save()
    #expect(conversation.users.map(\.name) == ["z", "y", "x"])
    let found = try context.fetch(
      FetchRequest<Conversation>(predicate: FetchPredicate(format: "ANY users.name == 'y'")))
    #expect(found == [conversation])
    let snapshot = try conversation.snapshot(including: ["users"])
    #expect(snapshot["users"]?.objects.map { $0["name"]?.value } == ["z", "y", "x"].map { .string($0) })
  }

  @Test("G7: Verification finds an order key without a link, but accepts a link without an order key")
  func verification() throws {
    let scene = try listScene(on: .stored)
    let list = scene.new("List")
    let items = (0..<3).map { _ in scene.new("Item") }
    let stranger = scene.new("Item")
    list.ordered("items").append(contentsOf: items)
    try scene.saveWhole()
    let core = scene.context.core
    let relationship = core.graph.shape(named: "List")?.relationships.first { $0.order != nil }
    let index = try #require(relationship?.order?.keys)
    func link(_ member: ManagedObject) -> StoreLink {
      StoreLink(index: index, source: list.reference, target: member.reference)
    }
    func commit(_ fill: (inout StoreChange) -> Void) throws {
      var change = StoreChange(view: core.store.view(), schema: core.store.schema, durability: .relaxed)
      fill(&change)
      _ = try core.store.commit(change)
      scene.context.refreshAllObjects()
    }
    let key = try #require(OrderKey([1]))
    try commit { $0.places = [StoreOrderKey(link: link(stranger), key: key)] }
    #expect(verified(scene).findings.map(\.invariant) == [7], "\(verified(scene).findings)")
    #expect(Array(list.ordered("items")) == items)
    #expect((0..<3).map { list.ordered("items")[$0] } == items)
    list.ordered("items").move(items[0], to: 1)
    try scene.saveWhole()
    #expect(Array(list.ordered("items")) == [items[1], items[0], items[2]])

    try commit { $0.linksRemoved = [link(items[0])] }
    #expect(verified(scene).isClean && verified(scene).membersWithoutPlace == 1)
    #expect(Array(list.ordered("items")) == [items[1], items[2], items[0]])
    #expect((0..<3).map { list.ordered("items")[$0] } == [items[1], items[2], items[0]])
    list.ordered("items").move(items[0], to: 0)
    try scene.saveWhole()
    #expect(Array(list.ordered("items")) == items && verified(scene).membersWithoutPlace == 0)
  }

  private func verified(_ scene: ModelScene) -> GraphVerificationReport {
    let core = scene.container.newContext().core
    return GraphVerification(core.viewState.view, scene.container.managedObjectModel).run()
  }
}
