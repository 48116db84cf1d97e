// The tree of a model file. The tree contains all parts of the file, so that an unchanged file is
// written byte for byte.
//
//   EL1. A spelling or a layout is nil if it equals that of Xcode. The writer then computes it.
//   EL2. A spelling belongs to one value: a change of the value clears it.

/// An element of a model file: its name, its attributes in order, and its content.
public struct ModelElement: Sendable, Hashable {
  /// An attribute of an element.
  public struct Attribute: Sendable, Hashable {
    /// The name.
    public let name: String
    /// The value, without escapes.
    public var value: String {
      didSet { if value != oldValue { spelling = nil } }
    }
    /// The line in the file, from 1; nil if the attribute was not read from a file.
    public let line: Int?
    /// The attribute as written, with the space before it (EL1, EL2).
    var spelling: String?

    init(_ name: String, _ value: String, line: Int? = nil, spelling: String? = nil) {
      self.name = name
      self.value = value
      self.line = line
      self.spelling = spelling
    }
  }

  /// A part of the content of an element.
  public enum Node: Sendable, Hashable {
    /// An element.
    case element(ModelElement)
    /// A comment, a processing instruction or text, as written, with the space before it.
    case other(String)
  }

  /// The spaces and line ends of an element (EL1).
  struct Layout: Sendable, Hashable {
    /// The characters before the element.
    var before: String?
    /// The characters before the end of the start tag.
    var tagEnd: String?
    /// The characters before the end tag. If the element has no content, nil means that it has no
    /// end tag.
    var closing: String?
    /// The characters in the end tag, after the name.
    var endTag: String?
  }

  /// The name, for example `entity`.
  public let name: String
  /// The attributes, in the order of the file.
  public private(set) var attributes: [Attribute]
  /// The content, in the order of the file.
  public private(set) var content: [Node]
  /// The line of the start tag, from 1; nil if the element was not read from a file.
  public let line: Int?
  var layout: Layout

  /// Makes an element.
  ///
  /// - Parameters:
  ///   - attributes: The names and values, in order. Names must be unique. Attributes with nil
  ///     values are omitted.
  ///   - children: The elements inside.
  public init(_ name: String, _ attributes: [(String, String?)] = [], _ children: [ModelElement] = []) {
    self.init(
      name, attributes.compactMap { name, value in value.map { Attribute(name, $0) } },
      content: children.map { .element($0) }, line: nil, layout: Layout())
  }

  init(_ name: String, _ attributes: [Attribute], content: [Node], line: Int?, layout: Layout) {
    self.name = name
    self.attributes = attributes
    self.content = content
    self.line = line
    self.layout = layout
  }
}

// MARK: - Access

extension ModelElement {
  /// The value of an attribute; nil if the element does not have it.
  ///
  /// A new attribute is inserted where Xcode writes it. An attribute that is set to nil is removed.
  ///
  /// - Complexity: O(a) for a attributes.
  public subscript(_ attribute: String) -> String? {
    get { attributes.first { $0.name == attribute }?.value }
    set {
      let position = attributes.firstIndex { $0.name == attribute }
      switch (position, newValue) {
      case (let position?, let value?): attributes[position].value = value
      case (let position?, nil): attributes.remove(at: position)
      case (nil, let value?):
        let order = Vocabulary.attributes[name] ?? []
        attributes.insert(
          Attribute(attribute, value),
          at: Self.insertionIndex(of: attribute, among: attributes.map(\.name), in: order))
      case (nil, nil): break
      }
    }
  }

  /// The elements of the content.
  public var children: [ModelElement] {
    content.compactMap { if case .element(let child) = $0 { child } else { nil } }
  }

  /// The elements of the content with the name `name`.
  public func children(_ name: String) -> [ModelElement] { children.filter { $0.name == name } }

  /// Inserts an element at the position at which Xcode writes it. Elements of earlier kinds come
  /// first. Elements of most kinds are in the order of their names. Those of the other kinds, and
  /// the elements of a composite, are in the order of insertion.
  ///
  /// - Complexity: O(c) comparisons of names for c children.
  public mutating func insert(_ child: ModelElement) {
    if content.isEmpty { layout.closing = nil }
    let order = Vocabulary.children[name] ?? []
    // The elements of a composite are not sorted by name.
    let isSorted = Vocabulary.sortedKinds.contains(child.name) && name != "composite"
    let siblings = content.indices.filter { index in
      if case .element(let sibling) = content[index] { sibling.name == child.name } else { false }
    }
    if let last = siblings.last {
      let next = siblings.first { index in
        guard isSorted, case .element(let sibling) = content[index] else { return false }
        return NaturalOrder.precedes(child["name"] ?? "", sibling["name"] ?? "")
      }
      content.insert(.element(child), at: next ?? last + 1)
      return
    }
    let names = content.map { node in if case .element(let child) = node { child.name } else { "" } }
    content.insert(.element(child), at: Self.insertionIndex(of: child.name, among: names, in: order))
  }

  /// Removes the elements of the content for which `condition` is true.
  public mutating func removeChildren(where condition: (ModelElement) -> Bool) {
    let hadContent = !content.isEmpty
    content.removeAll { if case .element(let child) = $0 { condition(child) } else { false } }
    // The space before the end tag belonged to the removed content.
    if hadContent, content.isEmpty { layout.closing = nil }
  }

  /// Changes the elements of the content for which `condition` is true.
  public mutating func updateChildren(
    where condition: (ModelElement) -> Bool, _ change: (inout ModelElement) -> Void
  ) {
    for index in content.indices {
      guard case .element(var child) = content[index], condition(child) else { continue }
      change(&child)
      content[index] = .element(child)
    }
  }

  /// Sorts the elements of the content by their ranks. Other parts keep their positions.
  mutating func orderChildren(by rank: (ModelElement) -> Int) {
    let places = content.indices.filter { if case .element = content[$0] { true } else { false } }
    let ranked = children.map { (element: $0, rank: rank($0)) }
    let sorted = ranked.enumerated().sorted {
      ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset)
    }
    for (place, child) in zip(places, sorted) { content[place] = .element(child.element.element) }
  }

  /// The position of a name among others: after the last one that precedes it in `order`.
  ///
  /// A name that is not in `order` is inserted last.
  private static func insertionIndex(of name: String, among names: [String], in order: [String]) -> Int {
    guard let rank = order.firstIndex(of: name) else { return names.count }
    let earlier = Set(order[..<rank])
    return names.lastIndex(where: earlier.contains).map { $0 + 1 } ?? 0
  }
}
