/// Generates the accessors of a variable with `@Managed`, including the braces.
///
/// The slot is a constant of the declaring class. So an access is a load from a known position,
/// without a dictionary or a string.
struct ManagedExpansion {
  private let binding: BindingSyntax
  /// The expression for the slot.
  private let slot: String

  /// The accessors of a variable; nil for another declaration.
  ///
  /// - Parameter type: The head of the class or extension with the variable, if it is known.
  static func accessors(_ declaration: SyntaxText, in type: TypeSyntax? = nil) -> String? {
    guard let variable = DeclarationScanner.variable(declaration.source),
      let binding = variable.bindings.first,
      binding.name != nil
    else { return nil }
    let slot = type?.slot(binding.spelling) ?? "_Slot.\(binding.spelling)"
    return ManagedExpansion(binding: binding, slot: slot).accessors(variable)
  }

  private func accessors(_ variable: VariableSyntax) -> String {
    if ManagedProperty.isTransformed(variable) {
      return accessors("_transformed", "_setTransformed", hasSetter: !Self.isDerived(variable))
    }
    if ManagedProperty.isComposite(variable) { return accessors("_composite", "_setComposite") }
    if ManagedProperty.isTransient(variable) { return transientAccessors }
    let getter = "get { _get(\(slot)) }"
    if Self.isDerived(variable) {
      return "{\n  \(getter)\n}"
    }
    return "{\n  \(getter)\n  set { _set(\(slot), newValue) }\n}"
  }

  private func accessors(_ getter: String, _ setter: String, hasSetter: Bool = true) -> String {
    let getter = "get { \(getter)(\(slot)\(type)) }"
    return hasSetter
      ? "{\n  \(getter)\n  set { \(setter)(\(slot), newValue) }\n}" : "{\n  \(getter)\n}"
  }

  /// The type as a further argument.
  private var type: String { binding.type.map { ", (\($0)).self" } ?? "" }

  /// Accessors of a transient attribute. Its default is computed at the first read, if the model
  /// does not know its type or cannot contain one value for all objects.
  private var transientAccessors: String {
    let isMade = MadeDefault.of(binding.initializer, type: binding.type ?? "") != nil
    let label = isMade ? "made" : "default"
    let initial = DecimalLiteral.initialValue(binding.initializer, type: binding.type ?? "")
    let value = initial.flatMap { $0 == "nil" ? nil : ", \(label): \($0)" } ?? ""
    return """
      {
        get { _transient(\(slot)\(type)\(value)) }
        set { _setTransient(\(slot), newValue) }
      }
      """
  }

  /// Whether the variable gets no setter because its value is derived. If the source mentions a
  /// setter, as in `private(set)`, Swift requires one; the object then rejects the new value.
  private static func isDerived(_ variable: VariableSyntax) -> Bool {
    ManagedProperty.isDerived(variable) && !variable.modifiers.contains { $0.hasSuffix("(set)") }
  }
}
