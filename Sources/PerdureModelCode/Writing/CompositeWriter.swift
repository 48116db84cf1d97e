/// Writes the struct of composite attributes.
struct CompositeWriter {
  let composite: PlannedComposite
  let options: ModelCodeOptions

  private var access: String { options.access.modifier }

  func write(to lines: inout CodeLines) {
    let name = SwiftName.spelling(composite.name)
    lines.add()
    lines.add("/// A value of the composite attributes that are called \(composite.name) in the model.")
    lines.add("@Composite")
    lines.block("\(access)struct \(name): Hashable, Sendable") { lines in
      for element in composite.elements {
        lines.add(
          "\(marker(of: element))\(access)var \(element.spelling): \(element.type)\(initialValue(of: element))"
        )
      }
      if options.access != .internal { writeInitializer(to: &lines) }
    }
  }

  private func marker(of element: PlannedComposite.Element) -> String {
    switch element.description {
    case .attribute(let attribute): MacroClassWriter.marker(of: attribute, form: .plain)
    case .composite(let composite): MacroClassWriter.marker(ofElement: composite)
    case .relationship: ""
    }
  }

  private func initialValue(of element: PlannedComposite.Element) -> String {
    guard case .attribute(let attribute) = element.description, let value = attribute.defaultValue else {
      return ""
    }
    return " = \(SwiftLiteral.plain(value))"
  }

  /// Writes an initializer, because the one that Swift generates is not visible in other modules.
  private func writeInitializer(to lines: inout CodeLines) {
    let parameters = composite.elements.map { element in
      let value = initialValue(of: element)
      let initial = value.isEmpty && element.type.hasSuffix("?") ? " = nil" : value
      return "\(element.spelling): \(element.type)\(initial)"
    }
    lines.add()
    lines.add("/// Makes a value of its elements.")
    lines.block("\(access)init(\(parameters.joined(separator: ", ")))") { lines in
      for element in composite.elements { lines.add("self.\(element.spelling) = \(element.spelling)") }
    }
  }
}
