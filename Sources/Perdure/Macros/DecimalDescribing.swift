#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The number of a literal, exactly as it is written. For generated code.
///
/// - Parameter text: The literal, which the macro has checked.
public func _decimal(_ text: StaticString) -> Decimal {
  guard let number = Decimal(string: "\(text)") else { stop("\(text) is not a decimal number.") }
  return number
}
