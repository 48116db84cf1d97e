import PerdurePredicates
import PerdureTestSupport
import Testing

@Suite("Suggestions for misspelt names")
struct NearMissesTests {
  private static let known = ["name", "salary", "email", "company", "mail", "age"]

  @Test("Names that differ by replaced, inserted, removed or exchanged characters are suggested")
  func edits() {
    #expect(NearMisses.of("salery", in: Self.known) == ["salary"])
    #expect(NearMisses.of("compny", in: Self.known) == ["company"])
    #expect(NearMisses.of("emaill", in: Self.known) == ["email", "mail"])
    #expect(NearMisses.of("naem", in: Self.known) == ["name"])
    #expect(NearMisses.of("SALARY", in: Self.known) == ["salary"])
  }

  @Test("A name that is too far from all others has no suggestion")
  func tooFar() {
    #expect(NearMisses.of("title", in: Self.known).isEmpty)
    #expect(NearMisses.of("", in: Self.known).isEmpty)
    #expect(NearMisses.of("x", in: ["a", "ab", "y"]).isEmpty)
    #expect(NearMisses.of("x", in: ["X"]) == ["X"])
    #expect(NearMisses.question("title", in: Self.known) == "")
  }

  @Test("The nearest name is first, and names at equal distance are in ascending order")
  func order() {
    #expect(NearMisses.of("bat", in: ["rat", "cat", "bat", "hat"]) == ["bat", "cat", "hat"])
    #expect(NearMisses.question("rats", in: ["cats", "rat"]) == " Did you mean cats or rat?")
  }

  @Test("Suggestions do not depend on the order or repetition of known names")
  func determinism() {
    var random = SeededGenerator.forTest("the order of known names")
    var names = (0..<60).map { _ in Self.name(&random) }
    for _ in 0..<50 {
      let wanted = Self.name(&random)
      let first = NearMisses.of(wanted, in: names)
      names.shuffle(using: &random)
      #expect(NearMisses.of(wanted, in: names + names) == first)
    }
  }

  @Test("Suggestions of random names agree with recursively computed edit distances")
  func oracle() {
    var random = SeededGenerator.forTest("edit distances")
    var found = 0
    for _ in 0..<3000 {
      let (wanted, other) = (Self.name(&random), Self.name(&random))
      let limit = wanted.count < 2 ? 0 : max(1, wanted.count / 3)
      let isNear = Self.distance(Array(wanted)[...], Array(other)[...]) <= limit
      #expect(NearMisses.of(wanted, in: [other]) == (isNear ? [other] : []), "\(wanted) \(other)")
      found += isNear ? 1 : 0
    }
    #expect(found > 100)
  }

  @Test("Names with a length of a megabyte are not compared")
  func long() {
    let long = String(repeating: "a", count: 1 << 20)
    #expect(NearMisses.of(long, in: [long]).isEmpty)
    #expect(NearMisses.of("ab", in: [long]).isEmpty)
  }

  private static func name(_ random: inout SeededGenerator) -> String {
    String(
      (0..<Int.random(in: 1...7, using: &random)).map { _ in "abc".randomElement(using: &random) ?? "a" })
  }

  /// The edit distance by its recursive definition: the last characters are equal, replaced,
  /// inserted, removed or exchanged.
  private static func distance(_ left: ArraySlice<Character>, _ right: ArraySlice<Character>) -> Int {
    guard let leftLast = left.last, let rightLast = right.last else { return max(left.count, right.count) }
    if leftLast == rightLast { return distance(left.dropLast(), right.dropLast()) }
    var least =
      1
      + min(
        distance(left.dropLast(), right.dropLast()), distance(left.dropLast(), right),
        distance(left, right.dropLast()))
    if left.count > 1, right.count > 1, left.dropLast().last == rightLast, right.dropLast().last == leftLast {
      least = min(least, 1 + distance(left.dropLast(2), right.dropLast(2)))
    }
    return least
  }
}

@Suite("Suggestions in errors of predicates")
struct PredicateSuggestionTests {
  @Test(
    "The error for a misspelt function or operator suggests the nearest name",
    arguments: [
      ("lenght(name) == 1", "Did you mean length?"), ("averge(a, b) == 1", "Did you mean average?"),
      ("modulos:by:(a, b) == 1", "Did you mean modulus:by:?"),
      ("name BEGINWITH 'a'", "Did you mean BEGINSWITH?"),
      ("ANY workers.name CONTANS 'a'", "Did you mean CONTAINS?"),
      ("workers.@cuont > 1", "Did you mean @count?"),
      ("workers.@avgg.salary > 1", "Did you mean @avg?"),
    ])
  func syntax(_ text: String, _ question: String) {
    let error = #expect(throws: PredicateSyntaxError.self) { try FetchPredicate(format: text) }
    #expect(error?.remedy.hasSuffix(question) == true, "\(error?.description ?? "")")
  }

  @Test("A function without a similar name gets no suggestion")
  func nothingNear() {
    let error = #expect(throws: PredicateSyntaxError.self) {
      try FetchPredicate(format: "frobnicate(a) == 1")
    }
    #expect(error?.remedy.contains("Did you mean") == false)
  }

  @Test("The error for a misspelt type of CAST suggests the nearest type")
  func cast() throws {
    let predicate = try FetchPredicate(format: "CAST(1, 'NSNumbr') == 1")
    let error = #expect(throws: PredicateEvaluationError.self) {
      try predicate.evaluate(with: Value.integer(1))
    }
    #expect(error?.message.hasSuffix("Did you mean NSNumber?") == true, "\(error?.message ?? "")")
  }
}
