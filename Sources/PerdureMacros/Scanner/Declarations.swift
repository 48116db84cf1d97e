/// An attribute of a declaration, for example `@Attribute(.unique)`.
struct AttributeSyntax: Hashable, Sendable {
  /// The last part of the name: `Attribute` for `@Perdure.Attribute`.
  let name: String
  /// The text between the parentheses, or nil when there are none.
  let arguments: String?
  let offset: Int
  /// Whether the attribute stands inside `#if` and what it belongs to does not.
  var isConditional = false
}

/// One variable of a declaration.
struct BindingSyntax: Hashable, Sendable {
  /// The name without backticks; nil for a pattern that names several.
  let name: String?
  /// The name as it is written, with backticks where it has them.
  let spelling: String
  let type: String?
  let initializer: String?
  let accessors: AccessorSyntax
  let offset: Int
}

/// What stands in the braces behind a variable.
enum AccessorSyntax: Hashable, Sendable {
  case none
  /// A getter, or all of them: the variable is computed.
  case computed
  /// `willSet` or `didSet`, at this place.
  case observers(Int)
}

/// A `var` or `let` in a type.
struct VariableSyntax: Hashable, Sendable {
  let attributes: [AttributeSyntax]
  /// The words in front, for example `private(set)`, `lazy`, `static`.
  let modifiers: [String]
  let isLet: Bool
  let bindings: [BindingSyntax]
  /// Whether the declaration stands inside `#if`.
  let isConditional: Bool
  let offset: Int

  func attribute(_ name: String) -> AttributeSyntax? { attributes.first { $0.name == name } }
}

/// An instance method that throws and has one argument without a label:
/// `func validateAge(_ age: Int) throws`.
struct ValidatorSyntax: Hashable, Sendable {
  /// The name without backticks.
  let name: String
  /// The source text of the argument's type.
  let argumentType: String
}

/// An initializer that a type declares.
struct InitializerSyntax: Hashable, Sendable {
  let modifiers: [String]
  /// The label of the first parameter; `_` for one without a label, nil without parameters.
  let firstLabel: String?
  let offset: Int
}

/// A class, actor, struct, enum or extension, with the variables it declares.
struct TypeSyntax: Hashable, Sendable {
  let attributes: [AttributeSyntax]
  let modifiers: [String]
  /// `class` and so on, or what stands in its place.
  let keyword: String
  let keywordOffset: Int
  let name: String
  let isGeneric: Bool
  /// The types behind the colon, as they are written.
  let inheritance: [String]
  /// Where the first of these is written.
  let inheritanceOffset: Int?
  let variables: [VariableSyntax]
  /// The initializers, inside `#if` or not.
  let initializers: [InitializerSyntax]
  /// The names of the functions that are marked `override`, `#if` or not.
  let overriddenFunctions: Set<String>
  /// The functions outside of `#if` whose form and name can be those of a validation.
  let validators: [ValidatorSyntax]
}
