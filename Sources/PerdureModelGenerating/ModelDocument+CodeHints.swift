public import PerdureModelCode
public import PerdureModelFiles

extension ModelDocument {
  /// The hints of the file for generated code: the kind of code of each entity, the types of
  /// attributes, the names of composites, and line numbers for problems.
  ///
  /// The hints are correct only if the document has no errors.
  ///
  /// - Complexity: O(n) for n elements. The elements of a composite count once for each use of the
  ///   composite.
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
    hints.source = codeSource()
    return hints
  }

  private func codeSource() -> ModelCodeSource {
    var source = ModelCodeSource(file: file)
    for element in root.children {
      guard let name = element["name"] else { continue }
      switch element.name {
      case "entity":
        source.entityLines[name] = element.line
        for property in element.children where Self.propertyElements.contains(property.name) {
          source.propertyLines["\(name).\(property["name"] ?? "")"] = property.line
        }
      case "composite": source.compositeLines[name] = element.line
      case "fetchRequest": source.templateLines[name] = element.line
      default: break
      }
    }
    return source
  }

  private static let propertyElements: Set<String> = ["attribute", "relationship", "fetchedProperty"]

  /// Xcode writes no `codeGenerationType` for entities whose classes the program declares.
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
