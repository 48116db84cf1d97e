import Foundation
import Testing

@testable import PerdureModel

/// Tests OR1 and OR2 of StoredModel+OlderRows.swift.
@Suite("Values of added properties in older rows")
struct OlderRowsTests {
  /// A stored model that has adopted the versions of an entity, in order.
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

  /// The differences that prevent the store from adopting a model.
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

  /// The value that older rows have for the property at a path.
  private func standIn(_ stored: StoredModel, _ path: String) throws -> DefaultValue? {
    let slot = try #require(stored.model.schemas[0].slot(named: path))
    return stored.standIn(ofProperty: stored.propertyNumber(atSlot: slot, ofEntityAt: 0))
  }

  @Test("A default may change later, and older rows keep the property's first default")
  func required() throws {
    let dated = PropertyDescription.date("d", optional: false, default: .date(first))
    let grown = try store([], [dated])
    for other in [
      PropertyDescription.date("d", optional: false), .date("d", optional: false, default: .now),
      .date("d", optional: false, default: .date(first + 1)),
    ] {
      #expect(try refusals(grown, [other]) == [])
      #expect(try standIn(store([], [dated], [other]), "d") == .date(first))
    }
    let optional = try store([], [.date("d", default: .date(first))], [.date("d")])
    #expect(try standIn(optional, "d") == .date(first))
  }

  @Test("An element added without a default is nil in older rows, despite a later default")
  func halves() throws {
    let old = PropertyDescription.composite("c", [.string("a", optional: false)])
    func c(_ added: PropertyDescription) -> PropertyDescription {
      .composite("c", [.string("a", optional: false), added])
    }
    #expect(try refusals(store([old]), [c(.int64("b", default: 4))]) == ["propertyAdded E.c.b"])
    let grown = try store([old], [c(.int64("b"))])
    #expect(try refusals(grown, [c(.int64("b", default: 4))]) == [])
    #expect(try standIn(store([old], [c(.int64("b"))], [c(.int64("b", default: 4))]), "c.b") == nil)
    let sure = PropertyDescription.composite("r", [.string("a")], optional: false)
    let b = PropertyDescription.int64("b", optional: false, default: 4)
    let needed = try store([sure], [.composite("r", [.string("a"), b], optional: false)])
    let without = PropertyDescription.int64("b", optional: false)
    #expect(try refusals(needed, [.composite("r", [.string("a"), without], optional: false)]) == [])
    #expect(try standIn(needed, "r.b") == 4)
  }

  @Test("An added composite must have defaults for all its required elements, or for no element")
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
    #expect(try refusals(absent, c(nil, 4)) == [])
    #expect(try refusals(absent, c("x", 4)) == [])
    #expect(try refusals(store([], c("x", 4)), c(nil, nil)) == [])
    let needed = try store([], c("x", nil, optional: false))
    #expect(try refusals(needed, c(nil, nil, optional: false)) == [])
    #expect(try refusals(store([]), c(nil, 4)) == ["propertyAdded E.c"])
    #expect(try standIn(store([], c("x", nil, optional: false), c("y", 4, optional: false)), "c.a") == "x")
  }
}
