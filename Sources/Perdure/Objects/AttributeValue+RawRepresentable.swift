// Attributes of types with a raw value, such as enumerations. The raw value is stored.

public import PerdureModel
public import PerdurePredicates

extension AttributeValue where Self: RawRepresentable, RawValue: AttributeValue {
  /// The type of the raw value.
  public static var attributeType: AttributeType { RawValue.attributeType }

  /// The value whose raw value was stored; nil for a raw value that the type does not have.
  public init?(attributeValue: Value) {
    guard let raw = RawValue(attributeValue: attributeValue) else { return nil }
    self.init(rawValue: raw)
  }

  /// The raw value.
  public var predicateValue: Value { rawValue.predicateValue }

  /// The raw value as an argument of a format, or as the value of a variable.
  public var argumentValue: Value { rawValue.argumentValue }
}

extension AttributeValue where Self: RawRepresentable & CaseIterable, RawValue: AttributeValue {
  /// The case whose raw value is zero or empty; otherwise the first case.
  public static var zeroValue: Self {
    if let zero = Self(rawValue: RawValue.zeroValue) { return zero }
    guard let first = allCases.first else {
      stop("\(Self.self) has no cases, so no value can be read. Add a case.")
    }
    return first
  }
}
