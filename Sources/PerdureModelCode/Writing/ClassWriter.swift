/// Writes a class, or the extension of a class, with accessors.
struct ClassWriter {
  let entity: PlannedEntity
  let options: ModelCodeOptions

  private var access: String { options.access.modifier }

  func write(to lines: inout CodeLines) {
    guard let name = entity.classSpelling else { return }
    switch entity.code {
    case .manual: return
    case .classDefinition:
      lines.add()
      lines.add("/// An object of the entity \(entity.name).")
      lines.block("\(access)\(entity.hasSubentities ? "" : "final ")class \(name): \(entity.superclass)") {
        writeOverrides(name, to: &$0)
        writeProperties(to: &$0, isFirst: false)
      }
    case .categoryExtension:
      lines.add()
      writeExtensionComment(name, to: &lines)
      lines.block("extension \(name)") { writeProperties(to: &$0, isFirst: true) }
    }
  }

  private func writeExtensionComment(_ name: String, to lines: inout CodeLines) {
    let override = options.access == .internal ? "override" : "\(access)override"
    for line in [
      "The properties of the entity \(entity.name). The program declares the class:", "",
      "    \(access)\(entity.hasSubentities ? "" : "final ")class \(name): \(entity.superclass) {",
      "      \(override) class var entityDescription: EntityDescription { \(entity.namespace).description }",
      "      \(override) class var _propertyNamesByKeyPath: [AnyKeyPath: String] {",
      "        \(entity.namespace).namesByKeyPath", "      }", "    }",
    ] {
      lines.add(line.isEmpty ? "//" : "// \(line)")
    }
  }

  private func writeOverrides(_ name: String, to lines: inout CodeLines) {
    let namespace = entity.namespace
    lines.add("\(access)override class var _entityName: String { \(SwiftLiteral.string(entity.name)) }")
    lines.add("\(access)override class var entityDescription: EntityDescription { \(namespace).description }")
    lines.block("\(access)override class var _propertyNamesByKeyPath: [AnyKeyPath: String]") {
      $0.add("\(namespace).namesByKeyPath")
    }
    // The class has no hooks, but a class that inherits from it may have some.
    let hooks = "\(entity.superclass)._lifeCycle"
    lines.block("\(access)override class var _lifeCycle: _LifeCycle") {
      $0.add(entity.hasSubentities ? "self == \(name).self ? \(hooks) : .all" : hooks)
    }
  }

  // MARK: Properties

  private func writeProperties(to lines: inout CodeLines, isFirst: Bool) {
    var isFirst = isFirst
    for property in entity.properties {
      if !isFirst { lines.add() }
      isFirst = false
      write(property, to: &lines)
    }
    for property in entity.description.fetchedProperties {
      if !isFirst { lines.add() }
      isFirst = false
      let type = entity.fetchedClasses[property.name] ?? "ManagedObject"
      lines.block("\(access)var \(SwiftName.spelling(property.name)): [\(type)]") {
        $0.add("fetchedObjects(forKey: \(SwiftLiteral.string(property.name)), as: \(type).self)")
      }
    }
    for property in entity.properties where property.toMany != nil {
      RelationshipFunctions(property: property, access: access).write(to: &lines)
    }
  }

  private func write(_ property: PlannedProperty, to lines: inout CodeLines) {
    let (getter, setter) = property.accessors
    lines.block("\(access)var \(property.spelling): \(property.type)") { lines in
      if property.isReadOnly {
        lines.add(getter)
      } else {
        lines.add("get { \(getter) }")
        lines.add("set { \(setter) }")
      }
    }
  }
}

extension PlannedProperty {
  /// The expressions that read the property and set it to `newValue`.
  fileprivate var accessors: (getter: String, setter: String) {
    switch form {
    case .plain: ("_get(\(slot))", "_set(\(slot), newValue)")
    case .transient: ("_transient(\(slot), (\(type)).self)", "_setTransient(\(slot), newValue)")
    case .transformed: ("_transformed(\(slot), (\(type)).self)", "_setTransformed(\(slot), newValue)")
    case .composite: ("_composite(\(slot), (\(type)).self)", "_setComposite(\(slot), newValue)")
    }
  }
}

/// The functions that connect and disconnect objects of a to-many relationship.
struct RelationshipFunctions {
  let property: PlannedProperty
  let access: String

  private var suffix: String { SwiftName.capitalized(property.name) }
  private var element: String { property.destination ?? "ManagedObject" }

  func write(to lines: inout CodeLines) {
    let isOrdered = property.toMany?.isOrdered == true
    let insert = isOrdered ? "append" : "insert"
    let value = property.spelling
    function("addTo\(suffix)(_ object: \(element))", "\(value).\(insert)(object)", &lines)
    function(
      "addTo\(suffix)(_ objects: some Sequence<\(element)>)",
      "for object in objects { \(value).\(insert)(object) }", &lines)
    anyFunction("addTo\(suffix)", "\(value).\(insert)(contentsOf: objects)", &lines)
    function("removeFrom\(suffix)(_ object: \(element))", "\(value).remove(object)", &lines)
    function(
      "removeFrom\(suffix)(_ objects: some Sequence<\(element)>)",
      "for object in objects { \(value).remove(object) }", &lines)
    anyFunction("removeFrom\(suffix)", "\(value).remove(contentsOf: objects)", &lines)
    guard isOrdered else { return }
    function(
      "insertInto\(suffix)(_ object: \(element), at position: Int)", "\(value).insert(object, at: position)",
      &lines)
    function("removeFrom\(suffix)(at position: Int)", "\(value).remove(at: position)", &lines)
    function(
      "replace\(suffix)(at position: Int, with object: \(element))",
      "\(value).replace(at: position, with: object)", &lines)
  }

  /// A function for collections of any values, such as `NSSet`.
  private func anyFunction(_ name: String, _ body: String, _ lines: inout CodeLines) {
    lines.add()
    lines.add("@_disfavoredOverload")
    lines.block("\(access)func \(name)(_ objects: some Sequence<Any>)") { $0.add(body) }
  }

  private func function(_ head: String, _ body: String, _ lines: inout CodeLines) {
    lines.add()
    lines.block("\(access)func \(head)") { $0.add(body) }
  }
}
