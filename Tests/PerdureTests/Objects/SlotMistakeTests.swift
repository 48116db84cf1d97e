import Perdure
import Testing

/// A class without macros. Its accessors use wrong slots.
private final class Mistaken: ManagedObject {
  override class var entityDescription: EntityDescription {
    EntityDescription(
      "Mistaken",
      properties: [.string("name", optional: false), .int16("age", default: 3), .toOne("next", "Mistaken")])
  }

  var beyond: String {
    get { _get(7) }
    set { _set(7, newValue) }
  }
  var before: String { _get(-1) }
  var text: String { _get(1) }
  var count: ToMany<Mistaken> { _get(1) }
  var friend: Mistaken? { _get(0) }
  var value: Int { _get(2) }
}

@Suite("Accessors with a wrong slot stop the program with a list of the slots")
struct SlotMistakeTests {
  /// Calls of wrong accessors, each with a part of its message.
  private static let mistakes: [(call: @Sendable (Mistaken) -> Void, said: String)] = [
    ({ _ = $0.beyond }, "Mistaken has an accessor for slot 7, which its entity does not have."),
    ({ $0.beyond = "a" }, "Mistaken has an accessor for slot 7, which its entity does not have."),
    ({ _ = $0.before }, "Mistaken has an accessor for slot -1, which its entity does not have."),
    (
      { _ = $0.text }, "Mistaken.age, slot 1, holds a number, but an accessor of Mistaken reads it as String."
    ),
    (
      { _ = $0.count.count },
      "An accessor reads slot 1 of Mistaken as a relationship, but it is an attribute."
    ),
    ({ _ = $0.friend }, "An accessor reads slot 0 of Mistaken as a relationship, but it is an attribute."),
    (
      { _ = $0.value },
      "Mistaken.next, slot 2, is a relationship, but an accessor of Mistaken reads it as an attribute"
    ),
  ]

  @Test("The message describes the mistake and lists the slots", arguments: 0..<7)
  func sentences(_ number: Int) async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      [number = number as Int] in
      let container = try PersistentContainer(name: "x", classes: [Mistaken.self], description: .inMemory)
      try container.loadPersistentStores()
      Self.mistakes[number].call(Mistaken(context: container.newContext()))
    }
    let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(said.contains(Self.mistakes[number].said), "\(said)")
    #expect(said.contains("The slots of Mistaken are 0 name, 1 age, 2 next:"), "\(said)")
  }
}
