// Maps the tree of a model file to descriptions. All problems of the file are reported together: a
// harmless substitute replaces an unreadable part, and reading continues.

import PerdureModel

/// The descriptions of a model file, before they are checked together.
struct ModelContent {
  var entities: [EntityDescription] = []
  var configurations: [String: [String]] = [:]
  var versionIdentifiers: Set<String> = []
  var templates: [FetchRequestTemplate] = []
  /// The names of the composites in the file, by the paths of the attributes that use them.
  var compositeNames: [String: String] = [:]
  var problems: [ModelFileProblem] = []
  var lines = SourceLines()
}

/// Reads one file.
struct ModelReader {
  let file: String
  var content = ModelContent()
  var composites = CompositeTable()
  /// The names that were reported. An unknown name is reported once for each kind of element, and a
  /// flag of a service once in a file.
  private var reportedNames: Set<String> = []

  static func read(_ document: ModelDocument) -> ModelContent {
    var reader = ModelReader(file: document.file)
    reader.readModel(document.root)
    return reader.content
  }

  private init(file: String) { self.file = file }

  private mutating func readModel(_ root: ModelElement) {
    guard root.name == "model" else {
      error(
        .format, at: root, in: nil, "The root element is <\(root.name)>.",
        "Give the contents of an .xcdatamodel folder: their root element is <model>.")
      return
    }
    checkNames(root, in: nil)
    if let identifier = root["userDefinedModelVersionIdentifier"], !identifier.isEmpty {
      content.versionIdentifiers = [identifier]
    }
    readComposites(root.children("composite"))
    for element in root.children("entity") { readEntity(element) }
    for element in root.children("configuration") { readConfiguration(element) }
    makeIndexNamesUnique()
    readTemplates(root.children("fetchRequest"))
  }

  // MARK: Entities

  private mutating func readEntity(_ element: ModelElement) {
    checkNames(element, in: element["name"])
    guard let name = required("name", of: element, nil) else { return }
    var properties: [PropertyDescription] = []
    for child in element.children {
      switch child.name {
      case "attribute": properties += [attribute(child, in: name)].compactMap { $0 }
      case "relationship": properties += [relationship(child, in: name)].compactMap { $0 }
      default: break
      }
    }
    var entity = EntityDescription(
      name, superentity: element["parentEntity"], isAbstract: bool("isAbstract", of: element, name),
      className: className(element), properties: properties)
    entity.renamingIdentifier = text("elementID", of: element)
    entity.versionHashModifier = text("versionHashModifier", of: element)
    entity.userInfo = userInfo(element, name)
    entity.fetchedProperties = fetchedProperties(element, of: name)
    entity.indexes = indexes(element, of: entity)
    entity.uniquenessConstraints = constraints(element, of: name)
    content.lines.note(line: element.line, .entity, name)
    content.entities.append(entity)
  }

  /// The name of the class of an entity's objects. `ManagedObject` replaces Core Data's base class.
  private func className(_ element: ModelElement) -> String {
    let name = element["representedClassName"] ?? ""
    return name.isEmpty || name == "NSManagedObject" ? ModelReader.baseClassName : name
  }

  /// The class of entities without a class name.
  static let baseClassName = "ManagedObject"

  private mutating func constraints(_ element: ModelElement, of entity: String) -> [[String]] {
    var constraints: [[String]] = []
    for list in element.children("uniquenessConstraints") {
      checkNames(list, in: entity)
      for constraint in list.children("uniquenessConstraint") {
        checkNames(constraint, in: entity)
        let members = constraint.children("constraint")
        for member in members { checkNames(member, in: entity) }
        let names = members.compactMap { required("value", of: $0, entity) }
        content.lines.note(line: constraint.line, .constraint, entity, names.joined(separator: ","))
        constraints.append(names)
      }
    }
    return constraints
  }

  private mutating func readConfiguration(_ element: ModelElement) {
    checkNames(element, in: element["name"])
    guard let name = required("name", of: element, nil) else { return }
    content.lines.note(line: element.line, .configuration, name)
    var members: [String] = []
    for member in element.children("memberEntity") {
      checkNames(member, in: name)
      guard let entity = required("name", of: member, name) else { continue }
      content.lines.note(line: member.line, .member, entity)
      members.append(entity)
    }
    content.configurations[name, default: []] += members
  }
}

// MARK: - Problems and common values

extension ModelReader {
  mutating func error(
    _ kind: ModelFileProblem.Kind, at element: ModelElement, attribute: String? = nil, in place: String?,
    _ message: String, _ remedy: String
  ) {
    report(.error, kind, at: element, attribute: attribute, in: place, message: message, remedy: remedy)
  }

