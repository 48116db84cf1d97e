import Foundation
import Testing

/// The compiler inlines an `@inlinable` member of a `package` type into other modules only if the
/// type is `@usableFromInline`. Otherwise it emits a call, without a warning.
@Suite("Functions inlined into other modules")
struct InliningTests {
  @Test("Each inlinable member belongs to a type that inlined code may use")
  func types() throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Sources/PerdureFormat")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter {
      $0.hasSuffix(".swift")
    }
    #expect(names.count > 20)
    var inlinableCount = 0
    for name in names {
      let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
      // The declaration that contains the members, by indentation.
      var owners: [Int: Substring] = [:]
      for line in text.split(separator: "\n") {
        let depth = line.prefix { $0 == " " }.count
        let code = line.dropFirst(depth)
        if code.contains(#/^(@[a-zA-Z]+ )*(package |public |private )?(struct|enum|extension) /#) {
          owners[depth + 2] = code
        }
        guard code.hasPrefix("@inlinable"), let owner = owners[depth] else { continue }
        inlinableCount += 1
        #expect(owner.hasPrefix("extension") || owner.hasPrefix("@usableFromInline"), "\(name): \(code)")
      }
    }
    #expect(inlinableCount > 40)
  }
}
