import Foundation
import Perdure
import PerdureModel
import Testing

/// Calls that stop the program, each with its line. They are outside the tests, because a macro
/// expands the bodies of exit tests.
private enum Mistake: String, CaseIterable {
  case newContext, newBackgroundContext, saves, insertion, mutableSet, orderedSet, snapshot, url

  private static func closed() throws -> PersistentContainer {
    PersistentContainer(
      name: "Staff", model: try ManagedObjectModel([EntityDescription("E", properties: [])]),
      description: .inMemory)
  }

  private static let page = URL(string: "https://example.org/s") ?? URL(fileURLWithPath: "/")
  /// The line of the first case in `make()`.
  private static let firstLine = #line + 6

  /// Makes the call.
  func make() throws {
    let context = try Staff.context()
    switch self {
    case .newContext: _ = try Self.closed().newContext()
    case .newBackgroundContext: _ = try Self.closed().newBackgroundContext()
    case .saves: _ = try Self.closed().saves()
    case .insertion: _ = context.insertNewObject(forEntityName: "Employe")
    case .mutableSet: _ = context.worker("w").mutableSetValue(forKey: "project")
    case .orderedSet: _ = context.worker("w").mutableOrderedSetValue(forKey: "projects")
    case .snapshot: _ = try context.worker("w").snapshot(including: ["salary"])
    case .url: _ = PersistentStoreDescription(url: Self.page)
    }
  }

  /// The line of the call in `make()`, which has one line for each case in order.
  var line: Int { Self.firstLine + (Self.allCases.firstIndex(of: self) ?? 0) }

  var message: String {
    switch self {
    case .newContext, .newBackgroundContext, .saves:
      "The container \"Staff\" has no open store. Call loadPersistentStores() first."
    case .insertion: "The model has no entity \"Employe\". Did you mean Employee?"
    case .mutableSet: "Employee has no property \"project\". Did you mean projects?"
    case .orderedSet: "Employee.projects is not ordered. Use mutableSetValue(forKey:), or declare it ordered."
    case .snapshot:
      "Employee.salary is an attribute, which every snapshot has. Name only relationships and fetched properties "
        + "in including:."
    case .url: "A store is a directory of the file system, but https://example.org/s is not a file URL."
    }
  }
}

#if !os(iOS) && !os(tvOS) && !os(watchOS) && !os(visionOS)
  @Suite("Messages that stop a program name the caller or the object")
  struct MisusePlaceTests {
    private func said(_ result: ExitTest.Result?) -> String {
      String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    }

    @Test("A mistake in a call reports the file and the line of the caller", arguments: Mistake.allCases)
    fileprivate func caller(_ mistake: Mistake) async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        [name = mistake.rawValue as String] in
        try Mistake(rawValue: name)?.make()
      }
      let expected = "PerdureTests/MisusePlaceTests.swift:\(mistake.line): Fatal error: \(mistake.message)"
      #expect(said(result).contains(expected), "\(said(result))")
    }

    @Test("The message about an object of another context names the instance to use instead")
    func foreign() async {
      let deleted = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        let container = try Staff.container()
        container.newContext().delete(container.newContext().worker("w"))
      }
      #expect(
        said(deleted).contains(
          "belongs to another context. Use the instance of this context: context.object(with: objectID)."),
        "\(said(deleted))")
      let connected = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        let container = try Staff.container()
        let (here, there) = (container.newContext(), container.newContext())
        here.worker("w").company = there.company("c")
      }
      #expect(
        said(connected).contains("The relationship company cannot lead to x-perdure://"), "\(said(connected))"
      )
      #expect(said(connected).contains("Connect the instance of this context"))
    }

    @Test("The message about an id of another store names the id and the ids to use")
    func foreignID() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        let foreign = try Staff.context().worker("w").objectID
        _ = try Staff.context().object(with: foreign)
      }
      #expect(said(result).contains("/Employee/p1 belongs to another store"), "\(said(result))")
      #expect(said(result).contains("existingObject(with:) throws instead"))
    }

    @Test("The message about an unknown key does not name Misuse.swift, which stops the program")
    func neverMisuse() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        _ = try Staff.context().worker("w").value(forKey: "salery")
      }
      #expect(said(result).contains("Did you mean salary?") && !said(result).contains("Misuse.swift"))
    }
  }
#endif
