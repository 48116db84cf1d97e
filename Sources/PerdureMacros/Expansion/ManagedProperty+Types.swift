// Checks the type of a property by its source text. A macro sees only this text. Therefore the
// compiler checks types that the text does not identify (UnmanagedAccessors.swift).

extension ManagedProperty {
  /// The types of the standard library, of Foundation and of Perdure that attributes can have.
  static let values: Set<String> = [
    "Bool", "Int", "Int16", "Int32", "Int64", "Double", "Float", "String", "Date", "Data", "UUID", "URL",
    "Decimal", "ManagedObjectID",
  ]

  /// Types of the standard library and of Foundation that no attribute can have, each with the type
  /// to write instead.
  private static let substitutes = [
    "UInt": "Int", "UInt8": "Int16", "UInt16": "Int32", "UInt32": "Int", "UInt64": "Decimal", "Int8": "Int16",
    "Int128": "Decimal", "UInt128": "Decimal", "Float16": "Float", "Float80": "Double", "CGFloat": "Double",
    "Character": "String", "Substring": "String", "Unicode.Scalar": "String", "NSString": "String",
    "NSNumber": "Double", "NSDecimalNumber": "Decimal", "NSDate": "Date", "NSData": "Data", "NSURL": "URL",
    "NSUUID": "UUID",
  ]

  /// The types that attributes can have, for messages.
  static let attributeTypes =
    "Attributes are Bool, Int, Int16, Int32, Int64, Double, Float, Decimal, String, Date, Data, UUID, URL, "
    + "ManagedObjectID, types that conform to AttributeValue or CodableAttributeValue, and arrays and "
    + "dictionaries of Codable values."

  static func withoutOptional(_ type: String) -> String {
    type.hasSuffix("?") ? String(type.dropLast()) : type
  }

  /// Why the property cannot have its type; nil if the text of the type shows no reason.
  static func typeProblem(_ name: String, _ type: String, _ variable: VariableSyntax) -> String? {
    if let kind = unmanaged(type) {
      return
        "\"\(name)\" is \(kind), which cannot be stored. Use a type that conforms to AttributeValue, an object "
        + "or ToMany, or mark it @Transient."
    }
    let core = withoutOptional(type)
    if let substitute = substitutes[core] {
      return
        "\"\(name)\" is a \(core), which is not a type of an attribute. Write \(substitute). \(attributeTypes)"
    }
    if let element = argument(of: core, ["Set", "Swift.Set", "NSSet"]) {
      return
        "\"\(name)\" is a Set, which no property can be. Write ToMany<\(element)> for a relationship to objects, or "
        + "[\(element)] for Codable values."
    }
    if variable.attribute("Relationship") != nil, let element = arrayElement(of: core) {
      return
        "\"\(name)\" is an array. Write ToMany<\(element)> for a relationship, or OrderedToMany<\(element)> if its "
        + "order is to be kept."
    }
    return nil
  }

  /// The text between the angle brackets of a type with one of the names, or "Element" if the type
  /// has no brackets. Nil for other types.
  private static func argument(of type: String, _ names: Set<String>) -> String? {
    if names.contains(type) { return "Element" }
    guard let open = type.firstIndex(of: "<"), type.hasSuffix(">"), names.contains(String(type[..<open]))
    else { return nil }
    return String(type[type.index(after: open)...].dropLast())
  }

  /// The type of an array's elements; nil for other types.
  private static func arrayElement(of type: String) -> String? {
    if let element = argument(of: type, ["Array", "Swift.Array"]) { return element }
    guard type.hasPrefix("["), type.hasSuffix("]") else { return nil }
    let words = Lexer.tokens(of: String(type.dropFirst().dropLast()))
    return words.contains { $0.is(":") } ? nil : String(type.dropFirst().dropLast())
  }

  /// A description of a type that no attribute can have; nil for other types.
  private static func unmanaged(_ type: String) -> String? {
    let words = Lexer.tokens(of: type).map(\.text)
    if Array(words.suffix(2)) == ["?", "?"] { return "optional twice" }
    if words.contains("->") { return "a function" }
    if words.first == "(", words.contains(",") { return "a tuple" }
    let core = words.drop { $0 == "(" }
    if ["any", "some", "Any", "AnyObject"].contains(core.first) {
      return "of an unspecified type"
    }
    return nil
  }
}
