internal import PerdurePredicates

/// Compares values of any type strictly. A transformer may return different bytes for the same
/// value each time, so different bytes do not prove a change.
enum UnchangedValue {
  /// Whether two values are certainly the same: one instance of a class, equal plain values, texts
  /// with the same bytes, or collections of such values. False for values of other types.
  static func isSame(_ left: Any, _ right: Any) -> Bool {
    if type(of: left) is AnyClass, type(of: right) is AnyClass {
      return left as AnyObject === right as AnyObject
    }
    switch (left, right) {
    // Texts with different bytes may be equal: an accent can be a separate scalar.
    case (let left as String, let right as String): return left.utf8.elementsEqual(right.utf8)
    case (let left as [Any], let right as [Any]):
      return left.count == right.count && zip(left, right).allSatisfy { isSame($0, $1) }
    case (let left as [AnyHashable: Any], let right as [AnyHashable: Any]):
      return left.count == right.count
        && left.allSatisfy { key, value in
          guard let index = right.index(forKey: key) else { return false }
          return isSame(key.base, right[index].key.base) && isSame(value, right[index].value)
        }
    case (let left as Set<AnyHashable>, let right as Set<AnyHashable>):
      return left.count == right.count
        && left.allSatisfy { element in
          right.firstIndex(of: element).map { isSame(element.base, right[$0].base) } ?? false
        }
    case (let left as any PredicateArgument, let right as any PredicateArgument):
      return type(of: left) == type(of: right) && left.predicateValue == right.predicateValue
    default: return false
    }
  }
}
