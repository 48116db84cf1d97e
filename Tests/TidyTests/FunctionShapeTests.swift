import Testing

@Suite("Functions")
struct FunctionShapeTests {
  private static let folders = ["Sources", "Examples", "Proof", "Benchmarks/Sources", "Tests"]

  /// The longest function in lines, and the greatest 99th percentile. They may only be lowered.
  private static let lengths: [(folder: String, longestMax: Int, percentileMax: Int)] = [
    ("Sources", 51, 34), ("Examples", 28, 28), ("Proof", 50, 40), ("Benchmarks/Sources", 49, 35),
    ("Tests", 90, 45),
  ]

  /// Functions with more than three unlabelled parameters. These numbers may only be lowered.
  private static let unlabelledMax = [
    "Sources": 107, "Examples": 0, "Proof": 36, "Benchmarks/Sources": 3, "Tests": 44,
  ]

  @Test("Functions are short", arguments: lengths.indices)
  func length(_ index: Int) throws {
    let (folder, longestMax, percentileMax) = Self.lengths[index]
    var counts: [Int] = []
    for file in try Repository.swiftFiles(in: folder) {
      for function in Functions(file).all {
        counts.append(function.lineCount)
        #expect(
          function.lineCount <= longestMax, "\(file.path):\(function.line) has \(function.lineCount) lines")
      }
    }
    counts.sort()
    #expect(counts.count > 100)
    #expect(counts[counts.count * 99 / 100] <= percentileMax)
  }

  @Test("Public functions have at most three unlabelled parameters, and no more others than today")
  func unlabelledParameters() throws {
    for folder in Self.folders {
      var places: [String] = []
      for file in try Repository.swiftFiles(in: folder) {
        for function in Functions(file).all where function.unlabelledCount > 3 {
          #expect(!function.isPublic, "\(file.path):\(function.line) has \(function.unlabelledCount)")
          places.append("\(file.path):\(function.line)")
        }
      }
      let max = Self.unlabelledMax[folder] ?? 0
      #expect(places.count <= max, "\(places.count) in \(folder):\n\(places.joined(separator: "\n"))")
    }
  }

  @Test("The scanner counts lines and parameters")
  func scanner() {
    let text = """
      extension Store {
        public func put(
          _ id: UInt64, _ make: (Int, Int) -> [Int], at place: Int, _ last: [String: Int] = [:]
        ) throws {
          make(1, 2)
        }

        init() {}

        func none(of a: Int) -> Int {
          a
        }
      }
      """
    let found = Functions(Repository.SourceFile(path: "", text: text)).all
    #expect(found.map(\.unlabelledCount) == [3, 0])
    #expect(found.map(\.lineCount) == [5, 3])
    #expect(found.map(\.isPublic) == [true, false])
  }
}
