// OO7 (Carey, DeWitt, Naughton: The OO7 Benchmark, SIGMOD 1993). The data is the design of a
// machine: a tree of assemblies above composite parts. Each composite part is a graph of atomic
// parts and connections, with a document. The random choices and their order determine the results
// of the queries. So the numbers in OO7Tests are valid only for this order.

/// OO7's random numbers: the upper 31 bits of SplitMix64.
struct DesignRandom {
  private var state: UInt64

  init(seed: UInt64 = 1) { state = seed }

  mutating func next(below limit: Int) -> Int {
    let word = GraphData.mixed(state)
    state &+= 0x9E37_79B9_7F4A_7C15
    return Int(word >> 33) % limit
  }
}

/// The size of a design. By default it is OO7's small design with three connections for each atomic
/// part.
struct DesignSize {
  var compositeCount = 500
  var atomicPerComposite = 20
  var connectionsPerAtomic = 3
  var documentSize = 2_000
  var manualSize = 100_000

  static let small = DesignSize()
  static let tiny = DesignSize(compositeCount: 50, documentSize: 20, manualSize: 1_000)

  static let levels = 7
  static let assembliesPerAssembly = 3
  static let compositesPerAssembly = 3
  /// The first date of the range of Q3, which contains a tenth of all dates.
  static let rangeStart: Int64 = 1_900

  var atomicCount: Int { compositeCount * atomicPerComposite }
}

/// A complete design as values. Ids begin with 1, and positions in arrays with 0.
struct DesignData {
  struct Part {
    var type: String
    var buildDate: Int64
  }

  struct Complex {
    var part: Part
    /// The position of the parent assembly.
    var parent: Int?
  }

  struct Base {
    var part: Part
    var parent: Int
    /// The positions of composite parts.
    var privates: [Int] = []
    var shared: [Int] = []
  }

  struct Atomic {
    var part: Part
    var x: Int64
    var y: Int64
    var documentID: Int64
  }

  struct Link {
    var type: String
    var length: Int64
    /// The position of the connected atomic part within its composite part.
    var target: Int
  }

  struct Composite {
    var part: Part
    var title: String
    var atomics: [Atomic] = []
    /// For each atomic part, the connections that lead from it.
    var links: [[Link]] = []
  }

  let size: DesignSize
  private(set) var module: Part
  /// The complex assemblies, beginning with the root.
  private(set) var complexes: [Complex] = []
  private(set) var bases: [Base] = []
  private(set) var composites: [Composite] = []

  init(_ size: DesignSize) {
    self.size = size
    var random = DesignRandom()
    module = Part(type: Self.type(&random), buildDate: 1_000 + Int64(random.next(below: 1_000)))
    addComplex(below: nil, level: 1, &random)
    for place in 0..<size.compositeCount { composites.append(composite(place, &random)) }
  }

  private static func type(_ random: inout DesignRandom) -> String { "type00\(random.next(below: 10))" }

  private mutating func addComplex(below parent: Int?, level: Int, _ random: inout DesignRandom) {
    let part = Part(type: Self.type(&random), buildDate: 1_000 + Int64(random.next(below: 1_000)))
    let place = complexes.count
    complexes.append(Complex(part: part, parent: parent))
    for _ in 0..<DesignSize.assembliesPerAssembly {
      if level < DesignSize.levels - 1 {
        addComplex(below: place, level: level + 1, &random)
      } else {
        addBase(below: place, &random)
      }
    }
  }

  private mutating func addBase(below parent: Int, _ random: inout DesignRandom) {
    let part = Part(type: Self.type(&random), buildDate: 1_000 + Int64(random.next(below: 1_000)))
    var base = Base(part: part, parent: parent)
    base.privates = drawComposites(&random)
    base.shared = drawComposites(&random)
    bases.append(base)
  }

  /// Draws different composite parts. A part that was already drawn is ignored, and another one is
  /// drawn.
  private func drawComposites(_ random: inout DesignRandom) -> [Int] {
    var places: [Int] = []
    while places.count < DesignSize.compositesPerAssembly {
      let place = random.next(below: size.compositeCount)
      if !places.contains(place) { places.append(place) }
    }
    return places
  }

  /// The composite part with the id `place + 1`. Parts inserted later follow the same rules.
  func composite(_ place: Int, _ random: inout DesignRandom) -> Composite {
    let type = Self.type(&random)
    let isYoung = (place + 1) % 10 == 0
    let date = (isYoung ? 2_000 : 0) + Int64(random.next(below: 1_000))
    let number = String(place + 1)
    let title = "Composite Part " + String(repeating: "0", count: max(0, 8 - number.count)) + number
    var composite = Composite(part: Part(type: type, buildDate: date), title: title)
    for _ in 0..<size.atomicPerComposite {
      let part = Part(type: Self.type(&random), buildDate: 1_000 + Int64(random.next(below: 1_000)))
      let (x, y) = (random.next(below: 100_000), random.next(below: 100_000))
      let document = 1 + random.next(below: size.compositeCount)
      composite.atomics.append(
        Atomic(part: part, x: Int64(x), y: Int64(y), documentID: Int64(document)))
    }
    for place in 0..<size.atomicPerComposite {
      composite.links.append(
        (0..<size.connectionsPerAtomic).map { number in
          let target =
            number == 0 ? (place + 1) % size.atomicPerComposite : random.next(below: size.atomicPerComposite)
          let type = Self.type(&random)
          return Link(type: type, length: Int64(random.next(below: 100_000)), target: target)
        })
    }
    return composite
  }

  /// Repeats `text` up to a size.
  static func text(_ text: String, size: Int) -> String {
    let repeated = String(repeating: text, count: size / text.utf8.count + 1)
    return String(repeated.prefix(size))
  }

  /// A checksum over all data of the atomic parts.
  var checksum: UInt32 {
    var sum: UInt32 = 0
    for (place, composite) in composites.enumerated() {
      let first = place * size.atomicPerComposite + 1
      for (atomic, links) in zip(composite.atomics, composite.links) {
        let targets = links.reduce(0) { $0 + first + $1.target }
        let own = atomic.part.buildDate * 7 + atomic.x * 3 + atomic.y + atomic.documentID + Int64(targets)
        sum = sum &* 31 &+ UInt32(truncatingIfNeeded: own)
      }
    }
    return sum
  }
}
