/// A composite attribute as the graph uses it: a named group of slots.
package struct CompositeSchema: Sendable, Hashable {
  /// One part of a composite.
  package struct Element: Sendable, Hashable {
    /// The name within the composite.
    package let name: String
    /// Its slots. A leaf has one.
    package let slots: Range<Int>
    /// Whether the part is a leaf.
    package let isLeaf: Bool
  }

  /// The path: names with points between.
  package let name: String
  /// The slots of its leaves, in order.
  package let slots: Range<Int>
  /// Whether a save takes it without a value.
  package let isOptional: Bool
  /// How many composites it is in.
  package let depth: Int
  /// The parts, in order.
  package let elements: [Element]
}

extension CompositeSchema {
  /// All composites among properties that take their slots from `start` on, each before those in
  /// it.
  static func all(in properties: [PropertyDescription], from start: Int) -> [CompositeSchema] {
    var composites: [CompositeSchema] = []
    var slot = start
    for property in properties {
      if case .composite(let composite) = property { append(composite, "", slot, 0, to: &composites) }
      slot += property.leaves.count
    }
    return composites
  }

  private static func append(
    _ composite: CompositeAttributeDescription, _ prefix: String, _ start: Int, _ depth: Int,
    to composites: inout [CompositeSchema]
  ) {
    let path = prefix + composite.name
    let position = composites.count
    var elements: [Element] = []
    var inner: [CompositeSchema] = []
    var slot = start
    for element in composite.elements {
      let end = slot + element.leaves.count
      var isLeaf = true
      if case .composite(let nested) = element {
        append(nested, "\(path).", slot, depth + 1, to: &inner)
        isLeaf = false
      }
      elements.append(Element(name: element.name, slots: slot..<end, isLeaf: isLeaf))
      slot = end
    }
    composites.insert(
      CompositeSchema(
        name: path, slots: start..<slot, isOptional: composite.isOptional, depth: depth, elements: elements),
      at: position)
    composites += inner
  }
}
