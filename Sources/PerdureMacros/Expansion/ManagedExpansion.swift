/// What `@Managed` writes: accessors by slot. The braces are part of them.
///
/// The slot is a constant of the class that declares the property, so that an access is a load from a
/// known place: no dictionary, no string.
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

  /// A transient attribute makes its default when it is first read, where the model does not know its type or cannot have
  /// a value for all objects.
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

  /// Whether the value follows from others, so that there is nothing to set. Where the source speaks of a
  /// setter, as in `private(set)`, the language wants one; the object refuses what is set.
  private static func isDerived(_ variable: VariableSyntax) -> Bool {
    ManagedProperty.isDerived(variable) && !variable.modifiers.contains { $0.hasSuffix("(set)") }
  }
}