  mutating func warning(
    _ kind: ModelFileProblem.Kind, at element: ModelElement, attribute: String? = nil, in place: String?,
    _ message: String, _ remedy: String
  ) {
    report(.warning, kind, at: element, attribute: attribute, in: place, message: message, remedy: remedy)
  }

  mutating func note(
    _ kind: ModelFileProblem.Kind, at element: ModelElement, attribute: String? = nil, in place: String?,
    _ message: String, _ remedy: String
  ) {
    report(.note, kind, at: element, attribute: attribute, in: place, message: message, remedy: remedy)
  }

  private mutating func report(
    _ severity: ModelFileProblem.Severity, _ kind: ModelFileProblem.Kind, at element: ModelElement,
    attribute: String?, in place: String?, message: String, remedy: String
  ) {
    let line = element.attributes.first { $0.name == attribute }?.line ?? element.line
    content.problems.append(
      ModelFileProblem(
        severity: severity, kind: kind, file: file, line: line, place: place, message: message,
        remedy: remedy))
  }

  /// The name of a property or index in messages, after the name of its owner. The owner is the
  /// entity or composite that contains it.
  static func place(of element: ModelElement, in owner: String) -> String {
    ([owner] + [element["name"]].compactMap { $0 }.filter { !$0.isEmpty }).joined(separator: ".")
  }

  /// The text of an attribute; nil if it is absent or empty.
  func text(_ attribute: String, of element: ModelElement) -> String? {
    element[attribute].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// The text of a required attribute. If the attribute is absent or empty, reports an error and
  /// returns nil.
  mutating func required(_ attribute: String, of element: ModelElement, _ place: String?) -> String? {
    if let text = text(attribute, of: element) { return text }
    error(
      .missing, at: element, in: place, "The element <\(element.name)> has no \(attribute).",
      "Write \(attribute)=\"…\".")
    return nil
  }

  /// A truth value; false if the attribute is absent or empty. Other texts are reported as errors,
  /// and count as false.
  mutating func bool(_ attribute: String, of element: ModelElement, _ place: String) -> Bool {
    guard let text = text(attribute, of: element) else { return false }
    if let value = ModelText.bool(text) { return value }
    error(
      .value, at: element, attribute: attribute, in: place,
      "The value \"\(text)\" of \(attribute) is not a truth value.", "Write YES, or remove the attribute.")
    return false
  }

  mutating func userInfo(_ element: ModelElement, _ place: String) -> [String: String] {
    var info: [String: String] = [:]
    for list in element.children("userInfo") {
      checkNames(list, in: place)
      for entry in list.children("entry") {
        checkNames(entry, in: place)
        guard let key = entry["key"] else {
          _ = required("key", of: entry, place)
          continue
        }
        if info.updateValue(entry["value"] ?? "", forKey: key) != nil {
          warning(
            .contradiction, at: entry, in: place, "The user info has two values for \"\(key)\".",
            "Remove one of them; the last one is used.")
        }
      }
    }
    return info
  }

  /// Reports names that are not part of the format, and flags of services that Perdure does not
  /// have. Each is reported once.
  mutating func checkNames(_ element: ModelElement, in place: String?) {
    checkServices(element, place)
    let known = Vocabulary.attributes[element.name] ?? []
    for attribute in element.attributes where !known.contains(attribute.name) {
      if reportedNames.insert("\(element.name) \(attribute.name)").inserted {
        warning(
          .unknownContent, at: element, attribute: attribute.name, in: place,
          "The attribute \(attribute.name) of <\(element.name)> is unknown and has no effect.",
          "Check its spelling; it is kept when the file is written.")
      }
    }
    let inside = Vocabulary.children[element.name] ?? []
    for child in element.children where !inside.contains(child.name) {
      if reportedNames.insert("\(element.name)/\(child.name)").inserted {
        warning(
          .unknownContent, at: child, in: place,
          "The element <\(child.name)> in <\(element.name)> is unknown and has no effect.",
          "Check its spelling; it is kept when the file is written.")
      }
    }
  }

  /// Reports the flags of an element that are set but have no effect in Perdure.
  private mutating func checkServices(_ element: ModelElement, _ place: String?) {
    let known = Vocabulary.attributes[element.name] ?? []
    for attribute in element.attributes {
      let name = attribute.name
      guard let service = Vocabulary.services[name], known.contains(name), !attribute.value.isEmpty,
        ModelText.bool(attribute.value) != false, reportedNames.insert(name).inserted
      else { continue }
      warning(
        .unused, at: element, attribute: name, in: place,
        "The setting \(name) is for \(service) and has no effect.",
        "Ignore this if other programs use the file; it is kept when the file is written.")
    }
  }
}
