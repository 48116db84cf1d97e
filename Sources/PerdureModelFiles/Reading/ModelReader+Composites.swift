// Composites are declared once in a file and used by any number of attributes. The description of
// each such attribute contains the elements. Composites are expanded as follows:
//
//   CO1. Each composite is read once. Its uses share the elements, so each problem is reported
//        once.
//   CO2. It is an error if a composite is absent, too large or contains itself. A substitute then
//        replaces its elements, so that the rules of models report no second problem.
//   CO3. The number of elements is limited for each composite and for the file. The nesting is
//        limited too. So a small file cannot describe a huge model.

import PerdureModel
import PerdurePredicates

/// The composites of a file.
struct CompositeTable {
  /// The elements of a composite, with those of the composites inside.
  struct Elements {
    var properties: [PropertyDescription] = []
    /// The number of attributes and composites at any depth.
    var count = 0
    /// The number of composites on the longest path, including this one.
    var height = 1

    /// The elements of a composite that cannot be read.
    static let substitute = Elements(properties: [.string("substitute")])
  }

  enum State {
    case unread(ModelElement)
    case beingRead
    case read(Elements)
  }

  var states: [String: State] = [:]
  /// The number of composites that are being read.
  var depth = 0
  /// The number of elements in all uses of composites by entities.
  var count = 0

  /// The maximum of `count`.
  static let countMax = 100_000
}

extension ModelReader {
  mutating func readComposites(_ composites: [ModelElement]) {
    for element in composites {
      checkNames(element, in: element["name"])
      guard let name = required("name", of: element, nil) else { continue }
      if self.composites.states.updateValue(.unread(element), forKey: name) != nil {
        error(
          .composite, at: element, in: name, "Two composites are called \"\(name)\".", "Rename one of them.")
      }
    }
    // Read the composites in the order of the file, so that problems are in the same order.
    for element in composites {
      if let name = element["name"] { _ = elements(ofComposite: name) }
    }
  }

  mutating func composite(
    _ element: ModelElement, _ name: String, in owner: String
  ) -> PropertyDescription? {
    let place = "\(owner).\(name)"
    guard let typeName = required("composite", of: element, place) else { return nil }
    content.compositeNames[place] = typeName
    var composite = CompositeAttributeDescription(
      name, elements(ofComposite: typeName, usedBy: element, place).properties,
      isOptional: bool("optional", of: element, place))
    composite.renamingIdentifier = text("elementID", of: element)
    composite.versionHashModifier = text("versionHashModifier", of: element)
    composite.userInfo = userInfo(element, place)
    return .composite(composite)
  }

  private mutating func elements(
    ofComposite name: String, usedBy element: ModelElement, _ place: String
  ) -> CompositeTable.Elements {
    guard let state = composites.states[name] else {
      error(
        .composite, at: element, attribute: "composite", in: place,
        "The composite \"\(name)\" is not in the file.",
        "Add it, or correct the name.\(NearMisses.question(name, in: composites.states.keys))")
      return .substitute
    }
    if case .beingRead = state {
      error(
        .composite, at: element, attribute: "composite", in: place,
        "The composite \"\(name)\" contains itself.", "Remove one of the attributes on the cycle.")
      return .substitute
    }
    let elements = self.elements(ofComposite: name)
    composites.count += elements.count
    guard composites.count <= CompositeTable.countMax else {
      error(
        .composite, at: element, in: place,
        "The composites of the file have more than \(CompositeTable.countMax) attributes.",
        "Use fewer of them.")
      return .substitute
    }
    return elements
  }

  private mutating func elements(ofComposite name: String) -> CompositeTable.Elements {
    switch composites.states[name] {
    case .read(let elements): return elements
    case .beingRead, nil: return .substitute
    case .unread(let element):
      composites.states[name] = .beingRead
      let elements = read(element, name)
      composites.states[name] = .read(elements)
      return elements
    }
  }

  private mutating func read(_ element: ModelElement, _ name: String) -> CompositeTable.Elements {
    var elements = CompositeTable.Elements()
    composites.depth += 1
    defer { composites.depth -= 1 }
    if composites.depth <= ModelLimits.compositeDepth {
      for child in element.children("attribute") {
        guard let property = attribute(child, in: name) else { continue }
        elements.properties.append(property)
        elements.count += 1
        if case .composite = property, case .read(let inside)? = composites.states[child["composite"] ?? ""] {
          elements.count += inside.count
          elements.height = max(elements.height, inside.height + 1)
        }
      }
      // Uses inside of a composite are counted later, when an entity uses the composite.
      composites.count = 0
    } else {
      elements.height = composites.depth
    }
    if elements.height <= ModelLimits.compositeDepth, elements.count <= ModelLimits.propertyCount {
      return elements
    }
    error(
      .composite, at: element, in: name,
      "The composite has more than \(ModelLimits.compositeDepth) levels or \(ModelLimits.propertyCount) attributes.",
      "Make it smaller.")
    return .substitute
  }
}
