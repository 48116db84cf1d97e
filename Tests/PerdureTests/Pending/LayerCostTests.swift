// The work of a fetch between edits of one owner with many unsaved links.

import PerdureModel
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("The cost of fetches between edits of one owner")
struct LayerCostTests {
  /// An owner and a relationship to edit.
  struct Case: Sendable, CustomTestStringConvertible {
    let key: String
    let target: String
    let isStored: Bool

    var testDescription: String { "\(isStored ? "stored" : "new") List.\(key)" }
  }

  static let cases = [true, false].flatMap { isStored in
    [
      Case(key: "items", target: "Item", isStored: isStored),
      Case(key: "tags", target: "Tag", isStored: isStored),
      Case(key: "seen", target: "Item", isStored: isStored),
      Case(key: "words", target: "Word", isStored: isStored),
      Case(key: "notes", target: "Note", isStored: isStored),
    ]
  }

  /// The maximum number of rows, links and places that the edit of one link changes, with repeats.
  private let partCountMax = 8

  private func scene() throws -> ModelScene {
    try ModelScene(
      on: .current,
      EntityDescription(
        "List",
        properties: [
          .string("name"), .string("text"),
          .toMany("items", "Item", inverse: "list", ordered: true),
          .toMany("tags", "Tag", inverse: "lists", ordered: true), .toMany("seen", "Item", ordered: true),
          .toMany("words", "Word", inverse: "lists"), .toMany("notes", "Note", inverse: "list"),
        ]),
      EntityDescription("Item", properties: [.int64("number"), .toOne("list", "List", inverse: "items")]),
      EntityDescription("Tag", properties: [.toMany("lists", "List", inverse: "tags", ordered: true)]),
      EntityDescription("Word", properties: [.toMany("lists", "List", inverse: "words")]),
      EntityDescription("Note", properties: [.toOne("list", "List", inverse: "notes")]))
  }

  private func fetchAll(_ scene: ModelScene) throws {
    _ = try scene.context.count(for: FetchRequest<ManagedObject>(entityName: "List"))
  }

  private func add(_ target: ManagedObject, to list: ManagedObject, _ key: String) {
    if ["items", "tags", "seen"].contains(key) {
      list.ordered(key).append(target)
    } else {
      list.mutableSetValue(forKey: key).insert(target)
    }
  }

  private func remove(_ target: ManagedObject, from list: ManagedObject, _ key: String) {
    if ["items", "tags", "seen"].contains(key) {
      list.ordered(key).remove(target)
    } else {
      list.mutableSetValue(forKey: key).remove(target)
    }
  }

  @Test(
    "A fetch updates the layer only for the links that were edited since the last fetch", arguments: cases)
  func links(_ edited: Case) throws {
    let scene = try scene()
    let list = scene.new("List")
    let targets = (0..<300).map { _ in scene.new(edited.target) }
    if edited.isStored { try scene.saveWhole() }
    list.setValue(String(repeating: "text ", count: 1000), forKey: "text")
    try fetchAll(scene)
    let builder = try #require(scene.context.core.reading.layerFollower.contextLayer).builder
    var counts = [builder.partCount]
    for target in targets {
      add(target, to: list, edited.key)
      try fetchAll(scene)
      counts.append(builder.partCount)
    }
    try expectLayer(scene.context)
    for target in targets.prefix(20) {
      remove(target, from: list, edited.key)
      try fetchAll(scene)
      counts.append(builder.partCount)
    }
    try expectLayer(scene.context)
    let differences = zip(counts.dropFirst(), counts).map { $0 - $1 }
    #expect(differences.allSatisfy { (1...partCountMax).contains($0) }, "\(differences)")
    #expect(scene.context.core.reading.layerFollower.contextLayer?.builder === builder)
  }

  @Test("A fetch after an edit of a column of an owner updates the layer only for the owner's row")
  func row() throws {
    let scene = try scene()
    let list = scene.new("List")
    for _ in 0..<100 { list.ordered("tags").append(scene.new("Tag")) }
    try fetchAll(scene)
    let builder = try #require(scene.context.core.reading.layerFollower.contextLayer).builder
    let count = builder.partCount
    list.setValue("name", forKey: "name")
    try fetchAll(scene)
    #expect(builder.partCount - count == 1)
    try expectLayer(scene.context)
  }

  @Test("Many edits of one link before a fetch record at most 64 members, and the layer is correct")
  func manyEdits() throws {
    let scene = try scene()
    let (list, word) = (scene.new("List"), scene.new("Word"))
    try fetchAll(scene)
    for _ in 0..<1000 {
      add(word, to: list, "words")
      remove(word, from: list, "words")
    }
    add(word, to: list, "words")
    let overlay = try #require(scene.context.core.pending[list.reference])
    #expect(overlay.editedMembers.count <= 64)
    try fetchAll(scene)
    try expectLayer(scene.context)
  }

  @Test("After deletions of an owner and its member, and after a rollback, the layer equals a new layer")
  func deletion() throws {
    let scene = try scene()
    let list = scene.new("List")
    let words = (0..<3).map { _ in scene.new("Word") }
    for word in words.prefix(2) { add(word, to: list, "words") }
    try scene.saveWhole()
    add(words[2], to: list, "words")
    try fetchAll(scene)
    remove(words[0], from: list, "words")
    scene.context.delete(list)
    try fetchAll(scene)
    try expectLayer(scene.context)
    scene.context.delete(words[1])
    try fetchAll(scene)
    try expectLayer(scene.context)
    scene.context.rollback()
    add(words[2], to: list, "words")
    try fetchAll(scene)
    try expectLayer(scene.context)
  }
}
