/// Shortens a failing list of operations to those that the failure needs.
///
/// It removes runs of elements while the remaining list still fails (delta debugging). It tries to
/// remove the whole list, then halves, then shorter runs. Then it replaces the remaining elements
/// by simpler ones:
///
///     let reason = whatGoesWrong(operations)
///     let small = Shrinker<Operation>().shrink(operations, simplifying: { $0.simpler }) { candidate in
///       whatGoesWrong(candidate) == reason
///     }
///
/// Compare the reasons: a list that fails for another reason shows a different failure.
///
/// Each element must be valid after any other elements, because the shrinker removes elements
/// freely. The result depends only on the list and the results of `fails`.
///
/// Source: Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002.
public struct Shrinker<Element: Equatable> {
  /// The maximum number of candidates.
  ///
  /// Unit: runs of the test. Range: 2 or more. Default: 5,000. Why: this is enough for a history of
  /// thousands of steps.
  public var trialsMax = 5_000

  /// The result of a search.
  public struct Result {
    /// The shortest failing list found, or the given list if it does not fail.
    public var elements: [Element]
    /// The number of candidates that were tried.
    public var trials: Int
    /// Whether the search reached its end. If so, the list no longer fails if any single element is
    /// removed, or replaced by a simpler one.
    public var isMinimal: Bool
    /// Whether the given list failed, and the result failed once more at the end. If not, the
    /// failure does not depend on the list alone.
    public var isConfirmed: Bool
  }

  /// Makes a shrinker.
  public init() {}

  /// Returns the shortest failing list that the search finds. The search tries the given list
  /// first. If the given list does not fail, the result is that list, and `isConfirmed` is false.
  ///
  /// - Parameter elements: A list that fails.
  /// - Parameter simplifying: Returns the simpler elements that can replace the given element, the
  ///   simplest first. Repeated simplifying must end.
  /// - Parameter fails: Returns whether a list still fails.
  /// - Throws: The error that `fails` throws.
  /// - Complexity: O(n log n) trials for a failure that a few elements cause, O(n²) in the worst
  ///   case, and never more than `trialsMax`.
  public func shrink(
    _ elements: [Element], simplifying: (Element) -> [Element] = { _ in [] },
    while fails: ([Element]) throws -> Bool
  ) rethrows -> Result {
    precondition(trialsMax > 1, "Shrinker.trialsMax is \(trialsMax), but must be 2 or more")
    var result = Result(elements: elements, trials: 1, isMinimal: false, isConfirmed: false)
    guard try fails(elements) else { return result }
    while !result.isMinimal {
      let before = result.elements
      guard try leaveOut(&result, fails), try simplify(&result, simplifying, fails) else { break }
      result.isMinimal = result.elements == before
    }
    result.trials += 1
    result.isConfirmed = try fails(result.elements)
    return result
  }

  /// Whether the candidate fails. Nil if only the last trial remains, which is reserved for the
  /// result.
  private func attempt(
    _ candidate: [Element], _ result: inout Result, _ fails: ([Element]) throws -> Bool
  ) rethrows -> Bool? {
    guard result.trials < trialsMax - 1 else { return nil }
    result.trials += 1
    guard try fails(candidate) else { return false }
    result.elements = candidate
    return true
  }

  /// Removes runs of elements, in decreasing lengths. Runs at the end come first, because elements
  /// after the failure are not needed. Returns false if no trials remain.
  private func leaveOut(_ result: inout Result, _ fails: ([Element]) throws -> Bool) rethrows -> Bool {
    var length = max(1, result.elements.count)
    while true {
      var end = result.elements.count
      while end > 0 {
        let start = max(0, end - length)
        var candidate = result.elements
        candidate.removeSubrange(start..<end)
        guard try attempt(candidate, &result, fails) != nil else { return false }
        end = min(start, result.elements.count)
      }
      if length == 1 { return true }
      length = max(1, min(length / 2, result.elements.count))
    }
  }

  private func simplify(
    _ result: inout Result, _ simplifying: (Element) -> [Element], _ fails: ([Element]) throws -> Bool
  ) rethrows -> Bool {
    var position = 0
    while position < result.elements.count {
      var isSimpler = false
      for simpler in simplifying(result.elements[position]) {
        var candidate = result.elements
        candidate[position] = simpler
        guard let failed = try attempt(candidate, &result, fails) else { return false }
        if failed {
          isSimpler = true
          break
        }
      }
      if !isSimpler { position += 1 }
    }
    return true
  }
}
