import Perdure
import Testing

// Parity with Core Data for objects. Other suites test the details.

@Entity private final class Team: ManagedObject {
  var title: String?
  @Relationship(inverse: "team", deleteRule: .cascade, maxCount: 2) var players: ToMany<Player>
  @Relationship(inverse: "team", deleteRule: .deny) var trophies: ToMany<Trophy>
  @Relationship(inverse: "team", minCount: 2) var fans: ToMany<Fan>
}

@Entity private final class Player: ManagedObject {
  var name: String
  var score: Int = 3
  @Relationship(inverse: "players", deleteRule: .cascade) var team: Team?
}

@Entity private final class Trophy: ManagedObject {
  @Relationship(inverse: "trophies") var team: Team?
}

@Entity private final class Fan: ManagedObject {
  @Relationship(inverse: "fans") var team: Team?
}

@Suite("Parity with Core Data: objects")
struct ObjectParityTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext

  init() throws {
    container = try Sandbox(Team.self, Player.self, Trophy.self, Fan.self).container
    context = container.newContext()
  }

  private func player(_ name: String, _ team: Team? = nil) -> Player {
    let player = Player(context: context)
    player.name = name
    player.team = team
    return player
  }

  /// The validation errors of the next save, with codes, properties and values.
  private func violations() -> [String] {
    let error = #expect(throws: PerdureError.self) { try context.save() }
    return error?.details.map { "\($0.code.rawValue) \($0.property) \($0.value)" } ?? []
  }

  @Test("1.6 The id of a new object is temporary until the save, and permanent after it")
  func ids() throws {
    let player = player("p")
    let before = player.objectID
    #expect(before.isTemporaryID)
    try context.save()
    #expect(!player.objectID.isTemporaryID && player.objectID == before)
    #expect(try container.newContext().existingObject(with: before).value(forKey: "name") as? String == "p")
  }

  @Test("V4 1570 is the error for an absent required value")
  func missing() throws {
    let player = Player(context: context)
    #expect(violations() == ["1570 name NULL"])
    player.name = "p"
    try context.save()
    player.setValue(nil, forKey: "score")
    #expect(violations() == ["1570 score NULL"])
  }

  @Test("V4 1580 and 1590 are the errors for too few and too many related objects")
  func counts() throws {
    let team = Team(context: context)
    try context.save()
    team.fans.insert(Fan(context: context))
    #expect(violations() == ["1580 fans 1"])
    team.fans.insert(Fan(context: context))
    for name in ["a", "b", "c"] { team.addToPlayers(player(name)) }
    #expect(violations() == ["1590 players 3"])
    team.removeFromPlayers(try #require(team.players.first { $0.name == "c" }))
    try context.save()
    #expect(team.players.count == 2 && team.fans.count == 2)
  }

  @Test("R3 1600 is the error for a deletion that related objects deny")
  func deny() throws {
    let team = Team(context: context)
    team.addToTrophies(Trophy(context: context))
    try context.save()
    context.delete(team)
    #expect(violations() == ["1600 trophies 1"])
    #expect(team.isDeleted && context.hasChanges)
    context.rollback()
    #expect(!team.isDeleted && team.trophies.count == 1)
  }

  @Test("R4 A cascade follows a cycle and deletes each object once")
  func cycle() throws {
    let team = Team(context: context)
    let players = [player("a", team), player("b", team)]
    try context.save()
    context.delete(players[0])
    context.processPendingChanges()
    #expect(context.deletedObjects == [players[0], players[1], team])
    try context.save()
    #expect(try container.newContext().count(for: FetchRequest<Player>()) == 0)
    #expect(try container.newContext().count(for: FetchRequest<Team>()) == 0)
  }

  @Test("R3 processPendingChanges nullifies the inverse before a save")
  func nullify() throws {
    let team = Team(context: context)
    let fans = [Fan(context: context), Fan(context: context)]
    team.addToFans(fans)
    try context.save()
    context.delete(team)
    #expect(fans[0].team === team)
    context.processPendingChanges()
    #expect(fans.allSatisfy { $0.team == nil && $0.isUpdated })
    try context.save()
    #expect(fans.allSatisfy { $0.team == nil && !$0.isUpdated })
  }

  @Test("X2 changedValues has the differences from the store, and committedValues has the stored values")
  func changes() throws {
    let (team, player) = (Team(context: context), player("p"))
    try context.save()
    #expect(player.changedValues().isEmpty && !player.hasPersistentChangedValues)
    (player.name, player.team) = ("q", team)
    #expect(player.changedValues().keys.sorted() == ["name", "team"])
    #expect(player.changedValues()["name"] as? String == "q" && player.hasPersistentChangedValues)
    #expect(player.committedValues(forKeys: ["name"])["name"] as? String == "p")
    let committed = player.committedValues(forKeys: ["team"])
    #expect(committed.count == 1 && committed.values.allSatisfy { $0 == nil })
    #expect(team.changedValues()["players"] as? Set<ManagedObject> == [player])
    (player.name, player.team) = ("p", nil)
    #expect(player.changedValues().isEmpty && player.isUpdated && !player.hasPersistentChangedValues)
  }

  @Test("R2 setPrimitiveValue is not tracked")
  func primitive() throws {
    let player = player("p")
    try context.save()
    player.setPrimitiveValue(9, forKey: "score")
    #expect(player.score == 9 && !player.hasChanges && !context.hasChanges)
    context.refresh(player, mergeChanges: false)
    #expect(player.score == 3)
  }

  @Test("X12 A refresh that merges keeps changes, and a refresh without merging discards changes")
  func refresh() throws {
    let player = player("p")
    try context.save()
    let other = container.newContext()
    other.object(with: player.objectID).setValue(8, forKey: "score")
    player.name = "mine"
    try other.save()
    context.refresh(player, mergeChanges: true)
    #expect(player.name == "mine" && player.score == 8 && player.isUpdated)
    context.refresh(player, mergeChanges: false)
    #expect(player.isFault && player.name == "p" && player.score == 8 && !player.hasChanges)
  }

  @Test("X12 A rollback restores a deleted object and its links")
  func rollback() throws {
    let team = Team(context: context)
    let players = [player("a", team), player("b", team)]
    try context.save()
    context.delete(team)
    context.processPendingChanges()
    #expect(players.allSatisfy { $0.isDeleted })
    context.rollback()
    #expect(!team.isDeleted && Set(team.players) == Set(players) && !context.hasChanges)
    #expect(players[0].team === team)
  }

  @Test("X4 A fault whose row was removed counts as deleted and has no values")
  func gone() throws {
    let player = player("p")
    try context.save()
    let other = container.newContext()
    other.delete(other.object(with: player.objectID))
    try other.save()
    context.refresh(player, mergeChanges: false)
    #expect(player.isDeleted && player.name == "" && player.value(forKey: "name") == nil)
    #expect(throws: PerdureError.self) { _ = try other.existingObject(with: player.objectID) }
    try context.save()
  }
}
