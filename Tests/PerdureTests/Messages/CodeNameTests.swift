import Foundation
import PerdureModel
import Testing

@testable import Perdure

@Suite("Error codes as text")
struct CodeNameTests {
  /// The names and numbers of the codes that a source file declares.
  private func declared(in path: String) throws -> [(name: String, number: Int)] {
    let top = (0..<4).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }
    let text = try String(contentsOf: top.appendingPathComponent(path), encoding: .utf8)
    return text.matches(of: /public static let (\w+) = Code\(rawValue: ([\d_]+)\)/).compactMap { match in
      Int(match.2.filter { $0 != "_" }).map { (String(match.1), $0) }
    }
  }

  @Test("A code is printed with its name and its number")
  func names() throws {
    let graph = try declared(in: "Sources/Perdure/Context/PerdureError.swift")
    #expect(graph.count > 25)
    for (name, number) in graph {
      let text = "\(PerdureError.Code(rawValue: number))"
      #expect(text.hasSuffix(" (\(number))"))
      #expect(text.split(separator: " ").contains(Substring(name)), "\(text)")
    }
    let models = try declared(in: "Sources/PerdureModel/ModelError.swift")
    #expect(models.count > 3)
    for (name, number) in models {
      #expect("\(ModelError.Code(rawValue: number))" == "\(name) (\(number))")
    }
    #expect("\(PerdureError.Code.missingMandatoryProperty)" == "missingMandatoryProperty (1570)")
  }

  @Test("A code without a name is printed as its number")
  func unknown() {
    #expect("\(PerdureError.Code(rawValue: 7))" == "7" && "\(ModelError.Code(rawValue: 7))" == "7")
  }
}
