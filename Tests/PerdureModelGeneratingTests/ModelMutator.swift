import PerdureModelFiles
import PerdureTestSupport

/// Changes documents at random: values, attributes and elements.
struct ModelMutator {
  var random: SeededGenerator
  private let elements: [ModelElement]
  private let names: [String]
  private let values: [String]

  /// Values that are invalid or unusual in most attributes.
  private static let hostile = [
    "", "YES", "NO", "maybe", "0", "-1", "2", "1e308", "99999999999999999999", "nan", "inf", "a\nb: error: c",
    "\u{202E}drow", "a\u{2028}b", "\r\n", "\u{9B}", "名前", "hash", "self", "Type", "Date", "String", "$v", "(",
    "a == $FETCH_SOURCE", "SELF", "a.b.c", "a.@count", "now()", "canonical:(a)", "Composite", "Transformable",
    "Integer 16", "[String: Int]", "A; import B", "class", "category", ".A", "M.A", "a\\b\"c'd<e>&",
    String(repeating: "x", count: 300), String(repeating: "(", count: 2_000),
  ]

  /// - Parameter document: The document whose parts are copied into others.
  init(_ document: ModelDocument, _ random: SeededGenerator) {
    self.random = random
    elements = Self.all(document.root)
    names = Array(Set(elements.flatMap { $0.attributes.map(\.name) })).sorted()
    values = Self.hostile + Set(elements.flatMap { $0.attributes.map(\.value) }).sorted()
  }

  private static func all(_ element: ModelElement) -> [ModelElement] {
    [element] + element.children.flatMap(all)
  }

  /// Makes one to four changes.
  mutating func mutate(_ document: inout ModelDocument) {
    for _ in 0...random.next() % 4 { mutate(&document.root) }
  }

  private mutating func mutate(_ element: inout ModelElement) {
    let count = element.children.count
    guard count > 0, random.chance(80) else { return change(&element) }
    let chosen = Int.random(in: 0..<count, using: &random)
    var position = -1
    var mutator = self
    element.updateChildren(
      where: { _ in
        position += 1
        return position == chosen
      }, { mutator.mutate(&$0) })
    self = mutator
  }

  private mutating func change(_ element: inout ModelElement) {
    let own = element.attributes.map(\.name)
    switch random.next() % 8 {
    case 0...3 where !own.isEmpty: element[random.pick(own)] = random.pick(values)
    case 4 where !own.isEmpty: element[random.pick(own)] = nil
    case 5: element.insert(random.pick(elements))
    case 6:
      guard let child = element.children.randomElement(using: &random) else { return }
      if random.chance(50) { element.insert(child) } else { element.removeChildren { $0 == child } }
    default: element[random.pick(names)] = random.pick(values)
    }
  }
}
