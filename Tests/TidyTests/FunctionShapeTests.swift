import Testing

@Suite("Lengths and parameters of functions")
struct FunctionShapeTests {
  private static let folders = ["Sources", "Examples", "Proof", "Benchmarks/Sources", "Tests"]

  /// The maximum number of lines of a function, and the maximum 99th percentile, by folder. Both
  /// may only be lowered.
  private static let lengths: [(folder: String, longestMax: Int, percentileMax: Int)] = [
    ("Sources", 51, 34), ("Examples", 28, 28), ("Proof", 50, 40), ("Benchmarks/Sources", 49, 35),
    ("Tests", 90, 45),
  ]

  /// The maximum number of functions with more than three unlabelled parameters, by folder. These
  /// numbers may only be lowered.
  private static let unlabelledMax = [
    "Sources": 107, "Examples": 0, "Proof": 36, "Benchmarks/Sources": 3, "Tests": 44,
  ]

  @Test("Functions have at most as many lines as their folder allows", arguments: lengths.indices)
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

  @Test("Public functions have at most three unlabelled parameters, and few other functions have more")
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

  @Test("The scanner counts the lines and the unlabelled parameters of functions")
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
