import Perdure
import Testing

// Conflicts of two contexts that change one object, by merge policy. `MergeTableTests` in
// PerdureTests tests every policy with every kind of conflict.

@Entity private final class Card: ManagedObject {
  var title: String = "base"
  var color: String = "base"
  var note: String = "base"
  @Attribute(.unique) var code: String?
  @Relationship(inverse: "cards") var tags: ToMany<Tag>
}

@Entity private final class Tag: ManagedObject {
  @Relationship(inverse: "tags") var cards: ToMany<Card>
}

@Suite("Parity with Core Data: merging")
struct MergeParityTests {
  private let container: PersistentContainer
  private let here: ManagedObjectContext
  private let there: ManagedObjectContext
  private let mine: Card
  private let theirs: Card

  /// Both contexts have read the card.
  init() throws {
    container = try Sandbox(Card.self, Tag.self).container
    there = container.newContext()
    theirs = Card(context: there)
    try there.save()
    here = container.newContext()
    mine = try #require(try here.existingObject(with: theirs.objectID) as? Card)
    #expect(mine.title == "base")
  }

  private func stored() throws -> [String]? {
    let cards = try container.newContext().fetch(Card.fetchRequest())
    return cards.first { $0.objectID == mine.objectID }.map { [$0.title, $0.color, $0.note] }
  }

  /// This context changes the title, the other context changes the note, and both contexts change
  /// the color. The other context saves first.
  private func changeBoth() throws {
    (mine.title, mine.color) = ("here", "here")
    (theirs.color, theirs.note) = ("there", "there")
    try there.save()
  }

  @Test("C3 The error policy, the default, fails with 133020 and does not change the context")
  func error() throws {
    try changeBoth()
    let error = #expect(throws: PerdureError.self) { try here.save() }
    #expect(error?.code.rawValue == 133_020)
    let properties = error?.conflicts.flatMap(\.properties) ?? []
    #expect(properties.map(\.property) == ["color"])
    #expect(here.hasChanges && mine.title == "here" && mine.color == "here")
    #expect(try stored() == ["base", "there", "there"])
  }

  @Test("C4 Store trump merges by property and keeps the stored value of a conflict")
  func storeTrump() throws {
    try changeBoth()
    here.mergePolicy = .mergeByPropertyStoreTrump
    try here.save()
    #expect(try stored() == ["here", "there", "there"])
    #expect([mine.title, mine.color, mine.note] == ["here", "there", "there"])
  }

  @Test("C5 Object trump merges by property and saves the local value of a conflict")
  func objectTrump() throws {
    try changeBoth()
    here.mergePolicy = .mergeByPropertyObjectTrump
    try here.save()
    #expect(try stored() == ["here", "here", "there"])
    #expect([mine.title, mine.color, mine.note] == ["here", "here", "there"])
  }

  @Test("C6 Overwrite saves all local values and reverts the other context's changes of the object")
  func overwrite() throws {
    try changeBoth()
    here.mergePolicy = .overwrite
    try here.save()
    #expect(try stored() == ["here", "here", "base"])
    #expect([mine.title, mine.color, mine.note] == ["here", "here", "base"] && !here.hasChanges)
  }

  @Test("C7 Rollback discards the local changes and shows the stored values")
  func rollback() throws {
    try changeBoth()
    here.mergePolicy = .rollback
    try here.save()
    #expect(try stored() == ["base", "there", "there"])
    #expect([mine.title, mine.color, mine.note] == ["base", "there", "there"])
    #expect(mine.changedValues().isEmpty && !here.hasChanges)
  }

  @Test(
    "C10 Changed here and deleted elsewhere: the policy rejects, deletes or inserts the object",
    arguments: StandardPolicy.allCases)
  private func deletedThere(_ policy: StandardPolicy) throws {
    mine.title = "here"
    there.delete(theirs)
    try there.save()
    here.mergePolicy = policy.policy
    switch policy {
    case .error:
      let error = #expect(throws: PerdureError.self) { try here.save() }
      #expect(error?.code.rawValue == 133_020 && error?.conflicts.first?.isDeletedInStore == true)
      #expect(try stored() == nil)
    case .storeTrump, .rollback:
      try here.save()
      #expect(try stored() == nil && !here.hasChanges)
    case .objectTrump, .overwrite:
      try here.save()
      #expect(try stored() == ["here", "base", "base"])
    }
  }

  @Test(
    "C10 Deleted here and changed elsewhere: the policy rejects, keeps or deletes the object",
    arguments: StandardPolicy.allCases)
  private func deletedHere(_ policy: StandardPolicy) throws {
    here.delete(mine)
    theirs.title = "there"
    try there.save()
    here.mergePolicy = policy.policy
    switch policy {
    case .error:
      let error = #expect(throws: PerdureError.self) { try here.save() }
      #expect(error?.code.rawValue == 133_020 && error?.conflicts.first?.isDeletedHere == true)
      #expect(try stored() == ["there", "base", "base"])
    case .storeTrump, .rollback:
      try here.save()
      #expect(try stored() == ["there", "base", "base"] && !here.hasChanges)
    case .objectTrump, .overwrite:
      try here.save()
      #expect(try stored() == nil)
    }
  }

  @Test("C9 A to-many relationship that both contexts change keeps all additions")
  func sets() throws {
    mine.tags.insert(Tag(context: here))
    theirs.tags.insert(Tag(context: there))
    try there.save()
    try here.save()
    let card = try #require(try container.newContext().existingObject(with: mine.objectID) as? Card)
    #expect(card.tags.count == 2 && card.tags.allSatisfy { $0.cards.contains(card) })
  }

  @Test(
    "C13 A unique value in use: the policy fails with 133021, or keeps the stored object",
    arguments: StandardPolicy.allCases)
  private func unique(_ policy: StandardPolicy) throws {
    (theirs.code, theirs.title) = ("a", "there")
    try there.save()
    let rival = Card(context: here)
    (rival.code, rival.title, rival.color) = ("a", "here", "here")
    here.mergePolicy = policy.policy
    guard policy != .error else {
      let error = #expect(throws: PerdureError.self) { try here.save() }
      #expect(error?.code.rawValue == 133_021)
      // After a repair, the context can be saved.
      rival.code = "b"
      return try here.save()
    }
    try here.save()
    let cards = try container.newContext().fetch(Card.fetchRequest())
    #expect(cards.map(\.objectID) == [theirs.objectID])
    let isFromHere = policy == .objectTrump || policy == .overwrite
    #expect(cards.first?.title == (isFromHere ? "here" : "there"))
  }
}

private enum StandardPolicy: CaseIterable {
  case error, storeTrump, objectTrump, overwrite, rollback

  var policy: MergePolicy {
    switch self {
    case .error: .error
    case .storeTrump: .mergeByPropertyStoreTrump
    case .objectTrump: .mergeByPropertyObjectTrump
    case .overwrite: .overwrite
    case .rollback: .rollback
    }
  }
}
