import Foundation
import Testing

@testable import PerdureModel

/// O1 and O2 of StoredModel+OlderRows.swift.
@Suite("Objects that are older than a property live by its default")
struct OlderRowsTests {
  /// A store that was opened with one model of an entity after the other.
  private func store(_ versions: [PropertyDescription]...) throws -> StoredModel {
    var stored = try StoredModel.initial(for: model(versions[0]))
    for version in versions.dropFirst() { stored = try stored.adopting(model(version)).stored }
    return try StoredModel(decoding: stored.encode())
  }

  private func model(_ properties: [PropertyDescription], _ more: EntityDescription...) throws
    -> ManagedObjectModel
  {
    try ManagedObjectModel([EntityDescription("E", properties: [.string("n")] + properties)] + more)
  }

  /// What keeps the store from taking a model on.
  private func refusals(_ stored: StoredModel, _ properties: [PropertyDescription]) throws -> [String] {
    let model = try model(properties)
    let refused = stored.differences(to: model).filter { !$0.isCompatible }
    if refused.isEmpty {
      _ = try stored.adopting(model)
    } else {
      #expect(throws: ModelError.self) { try stored.adopting(model) }
    }
    return refused.map { "\($0.kind.rawValue) \($0.entity).\($0.property ?? "")" }
  }

  private let first = Date(timeIntervalSinceReferenceDate: 1)

  @Test("A required property that some objects have by its default alone keeps one that is the same for all")
  func required() throws {
    let dated = PropertyDescription.date("d", optional: false, default: .date(first))
    let grown = try store([], [dated])
    for other in [PropertyDescription.date("d", optional: false), .date("d", optional: false, default: .now)]
    {
      #expect(try refusals(grown, [other]) == ["defaultChanged E.d"])
      #expect(try refusals(store([dated]), [other]) == [])
    }
    #expect(try refusals(grown, [.date("d", optional: false, default: .date(first + 1))]) == [])
    let optional = try store([], [.date("d", default: .date(first))])
    #expect(try refusals(optional, [.date("d", default: .now)]) == [])
    #expect(try refusals(optional, [.date("d")]) == [])
    let message = grown.differences(to: try model([.date("d", optional: false)])).last?.message
    #expect(message?.contains("keep the default that it had") == true, "\(message ?? "none")")
  }

  @Test("An element that is younger than its composite gets no default where objects may be without it")
  func halves() throws {
    let old = PropertyDescription.composite("c", [.string("a", optional: false)])
    func c(_ added: PropertyDescription) -> PropertyDescription {
      .composite("c", [.string("a", optional: false), added])
    }
    let grown = try store([old], [c(.int64("b"))])
    #expect(try refusals(grown, [c(.int64("b", default: 4))]) == ["defaultChanged E.c.b"])
    #expect(try refusals(grown, [c(.int64("b", rules: [.minimum(1)]))]) == [])
    #expect(try refusals(store([c(.int64("b"))]), [c(.int64("b", default: 4))]) == [])
    let deep = try store([old], [c(.composite("in", [.int64("b")]))])
    #expect(try refusals(deep, [c(.composite("in", [.int64("b", default: 4)]))]) == ["defaultChanged E.c.in"])
    let sure = PropertyDescription.composite("r", [.string("a")], optional: false)
    func r(_ added: PropertyDescription) -> PropertyDescription {
      .composite("r", [.string("a"), added], optional: false)
    }
    let always = try store([sure], [r(.int64("b"))])
    #expect(try refusals(always, [r(.int64("b", default: 4))]) == [])
    let needed = try store([sure], [r(.int64("b", optional: false, default: 4))])
    #expect(try refusals(needed, [r(.int64("b", optional: false))]) == ["defaultChanged E.r.b"])
  }

  @Test("A composite that is younger than objects has all that it needs by defaults, or no value")
  func wholes() throws {
    func c(
      _ a: DefaultValue?, _ b: DefaultValue?, optional: Bool = true
    ) -> [PropertyDescription] {
      [
        .composite(
          "c", [.string("a", optional: false, default: a), .int64("b", default: b)], optional: optional)
      ]
    }
    let absent = try store([], c(nil, nil))
    #expect(try refusals(absent, c(nil, 4)) == ["defaultChanged E.c"])
    #expect(try refusals(absent, c("x", 4)) == [])
    #expect(try refusals(store([], c("x", 4)), c(nil, nil)) == [])
    let needed = try store([], c("x", nil, optional: false))
    #expect(try refusals(needed, c(nil, nil, optional: false)) == ["defaultChanged E.c"])
  }

  @Test("What is wrong already, and what models say of it, is said once")
  func once() throws {
    let dated = PropertyDescription.date("d", optional: false, default: .date(first))
    let sub = EntityDescription("S", superentity: "E", properties: [.string("s")])
    var stored = try StoredModel.initial(for: model([], sub))
    stored = try stored.adopting(model([dated], sub)).stored
    let lost = stored.differences(to: try model([.date("d", optional: false)], sub))
    #expect(lost.map(\.kind) == [.detailsChanged, .defaultChanged])
    #expect(try refusals(store([], [dated]), [.int64("d", optional: false)]) == ["typeChanged E.d"])
    let abstract = try StoredModel.initial(
      for: ManagedObjectModel([EntityDescription("E", isAbstract: true, properties: []), entity("F")]))
    let grown = try abstract.adopting(
      ManagedObjectModel([EntityDescription("E", isAbstract: true, properties: [dated]), entity("F")])
    ).stored
    let without = try ManagedObjectModel([
      EntityDescription("E", isAbstract: true, properties: [.date("d", optional: false)]), entity("F"),
    ])
    #expect(!grown.differences(to: without).contains { !$0.isCompatible })
  }
}
