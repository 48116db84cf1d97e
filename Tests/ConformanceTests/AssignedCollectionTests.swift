import Foundation
import Perdure
import Testing

@Entity private final class Sender: ManagedObject {
  var name: String = ""
  @Relationship(inverse: "sender") var messages: ToMany<Letter>
  @Relationship(inverse: "readers") var queue: OrderedToMany<Letter>
}

@Entity private final class Letter: ManagedObject {
  var text: String = ""
  @Relationship(inverse: "messages") var sender: Sender?
  @Relationship(inverse: "queue") var readers: ToMany<Sender>
}

@Suite("Collections assigned to relationships")
struct AssignedCollectionTests {
  private let context: ManagedObjectContext
  private let sender: Sender
  private let (a, b, c): (Letter, Letter, Letter)

  init() throws {
    context = try Sandbox(Sender.self, Letter.self).container.newContext()
    sender = Sender(context: context)
    (a, b, c) = (Letter(context: context), Letter(context: context), Letter(context: context))
  }

  @Test("Assigning an array literal connects exactly its objects, each once, and a save stores the links")
  func literal() throws {
    sender.messages = [a, b, a]
    #expect(Set(sender.messages) == [a, b] && sender.messages.count == 2 && a.sender === sender)
    sender.messages = [b, c]
    #expect(Set(sender.messages) == [b, c] && a.sender == nil && c.sender === sender)
    try context.save()
    context.refreshAllObjects()
    #expect(Set(sender.messages) == [b, c])
    sender.messages = []
    #expect(sender.messages.isEmpty && b.sender == nil)
  }

  @Test("A literal sets the order of an ordered relationship")
  func ordered() throws {
    sender.queue = [c, a, c, b]
    #expect(Array(sender.queue) == [c, a, b])
    sender.queue = [b, c]
    try context.save()
    context.refreshAllObjects()
    #expect(sender.queue.array == [b, c] && a.readers.isEmpty)
  }

  @Test("An array, a set and another relationship can be assigned")
  func sequences() {
    let other = Sender(context: context)
    sender.messages = ToMany([a, b])
    #expect(Set(sender.messages) == [a, b])
    sender.messages = ToMany(Set([b, c]))
    #expect(Set(sender.messages) == [b, c])
    other.queue = OrderedToMany(sender.messages)
    #expect(Set(other.queue) == [b, c])
    sender.queue = OrderedToMany([c, b, a].reversed())
    #expect(Array(sender.queue) == [a, b, c])
  }

  @Test("A collection of objects can be read like a relationship")
  func reading() throws {
    let list = ToMany([a, b, a])
    #expect(list.count == 2 && !list.isEmpty && list.first === a && list.allObjects == [a, b])
    #expect(list.contains(a) && !list.contains(c) && list.contains(b.objectID) && !list.contains(c.objectID))
    #expect(list.objectIDs == [a.objectID, b.objectID])
    #expect(list.description == ToMany([b, a]).description)
    #expect(list.batches(of: 1).map(\.count) == [1, 1])
    let ordered: OrderedToMany<Letter> = [c, a, c]
    #expect(ordered.count == 2 && ordered[1] === a && ordered.first === c && ordered.last === a)
    #expect(ordered.firstIndex(of: a) == 1 && ordered.firstIndex(of: b) == nil && ordered.array == [c, a])
    #expect(ToMany<Letter>([]).isEmpty && OrderedToMany<Letter>([]).first == nil)
  }

  @Test("The generated functions take the collections of Foundation")
  func foundation() {
    sender.addToMessages(NSSet(array: [a, b]))
    #expect(Set(sender.messages.allObjects) == [a, b])
    sender.removeFromMessages(NSSet(object: a))
    #expect(sender.messages.allObjects == [b])
    sender.addToQueue(NSOrderedSet(array: [c, a]))
    sender.addToQueue([b])
    #expect(sender.queue.array == [c, a, b])
    sender.removeFromQueue(NSArray(array: [a, c]))
    sender.removeFromQueue([] as [Letter])
    #expect(sender.queue.array == [b])
    sender.messages.insert(contentsOf: NSSet(object: c))
    sender.messages.remove(contentsOf: [b])
    #expect(sender.messages.allObjects == [c])
  }

  @Test("mutableSetValue gives a view of the requested class")
  func typed() {
    let messages: ToMany<Letter> = sender.mutableSetValue(forKey: "messages")
    messages.insert(a)
    #expect(messages.first?.text == "" && a.sender === sender)
    let queue: OrderedToMany<Letter> = sender.mutableOrderedSetValue(forKey: "queue")
    queue.append(b)
    #expect(queue[0].text == "" && Array(sender.queue) == [b])
    sender.mutableSetValue(forKey: "messages").insert(c)
    sender.mutableOrderedSetValue(forKey: "queue").append(c)
    #expect(sender.messages.count == 2 && sender.queue.count == 2)
  }

  @Test("A literal can be set by name")
  func byName() {
    sender.setValue([a, b] as ToMany<Letter>, forKey: "messages")
    sender.setValue([b, a] as OrderedToMany<Letter>, forKey: "queue")
    #expect(Set(sender.messages) == [a, b] && Array(sender.queue) == [b, a])
  }

  #if os(Linux)
    @Test("Changing a collection of objects stops the program with a message that names the remedy")
    func stops() async throws {
      let result = try await #require(
        processExitsWith: .failure, observing: [\.standardErrorContent],
        performing: { ToMany<ManagedObject>([]).removeAll() })
      let words = String(decoding: result.standardErrorContent, as: UTF8.self)
      #expect(
        words.contains("belongs to no relationship, and cannot be changed. Assign it to a relationship"))
    }
  #endif
}
