/// Generates the accessors of a variable with `@Managed`, including the braces.
///
/// The slot is a constant of the declaring class. So an access is a load from a known position,
/// without a dictionary or a string.
enum ManagedExpansion {
  static func accessors(_ declaration: SyntaxText) -> String? {
    guard let variable = DeclarationScanner.variable(declaration.source),
      let binding = variable.bindings.first,
      binding.name != nil
    else { return nil }
    if ManagedProperty.isTransformed(variable) {
      return accessors("_transformed", "_setTransformed", binding, hasSetter: !isDerived(variable))
    }
    if ManagedProperty.isComposite(variable) { return accessors("_composite", "_setComposite", binding) }
    if ManagedProperty.isTransient(variable) { return transientAccessors(binding) }
    let getter = "get { _get(_Slot.\(binding.spelling)) }"
    if isDerived(variable) {
      return "{\n  \(getter)\n}"
    }
    return "{\n  \(getter)\n  set { _set(_Slot.\(binding.spelling), newValue) }\n}"
  }

  private static func accessors(
    _ getter: String, _ setter: String, _ binding: BindingSyntax, hasSetter: Bool = true
  ) -> String {
    let type = binding.type.map { ", (\($0)).self" } ?? ""
    let getter = "get { \(getter)(_Slot.\(binding.spelling)\(type)) }"
    return hasSetter
      ? "{\n  \(getter)\n  set { \(setter)(_Slot.\(binding.spelling), newValue) }\n}" : "{\n  \(getter)\n}"
  }

  /// Accessors of a transient attribute. It makes its default at the first read, if the model does
  /// not know its type or cannot contain one value for all objects.
  private static func transientAccessors(_ binding: BindingSyntax) -> String {
    let type = binding.type.map { ", (\($0)).self" } ?? ""
    let isMade = MadeDefault.of(binding.initializer, type: binding.type ?? "") != nil
    let label = isMade ? "made" : "default"
    let value = binding.initializer.flatMap { $0 == "nil" ? nil : ", \(label): \($0)" } ?? ""
    return """
      {
        get { _transient(_Slot.\(binding.spelling)\(type)\(value)) }
        set { _setTransient(_Slot.\(binding.spelling), newValue) }
      }
      """
  }

  /// Whether the value is derived, so that there is no setter. If the source mentions a setter, as
  /// in `private(set)`, Swift requires one; the object then rejects the new value.
  private static func isDerived(_ variable: VariableSyntax) -> Bool {
    ManagedProperty.isDerived(variable) && !variable.modifiers.contains { $0.hasSuffix("(set)") }
  }
}
