@testable import DeclarationScanning

/// A declaration as lines of text, which can show a difference.
enum Facts {
  static func of(_ type: TypeSyntax) -> [String] {
    [
      "modifiers \(type.modifiers)", "\(type.keyword) at \(type.keywordOffset)", "name \(type.name)",
      "generic \(type.isGeneric)", "inherits \(type.inheritance) at \(type.inheritanceOffset ?? -1)",
      "overrides \(type.overriddenFunctions.sorted())",
    ] + type.attributes.map(of) + type.variables.flatMap(of) + type.initializers.map(of)
  }

  private static func of(_ initializer: InitializerSyntax) -> String {
    "init \(initializer.modifiers) \(initializer.firstLabel ?? "no label") at \(initializer.offset)"
  }

  static func of(_ variable: VariableSyntax) -> [String] {
    [
      "\(variable.isLet ? "let" : "var") at \(variable.offset), conditional \(variable.isConditional), "
        + "modifiers \(variable.modifiers)"
    ] + variable.attributes.map(of) + variable.bindings.map(of)
  }

  static func of(_ attribute: AttributeSyntax) -> String {
    "@\(attribute.name) (\(attribute.arguments ?? "no arguments")) at \(attribute.offset), "
      + "conditional \(attribute.isConditional)"
  }

  private static func of(_ binding: BindingSyntax) -> String {
    let name = binding.name.map { "\($0) as \(binding.spelling)" } ?? "a pattern"
    return
      "\(name) at \(binding.offset): \(binding.type ?? "no type") = \(binding.initializer ?? "no value") "
      + "\(binding.accessors)"
  }
}
