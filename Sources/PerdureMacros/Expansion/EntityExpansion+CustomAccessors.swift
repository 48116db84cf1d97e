// Generates code for attributes with custom accessors, such as `@Attribute var name: String? { get
// { … } set { … } }`: the variable `primitiveName` for the stored value, and the calls of the
// accessors by name.

extension EntityExpansion {
  /// The members for such attributes; empty if there are no such attributes.
  ///
  /// - Parameter slot: The expression for the slot of a property, by its spelling.
  func customAccessors(_ slot: (String) -> String) -> [String] {
    let custom = properties.filter(\.isCustom)
    if custom.isEmpty { return [] }
    return custom.map { primitive($0, slot($0.spelling)) } + [list(custom), getters(custom), setters(custom)]
  }

  private func primitive(_ property: ManagedProperty, _ slot: String) -> String {
    let access = property.access.hasSuffix("private ") ? property.access : ""
    let getter =
      property.isTransient ? "_transient(\(slot), (\(property.type)).self)" : "_get(\(slot))"
    return """
      /// The stored value of `\(property.name)`, for its accessors. Setting it marks no change.
      \(access)var \(ManagedProperty.primitiveName(property.name)): \(property.type) {
        get { \(getter) }
        set { _setPrimitive(\(slot), newValue) }
      }
      """
  }

  private func list(_ custom: [ManagedProperty]) -> String {
    let names = custom.map { "\"\($0.name)\"" }.joined(separator: ", ")
    return """
      \(overrideAccess)override class var _customAccessors: [String] {
        super._customAccessors + [\(names)]
      }
      """
  }

  private func getters(_ custom: [ManagedProperty]) -> String {
    """
    \(overrideAccess)override func _customValue(forKey key: String) -> Any? {
      switch key {
    \(custom.map { "  case \"\($0.name)\": return self.\($0.spelling) as Any?" }.joined(separator: "\n"))
      default: return super._customValue(forKey: key)
      }
    }
    """
  }

  private func setters(_ custom: [ManagedProperty]) -> String {
    let cases = custom.map { property in
      """
        case "\(property.name)":
          guard let value = value.typed((\(property.type)).self) else { return false }
          self.\(property.spelling) = value
          return true
      """
    }
    return """
      \(overrideAccess)override func _setCustomValue(_ value: Perdure._CustomValue, forKey key: String) -> Bool {
        switch key {
      \(cases.joined(separator: "\n"))
        default: return super._setCustomValue(value, forKey: key)
        }
      }
      """
  }
}
