/// Makes a failing list of operations as short as it can: what is left of it is what the failure needs.
///
/// It leaves out parts, first halves and then smaller ones down to single elements, as long as the rest still fails
/// (delta debugging), and then puts simpler elements in the places of those that are left:
///
///     let reason = whatGoesWrong(operations)
///     let small = Shrinker<Operation>().shrink(operations, simplifying: { $0.simpler }) { candidate in
///       whatGoesWrong(candidate) == reason
///     }
///
/// Compare the reason: a list that fails in another way, or that makes no sense any more, is another failure.
///
/// It knows nothing of what the elements mean, so each must make sense whatever stands before it. The same list
/// and the same verdicts give the same result.
///
/// Source: Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002.
public struct Shrinker<Element: Equatable> {
  /// How many candidates are tried at most.
  ///
  /// Unit: runs of the test. Range: 2 up. Default: 5,000. Why: a history of thousands of steps is down to a few by
  /// then.
  public var trialsMax = 5_000

  /// What came out.
  public struct Result {
    /// The shortest list found that fails.
    public var elements: [Element]
    /// How many candidates were tried.
    public var trials: Int
    /// Whether there was nothing left to try: to leave out any one element, or to make one simpler, makes it pass.
    public var isMinimal: Bool
    /// Whether the list that was given has failed, and what came out of it once more at the end. If not, the failure comes
    /// and goes, and no list says what it needs.
    public var isConfirmed: Bool
  }

  /// Makes one.
  public init() {}

  /// The shortest list that fails, of those that it tries. The first that it tries is the given one: if that does not fail,
  /// it comes back as it is, and `isConfirmed` is false.
  ///
  /// - Parameter elements: Fails.
  /// - Parameter simplifying: Elements that may stand in the place of one, the simplest first; each must be simpler
  ///   than it, in a way that comes to an end.
  /// - Parameter fails: Whether a list still fails.
  /// - Complexity: O(n log n) trials for a failure that a few elements cause, O(n²) at worst; never more than
  ///   `trialsMax`.
  public func shrink(
    _ elements: [Element], simplifying: (Element) -> [Element] = { _ in [] },
    while fails: ([Element]) throws -> Bool
  ) rethrows -> Result {
    precondition(trialsMax > 1, "Shrinker.trialsMax is \(trialsMax), and has to be 2 or more")
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

  /// Whether the candidate fails; nil if no trials are left but the last, which is for what came out.
  private func attempt(
    _ candidate: [Element], _ result: inout Result, _ fails: ([Element]) throws -> Bool
  ) rethrows -> Bool? {
    guard result.trials < trialsMax - 1 else { return nil }
    result.trials += 1
    guard try fails(candidate) else { return false }
    result.elements = candidate
    return true
  }

  /// Leaves out runs of elements, shorter and shorter ones; those at the end first, as what comes after the failure
  /// is needed by nothing. False when the trials are used up.
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
