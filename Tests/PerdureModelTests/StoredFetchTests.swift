import PerdureTestSupport
import Testing

@testable import PerdureModel

/// A request with a value other than the default in every setting.
private let fullRequest: FetchRequestDescription = {
  var request = FetchRequestDescription(
    "E", "n  ==  $x", sortDescriptors: [FetchOrder("n"), FetchOrder("es.@count", ascending: false)],
    fetchLimit: 7)
  request.fetchOffset = 8
  request.fetchBatchSize = 9
  request.resultType = .managedObjectIDs
  request.includesSubentities = false
  request.includesPendingChanges = false
  request.includesPropertyValues = false
  request.returnsObjectsAsFaults = false
  request.returnsDistinctResults = true
  request.relationshipKeyPathsForPrefetching = ["es.e"]
  return request
}()

private func model(
  _ templates: [FetchRequestTemplate] = [], fetched: [FetchedPropertyDescription] = []
) throws -> ManagedObjectModel {
  try ManagedObjectModel(
    [
      EntityDescription(
        "E", properties: [.string("n"), .toMany("es", "E", inverse: "e"), .toOne("e", "E", inverse: "es")],
        fetchedProperties: fetched)
    ], templates: templates)
}

/// The additional bytes at the end of a stored model, compared with the same model without
/// templates and fetched properties. Byte 6 is the number of sections.
private func addedBytes(
  _ templates: [FetchRequestTemplate] = [], fetched: [FetchedPropertyDescription] = []
) throws -> [UInt8] {
  var without = try StoredModel.initial(for: model()).encode()
  let with = try StoredModel.initial(for: model(templates, fetched: fetched)).encode()
  without[6] = with[6]
  try #require(with.starts(with: without))
  return Array(with[without.count...])
}

private func text(_ text: String) -> [UInt8] { [UInt8(text.utf8.count), 0, 0, 0] + Array(text.utf8) }

@Suite("Templates and fetched properties in stored models")
struct StoredFetchTests {
  @Test("Every setting of a template and of a fetched property is stored and read")
  func everySetting() throws {
    var objects = fullRequest
    objects.resultType = .managedObjects
    objects.predicateFormat = "n == $FETCHED_PROPERTY.userInfo.key"
    let first = try model(
      [FetchRequestTemplate("z", fullRequest), FetchRequestTemplate("a", "E")],
      fetched: [
        FetchedPropertyDescription("f", objects, isCached: false, userInfo: ["key": "x", "b": ""]),
        FetchedPropertyDescription("g", "E"),
      ])
    let stored = try StoredModel.initial(for: first)
    let read = try StoredModel(decoding: stored.encode())
    #expect(read.model.fetchRequestTemplates == first.fetchRequestTemplates)
    #expect(read.model.entities == first.entities)
    #expect(read.encode() == stored.encode())
    #expect(read.model.fetchRequestTemplateVariables(forName: "z") == ["x": .attribute(.string)])
  }

  @Test("A template has the expected bytes in section 32")
  func templateBytes() throws {
    let request =
      text("E") + [1] + text("n  ==  $x") + [2, 0, 0, 0] + text("n") + [1] + text("es.@count") + [0]
      + [7, 0, 0, 0, 8, 0, 0, 0, 9, 0, 0, 0] + [1] + [0, 0, 0, 0, 1] + [1, 0, 0, 0] + text("es.e")
    let content = [1, 0, 0, 0] + text("rich") + request
    let bytes = try addedBytes([FetchRequestTemplate("rich", fullRequest)])
    #expect(bytes == [32, 0, 0, 0, UInt8(content.count), 0, 0, 0] + content)
  }

  @Test("A fetched property has the expected bytes in section 33")
  func fetchedBytes() throws {
    let request =
      text("E") + [0] + [0, 0, 0, 0] + [3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] + [0] + [1, 1, 1, 1, 0]
      + [0, 0, 0, 0]
    let content =
      [1, 0, 0, 0] + [1, 0] + [1, 0, 0, 0] + text("f") + request + [1] + [1, 0, 0, 0] + text("k")
      + text("v")
    let bytes = try addedBytes(fetched: [
      FetchedPropertyDescription("f", "E", fetchLimit: 3, userInfo: ["k": "v"])
    ])
    #expect(bytes == [33, 0, 0, 0, UInt8(content.count), 0, 0, 0] + content)
  }

