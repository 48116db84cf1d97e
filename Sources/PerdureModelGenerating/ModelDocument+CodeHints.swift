public import PerdureModelCode
public import PerdureModelFiles

extension ModelDocument {
  /// Information in the file about code: the kind of code for each entity, types of transformable
  /// attributes, scalar types, and the names of composites.
  ///
  /// The hints suit the model of a document without errors.
  ///
  /// - Complexity: O(n) for n elements, and for the elements of composites each time they are used.
  public func codeHints() -> ModelCodeHints {
    var hints = ModelCodeHints()
    let composites = Dictionary(
      root.children("composite").map { ($0["name"] ?? "", $0) }, uniquingKeysWith: { first, _ in first })
    for entity in root.children("entity") {
      let name = entity["name"] ?? ""
      hints.entityCode[name] = Self.entityCode(entity["codeGenerationType"])
      for attribute in entity.children("attribute") {
        let path = "\(name).\(attribute["name"] ?? "")"
        if ModelText.bool(attribute["usesScalarValueType"] ?? "") == true {
          hints.scalarAttributes.insert(path)
        }
        if let type = attribute["customClassName"] { hints.attributeTypes[path] = type }
        Self.addComposite(of: attribute, path: path, composites, to: &hints)
      }
    }
    return hints
  }

  /// Xcode writes no kind for entities whose classes the program declares.
  private static func entityCode(_ text: String?) -> EntityCode {
    switch text {
    case "class": .classDefinition
    case "category": .categoryExtension
    default: .manual
    }
  }

  private static func addComposite(
    of attribute: ModelElement, path: String, _ composites: [String: ModelElement],
    to hints: inout ModelCodeHints
  ) {
    guard let name = attribute["composite"], hints.compositeNames[path] == nil else { return }
    hints.compositeNames[path] = name
    var inner = composites
    // A composite inside of itself is an error of the model. Here it ends the walk.
    guard let composite = inner.removeValue(forKey: name) else { return }
    for element in composite.children("attribute") {
      addComposite(of: element, path: "\(path).\(element["name"] ?? "")", inner, to: &hints)
    }
  }
}
