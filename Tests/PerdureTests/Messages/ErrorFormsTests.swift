import Foundation
import Perdure
import PerdureFileIO
import PerdureLog
import PerdureModel
import PerdurePredicates
import PerdureTestSupport
import Testing

/// An error type of the sources.
struct ErrorType: Hashable {
  let name: String
  let isVisible: Bool

  /// The types in a source text whose declarations name `Error` or `LocalizedError` as a
  /// conformance.
  static func all(in text: String) -> [ErrorType] {
    let declaration =
      /^ *(?:@\w+ )?(public |package |private |fileprivate |internal )?(?:final )?(?:struct|enum|class|actor|extension) ([A-Za-z.]+)(?:<[^>]*>)?: ([^{]*)\{/
    return text.split(separator: "\n").filter { $0.contains("Error") }.compactMap { line in
      guard let match = line.prefixMatch(of: declaration) else { return nil }
      let parents = match.output.3.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
      guard parents.contains("Error") || parents.contains("LocalizedError") else { return nil }
      return ErrorType(
        name: String(match.output.2), isVisible: ["public ", "package "].contains(match.output.1 ?? ""))
    }
  }

  /// The names of the types that conform to `LocalizedError` in a source text.
  static func localized(in text: String) -> [String] {
    text.split(separator: "\n").filter { $0.contains("LocalizedError") }.compactMap { line in
      line.firstMatch(of: /(?:struct|enum|class|extension) ([A-Za-z.]+): [^{]*\bLocalizedError\b/)
        .map { String($0.output.1) }
    }
  }
}

@Suite("Errors have a common form")
struct ErrorFormsTests {
  /// Package types that no public function throws or reports as a cause. Each is converted to a
  /// public error first.
  private static let internalTypes: Set = [
    "FormatError", "CompressionError", "StoreConflict", "UncertainCommit", "Flaw",
  ]
  /// Types of modules that this target does not link. The tests of those modules check the types.
  private static let otherTargets: Set = [
    "BundledModelError", "KeyedArchiveError", "ModelCodeError", "ModelCodeOptionsError", "ModelFileError",
  ]

  private static func sources() throws -> [String] {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Sources")
    let files = try #require(FileManager.default.enumerator(atPath: root.path))
    return try files.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }.sorted()
      .map { try String(contentsOf: root.appendingPathComponent($0), encoding: .utf8) }
  }

  private static func visibleTypes() throws -> Set<String> {
    Set(try sources().flatMap(ErrorType.all).filter(\.isVisible).map(\.name))
  }

  private struct Missing: Error {}

  private static func thrown(_ body: () throws -> Void) throws -> any Error {
    do { try body() } catch { return error }
    throw Missing()
  }

  /// One error of each type that a program can receive from a call. `RowError` and the types in
  /// `internalTypes` and `otherTargets` are omitted.
  private static func samples() throws -> [any Error] {
    let context = try Staff.context()
    _ = Employee(context: context)
    let noRelation = FetchRequest<Employee>(predicate: try FetchPredicate(format: "salery > 1"))
    let crash = try CrashExplorer(seed: 1).explore { disk, marker in
      marker.begin(1)
      try disk.createDirectory("/a")
      marker.acknowledge(1)
    } verify: { image, context in
      if image.paths.isEmpty, !context.acknowledged.isEmpty { throw Missing() }
    }
    let sweep = FailureSweep(seed: 1).run(only: .mediaError, nth: 1, repeats: false) { disk in
      try disk.createDirectory("/a")
    } verify: { _, _ in
    }
    let idle = FailureSweep(seed: 1).run { _ in
      1
    } verify: { _, _ in
    }
    return try [
      thrown { try context.save() }, thrown { _ = try context.fetch(noRelation) },
      thrown { _ = try ManagedObjectModel([EntityDescription("1", properties: [])]) },
      thrown { _ = try FetchPredicate(format: "name BEGINWITH 'a'") },
      thrown { _ = try FetchPredicate(format: "SELF MATCHES '('").evaluate(with: Value.string("a")) },
      thrown { _ = try Store(at: "/no/such/folder/s.perdure", options: StoreOptions()) },
      thrown { _ = try POSIXFileSystem().open("/no such folder/file", .read) },
      thrown {
        _ = try ManagedObjectModel([]).fetchRequestFromTemplate(
          withName: "rich", substitutionVariables: [:], as: Employee.self)
      },
      StoreViewExpired(), thrown { try crash.check() }, thrown { try sweep.check() },
      thrown { try idle.check() },
    ]
  }

  @Test("Every error type that a caller can receive conforms to LocalizedError")
  func conformance() throws {
    let localized = Set(try Self.sources().flatMap(ErrorType.localized))
    let types = try Self.visibleTypes()
    #expect(types.isSuperset(of: ["StoreError", "PerdureError", "FetchError", "ModelError", "RowError"]))
    #expect(types.isSuperset(of: Self.internalTypes), "a type was removed: remove its name here")
    let missing = types.subtracting(localized).subtracting(Self.internalTypes)
    #expect(missing.isEmpty, "without `LocalizedError`: \(missing.sorted())")
  }

  @Test("The scan finds error types in every form of declaration, and no other types")
  func scan() {
    let text = """
      public struct A: Error, Sendable {
        public enum B: Swift.Hashable, Error {
      @usableFromInline package struct C: Error {
      struct D: Error { let e: any Error }
      extension E: Error {
      public struct F: Sendable { let cause: any Error }
      public func g() throws -> Error {
      """
    let found = ErrorType.all(in: text)
    #expect(found.map(\.name) == ["A", "B", "C", "D", "E"])
    #expect(found.map(\.isVisible) == [true, true, true, false, false])
    #expect(
      ErrorType.localized(in: "public struct K: LocalizedError, X {\nextension A.B: LocalizedError {") == [
        "K", "A.B",
      ])
  }

  @Test("An error's description, debug description and localized description are the same text")
  func oneForm() throws {
    let samples = try Self.samples()
    for error in samples {
      let name = "\(type(of: error))"
      let text = "\(error)"
      #expect(error.localizedDescription == text, "\(name)")
      #expect(String(reflecting: error) == text, "\(name)")
      #expect((error as? any LocalizedError)?.errorDescription == text, "\(name)")
      #expect(text.count > 30 && text.contains(" ") && !text.contains("\(name)("), "\(name): \(text)")
    }
  }

  @Test("Every public error type has a sample")
  func samplesAreComplete() throws {
    let sampled = Set(try Self.samples().map { "\(type(of: $0))" })
    let missing = try Self.visibleTypes().subtracting(sampled)
      .subtracting(Self.internalTypes).subtracting(Self.otherTargets)
    // RowError occurs only as a cause, and only for damaged bytes.
    #expect(missing.subtracting(["RowError"]).isEmpty, "\(missing.sorted())")
  }
}
