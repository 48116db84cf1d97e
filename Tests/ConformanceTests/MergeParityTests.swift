import Perdure
import Testing

// What two contexts make of one object, policy by policy, in Core Data's words. PerdureTests hold
// every policy against every kind of conflict (`MergeTableTests`).

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

@Suite("Merging: what a Core Data user tries first")
struct MergeParityTests {
  private let container: PersistentContainer
  private let here: ManagedObjectContext
  private let there: ManagedObjectContext
  private let mine: Card
  private let theirs: Card

  /// Both have seen the card.
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

  /// This context changes the title, the other the note, and both the color; the other context
  /// saves first.
  private func changeBoth() throws {
    (mine.title, mine.color) = ("here", "here")
    (theirs.color, theirs.note) = ("there", "there")
    try there.save()
  }

  @Test("C3 The error policy, which is the first, refuses with 133020 and leaves the context as it is")
  func error() throws {
    try changeBoth()
    let error = #expect(throws: PerdureError.self) { try here.save() }
    #expect(error?.code.rawValue == 133_020)
    let properties = error?.conflicts.flatMap(\.properties) ?? []
    #expect(properties.map(\.property) == ["color"])
    #expect(here.hasChanges && mine.title == "here" && mine.color == "here")
    #expect(try stored() == ["base", "there", "there"])
  }

  @Test("C4 Store trump merges property by property; of two changed values the stored one stays")
  func storeTrump() throws {
    try changeBoth()
    here.mergePolicy = .mergeByPropertyStoreTrump
    try here.save()
    #expect(try stored() == ["here", "there", "there"])
    #expect([mine.title, mine.color, mine.note] == ["here", "there", "there"])
  }

  @Test("C5 Object trump merges property by property; of two changed values the local one is saved")
  func objectTrump() throws {
    try changeBoth()
    here.mergePolicy = .mergeByPropertyObjectTrump
    try here.save()
    #expect(try stored() == ["here", "here", "there"])
    #expect([mine.title, mine.color, mine.note] == ["here", "here", "there"])
  }

  @Test("C6 Overwrite saves the object as it is here, and takes back what others have changed of it")
  func overwrite() throws {
    try changeBoth()
    here.mergePolicy = .overwrite
    try here.save()
    #expect(try stored() == ["here", "here", "base"])
    #expect([mine.title, mine.color, mine.note] == ["here", "here", "base"] && !here.hasChanges)
  }

  @Test("C7 Rollback drops the local changes, and shows the stored values")
  func rollback() throws {
    try changeBoth()
    here.mergePolicy = .rollback
    try here.save()
    #expect(try stored() == ["base", "there", "there"])
    #expect([mine.title, mine.color, mine.note] == ["base", "there", "there"])
    #expect(mine.changedValues().isEmpty && !here.hasChanges)
  }

  @Test(
    "C10 Changed here and deleted there: refused, deleted, or inserted again with its id, by policy",
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
    "C10 Deleted here and changed there: refused, kept, or deleted, by policy",
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

  @Test("C9 Of a to-many relationship that both have changed nothing is lost")
  func sets() throws {
    mine.tags.insert(Tag(context: here))
    theirs.tags.insert(Tag(context: there))
    try there.save()
    try here.save()
    let card = try #require(try container.newContext().existingObject(with: mine.objectID) as? Card)
    #expect(card.tags.count == 2 && card.tags.allSatisfy { $0.cards.contains(card) })
  }

  @Test(
    "C13 A unique value that is taken: 133021 by the error policy; else one object is left, with the id that was stored",
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
      // Repaired, it saves.
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
