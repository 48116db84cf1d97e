/// A class to which a macro adds members, with its variables as properties. `@Entity`,
/// `@EntityBase` and `@Accessors` share it, and each adds its own checks.
struct ExpandedClass {
  let type: TypeSyntax
  private(set) var properties: [ManagedProperty] = []
  /// The variables that cannot be properties, and the problems that `check` found.
  private(set) var problems: [ManagedProperty.Problem] = []

  /// - Parameter check: Returns the problem of a property that the macro does not allow; nil
  ///   otherwise.
  init(
    _ type: TypeSyntax, check: (VariableSyntax, ManagedProperty) -> ManagedProperty.Problem? = { _, _ in nil }
  ) {
    self.type = type
    for variable in type.variables {
      switch ManagedProperty.judge(variable) {
      case .managed(let property):
        properties.append(property)
        if let problem = check(variable, property) { problems.append(problem) }
      case .left: break
      case .refused(let message, let offset): problems.append((message, offset))
      }
    }
  }
}

extension Request.AttachedExpansion {
  /// The reply for a class that has a problem as a whole; nil without a problem. The reply adds the
  /// initializer to a class, so that the compiler reports only this problem.
  func reply(to problem: ManagedProperty.Problem?, of type: TypeSyntax) -> Reply? {
    guard let problem else { return nil }
    // If a class has several such attributes by mistake, only the first reports the error.
    guard !isAgain(in: type.entityAttributes) else { return .expansion(nil, []) }
    return .expansion(
      type.keyword == "class" ? TypeSyntax.initializer : nil,
      [declaration.error(problem.message, at: problem.offset)])
  }
}
