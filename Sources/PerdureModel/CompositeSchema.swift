/// A composite attribute in the form that the graph uses: a named group of slots.
package struct CompositeSchema: Sendable, Hashable {
  /// One element of a composite.
  package struct Element: Sendable, Hashable {
    /// The name within the composite.
    package let name: String
    /// The slots of the element. A leaf has one slot.
    package let slots: Range<Int>
    /// Whether the element is a leaf.
    package let isLeaf: Bool
  }

  /// The path: names separated by dots.
  package let name: String
  /// The slots of the composite's leaves, in order.
  package let slots: Range<Int>
  /// Whether a save accepts the composite without a value.
  package let isOptional: Bool
  /// The number of composites that contain this one.
  package let depth: Int
  /// The elements, in order.
  package let elements: [Element]
}

extension CompositeSchema {
  /// All composites among properties whose slots begin at `start`. Each precedes the composites
  /// inside it.
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
