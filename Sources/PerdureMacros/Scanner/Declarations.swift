/// An attribute of a declaration, for example `@Attribute(.unique)`.
struct AttributeSyntax: Hashable, Sendable {
  /// The last part of the name: `Attribute` for `@Perdure.Attribute`.
  let name: String
  /// The text between the parentheses; nil if there are none.
  let arguments: String?
  let offset: Int
  /// Whether the attribute is inside `#if` while its declaration is not.
  var isConditional = false
}

/// One variable of a declaration.
struct BindingSyntax: Hashable, Sendable {
  /// The name without backticks; nil for a pattern with several names.
  let name: String?
  /// The name as written, including backticks.
  let spelling: String
  let type: String?
  let initializer: String?
  let accessors: AccessorSyntax
  let offset: Int
}

/// The content of the braces after a variable.
enum AccessorSyntax: Hashable, Sendable {
  case none
  /// A getter or other accessors: the variable is computed. `isSettable` is true if both `get` and
  /// `set` are among them.
  case computed(isSettable: Bool)
  /// `willSet` or `didSet`, at this offset.
  case observers(Int)
}

/// A `var` or `let` in a type.
struct VariableSyntax: Hashable, Sendable {
  let attributes: [AttributeSyntax]
  /// The modifiers, for example `private(set)`, `lazy`, `static`.
  let modifiers: [String]
  let isLet: Bool
  let bindings: [BindingSyntax]
  /// Whether the declaration is inside `#if`.
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
  /// The keyword, such as `class`, or another word at its position.
  let keyword: String
  let keywordOffset: Int
  let name: String
  let isGeneric: Bool
  /// The types after the colon, as written.
  let inheritance: [String]
  /// The offset of the first of these types.
  let inheritanceOffset: Int?
  let variables: [VariableSyntax]
  /// The initializers, including those inside `#if`.
  let initializers: [InitializerSyntax]
  /// The names of the functions that are marked `override`, including those inside `#if`.
  let overriddenFunctions: Set<String>
  /// The functions outside `#if` that have the form and the name of a validation.
  let validators: [ValidatorSyntax]
  /// The functions with `@FetchTemplate`, including those inside `#if`.
  let templateFunctions: [TemplateFunctionSyntax]
}