  @Test("A changed template or fetched property is adopted and stored, and rows stay the same")
  func adopted() throws {
    let first = try StoredModel.initial(for: model([FetchRequestTemplate("a", "E")]))
    let changed = try model(
      [FetchRequestTemplate("a", "E", "n == $x"), FetchRequestTemplate("b", "E")],
      fetched: [FetchedPropertyDescription("f", "E")])
    let (next, differences) = try first.adopting(changed)
    #expect(
      differences.map { "\($0.kind) \($0.property ?? "")" } == [
        "detailsChanged ", "templateChanged a", "templateChanged b",
      ])
    #expect(!next.isEqual(to: first) && next.hasSameRows(as: first))
    let read = try StoredModel(decoding: next.encode(), as: first.model)
    #expect(read.model.fetchRequestTemplates.map(\.name) == ["a", "b"])
    #expect(read.model.entities[0].fetchedProperties.map(\.name) == ["f"])
    let without = try next.adopting(model()).stored
    #expect(without.encode() == (try StoredModel.initial(for: model()).encode()))
  }

  @Test("Decoding does not reuse a known model that has other templates")
  func notTheKnownOne() throws {
    let known = try model([FetchRequestTemplate("a", "E")])
    let stored = try StoredModel.initial(for: model([FetchRequestTemplate("b", "E")]))
    #expect(try StoredModel(decoding: stored.encode(), as: known).model !== known)
    let same = try StoredModel.initial(for: known)
    #expect(try StoredModel(decoding: same.encode(), as: known).model === known)
  }

  @Test("A stored model stays readable if a later version wrote unknown predicates and names")
  func later() throws {
    let stored = try StoredModel.initial(
      for: model(
        [FetchRequestTemplate("a", "E", "n == $x")],
        fetched: [FetchedPropertyDescription("f", "E", "n == 'x'")]))
    var bytes = stored.encode()
    for (old, new) in [("n == $x", "n ~~ $x"), ("n == 'x'", "m == 'x'")] {
      let range = try #require(bytes.firstRange(of: Array(old.utf8)))
      bytes.replaceSubrange(range, with: Array(new.utf8))
    }
    let read = try StoredModel(decoding: bytes)
    #expect(read.encode() == bytes)
    #expect(read.model.templateRequests["a"]?.flaws.count == 1)
    #expect(read.model.fetchedRequests["E"]?["f"]?.flaws.map(\.message) == ["E has no property \"m\"."])
  }

  @Test("A fetched property of an entity that a store no longer has is dropped")
  func withoutOwner() throws {
    var bytes = try StoredModel.initial(for: model(fetched: [FetchedPropertyDescription("f", "E")])).encode()
    let added = try addedBytes(fetched: [FetchedPropertyDescription("f", "E")])
    bytes[bytes.count - added.count + 12] = 9
    #expect(try StoredModel(decoding: bytes).model.entities[0].fetchedProperties == [])
  }

  @Test("Duplicate templates and fetched properties, unknown kinds and wrong sizes throw errors")
  func wrong() throws {
    let stored = try StoredModel.initial(
      for: model([FetchRequestTemplate("a", "E"), FetchRequestTemplate("b", "E", fetchLimit: 200)]))
    func refuses(_ old: [UInt8], _ new: [UInt8], _ text: String) throws {
      var bytes = stored.encode()
      let range = try #require(bytes.firstRange(of: old))
      bytes.replaceSubrange(range, with: new)
      let error = #expect(throws: ModelError.self) { try StoredModel(decoding: bytes) }
      #expect(error?.message.contains(text) == true, "\(error?.message ?? "")")
    }
    try refuses(text("b"), text("a"), "\"a\" occurs twice")
    let tail: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0]
    try refuses(
      [200, 0, 0, 0] + tail, [200, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 1, 1, 1, 1, 0], "3 is not a kind")
    try refuses([200, 0, 0, 0], [0, 0, 0, 128], "2147483648 is not a size")
    try refuses(tail, [0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 1, 1, 0], "2 is neither true nor false")
  }

  @Test("Damaged bytes of templates and fetched properties are decoded or throw an error")
  func damaged() throws {
    var random = SeededGenerator.forTest("damaged fetches of models")
    let seed = random.seed
    var objects = fullRequest
    objects.resultType = .managedObjects
    objects.predicateFormat = "n == $FETCH_SOURCE.n AND n != $FETCHED_PROPERTY.userInfo.key"
    let (templates, fetched) = (
      [FetchRequestTemplate("z", fullRequest), FetchRequestTemplate("a", "E", "n IN $x")],
      [FetchedPropertyDescription("f", objects, userInfo: ["key": "x"])]
    )
    let bytes = try StoredModel.initial(for: model(templates, fetched: fetched)).encode()
    let start = bytes.count - (try addedBytes(templates, fetched: fetched)).count
    for length in start..<bytes.count {
      #expect(throws: ModelError.self) { try StoredModel(decoding: Array(bytes[..<length])) }
    }
    for offset in start..<bytes.count {
      for value in [0, 1, 255, bytes[offset] ^ UInt8(1 << Int.random(in: 0..<8, using: &random))] {
        var changed = bytes
        changed[offset] = value
        guard let stored = try? StoredModel(decoding: changed) else { continue }
        let again = try? StoredModel(decoding: stored.encode())
        #expect(again?.isEqual(to: stored) == true, "PERDURE_SEED=\(seed)")
      }
    }
  }
}
