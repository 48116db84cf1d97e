// Generates the calls of a class's validation functions for single properties, such as
// `func validateAge(_ age: Int) throws` for an attribute `age`.

extension EntityExpansion {
  /// Whether the class overrides `validatedKeys`.
  var listsKeys: Bool {
    type.variables.contains { variable in
      variable.modifiers.contains("override") && variable.bindings.contains { $0.name == "validatedKeys" }
    }
  }

  /// The members that list the validated properties, and call their validation functions by name.
  var validations: [String] {
    let validated = validatedProperties
    if validated.isEmpty { return [] }
    let cases = validated.map { property, function in
      "  case \"\(property)\": try Perdure._PropertyValidation.call(\(function), &value)"
    }
    let names = validated.map { "\"\($0.property)\"" }.joined(separator: ", ")
    return [
      """
      \(overrideAccess)override class var _validatedProperties: [String] {
        super._validatedProperties + [\(names)]
      }
      """,
      """
      \(overrideAccess)override func _validateProperty(_ value: inout Any?, forKey key: String) throws {
        switch key {
      \(cases.joined(separator: "\n"))
        default: try super._validateProperty(&value, forKey: key)
        }
      }
      """,
    ]
  }

  /// The properties with a validation function, and the function's name. The macro does not see
  /// inherited properties, so any function that takes `inout Any?` counts as the validation of an
  /// inherited property.
  private var validatedProperties: [(property: String, function: String)] {
    let own = Dictionary(
      properties.map { (Self.validationName($0.name), $0.name) }, uniquingKeysWith: { first, _ in first })
    return type.validators.compactMap { validator in
      if let property = own[validator.name] { return (property, validator.name) }
      guard validator.argumentType == "inout Any?" else { return nil }
      let name = validator.name.dropFirst("validate".count)
      return (name.prefix(1).lowercased() + name.dropFirst(), validator.name)
    }
  }

  private static func validationName(_ property: String) -> String {
    "validate" + property.prefix(1).uppercased() + property.dropFirst()
  }
}
