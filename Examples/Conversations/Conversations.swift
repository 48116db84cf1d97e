// Users with ordered messages and conversations, as in a messenger.
//
//     swift run Conversations

import Perdure

@Entity
final class User: ManagedObject {
  @Attribute(.unique) var handle: String
  var name: String = ""
  // Each user has a separate order, with important conversations first.
  @Relationship(inverse: "members") var conversations: OrderedToMany<Conversation>
  @Relationship(inverse: "author") var messages: ToMany<Message>
}

@Entity
final class Conversation: ManagedObject {
  var title: String
  @Relationship(inverse: "conversations") var members: ToMany<User>
  @Relationship(inverse: "conversation", deleteRule: .cascade) var messages: OrderedToMany<Message>
  @Attribute(derived: "messages.@count") private(set) var messageCount: Int
}

@Entity
final class Message: ManagedObject {
  var text: String
  @Relationship(inverse: "messages") var conversation: Conversation?
  @Relationship(inverse: "messages") var author: User?
}

@main
enum Program {
  static func main() throws {
    let container = try PersistentContainer(
      name: "Conversations", classes: [User.self, Conversation.self, Message.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let moon = try talk(context)
    try pin(context)
    try writeOnTwoDevices(container, moon.objectID)
    context.refreshAllObjects()
    show(moon)
    try rearrange(context, moon)
    try meetAgain(container)
    try leave(context, moon)
  }

  private static func user(_ handle: String, _ context: ManagedObjectContext) throws -> User {
    if let known = try context.fetch(User.fetchRequest { $0.handle == handle }).first { return known }
    let user = User(context: context)
    user.handle = handle
    return user
  }

  private static func message(_ text: String, by author: User, _ context: ManagedObjectContext) -> Message {
    let message = Message(context: context)
    (message.text, message.author) = (text, author)
    return message
  }

  private static func show(_ conversation: Conversation) {
    let lines = conversation.messages.map { "\($0.author?.handle ?? "somebody"): \($0.text)" }
    print("\(conversation.title), \(conversation.messageCount) messages: " + lines.joined(separator: " | "))
  }

  /// A new conversation is added at the end of each member's order.
  private static func talk(_ context: ManagedObjectContext) throws -> Conversation {
    let (ada, grace) = (try user("ada", context), try user("grace", context))
    var made: [Conversation] = []
    for title in ["Moon", "Lunch", "Bugs"] {
      let conversation = Conversation(context: context)
      conversation.title = title
      conversation.members.insert(contentsOf: [ada, grace])
      made.append(conversation)
    }
    made[0].messages.append(message("Are we there?", by: ada, context))
    made[0].messages.append(message("Not yet.", by: grace, context))
    try context.save()
    show(made[0])
    return made[0]
  }

  /// In a many-to-many relationship, an ordered end has a separate order for each owner. So the
  /// order of Grace is unchanged.
  private static func pin(_ context: ManagedObjectContext) throws {
    let (ada, grace) = (try user("ada", context), try user("grace", context))
    ada.conversations.move(from: 2, to: 0)
    try context.save()
    for user in [ada, grace] {
      print("\(user.handle): " + user.conversations.map(\.title).joined(separator: ", "))
    }
  }

  /// Two contexts that start from the same state change one order. No change is lost.
  private static func writeOnTwoDevices(_ container: PersistentContainer, _ id: ManagedObjectID) throws {
    let devices = [container.newContext(), container.newContext()]
    let texts = ["Soon.", "Welcome!"]
    for (number, device) in devices.enumerated() {
      guard let moon = try device.existingObject(with: id) as? Conversation else { continue }
      let written = message(texts[number], by: try user("li", device), device)
      moon.messages.insert(written, at: number == 0 ? moon.messages.count : 0)
    }
    // Both contexts have made a user with the same handle. The user that is stored first remains,
    // and gets both messages.
    devices[1].mergePolicy = .mergeByPropertyObjectTrump
    for device in devices { try device.save() }
  }

  private static func rearrange(_ context: ManagedObjectContext, _ moon: Conversation) throws {
    moon.messages.move(from: 0, to: moon.messages.count - 1)
    context.delete(moon.messages[1])
    try context.save()
    show(moon)
  }

  /// Updates users from a server's list. Known users keep their identity and their messages.
  private static func meetAgain(_ container: PersistentContainer) throws {
    let context = container.newContext()
    context.mergePolicy = .mergeByPropertyObjectTrump
    for (handle, name) in [("li", "Li"), ("joan", "Joan")] {
      let user = User(context: context)
      (user.handle, user.name) = (handle, name)
    }
    try context.save()
    for user in try context.fetch(User.fetchRequest { $0.name != "" }).sorted(by: { $0.handle < $1.handle }) {
      print("\(user.name) has written \(user.messages.count)")
    }
  }

  /// Deleting a conversation deletes its messages, but not its members.
  private static func leave(_ context: ManagedObjectContext, _ moon: Conversation) throws {
    context.refreshAllObjects()
    context.delete(moon)
    try context.save()
    let users = try context.count(for: User.fetchRequest())
    print("\(try context.count(for: Message.fetchRequest())) messages and \(users) users are left")
    print("ada: " + (try user("ada", context)).conversations.map(\.title).joined(separator: ", "))
  }
}
