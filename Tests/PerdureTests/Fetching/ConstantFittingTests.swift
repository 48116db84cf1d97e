import FoundationEssentials
import Perdure
import PerdurePredicates
import Testing

@Suite("Fractions in predicates")
struct ConstantFittingTests {
  private func count(
    _ context: ManagedObjectContext, _ format: String, _ arguments: [(any PredicateArgument)?] = []
  ) throws -> Int {
    let predicate = try FetchPredicate(format: format, argumentArray: arguments)
    return try context.count(for: FetchRequest<Sample>(predicate: predicate))
  }

  @Test(
    "A fraction in a format string equals a value of any number type that is printed with the same digits")
  func literals() throws {
    let context = try Staff.context()
    let sample = Sample(context: context)
    (sample.exact, sample.single, sample.double) = (try #require(Decimal(string: "9.99")), 9.99, 9.99)
    for _ in 0..<2 {
      for name in ["exact", "single", "double"] {
        #expect(try count(context, "\(name) == 9.99") == 1, "\(name)")
        #expect(try count(context, "9.99 == \(name)") == 1, "\(name)")
        #expect(try count(context, "\(name) IN {1.5, 9.99}") == 1, "\(name)")
        #expect(try count(context, "\(name) BETWEEN {9.99, 9.99}") == 1, "\(name)")
        #expect(try count(context, "\(name) <= 9.99 AND \(name) >= 9.99") == 1, "\(name)")
        #expect(try count(context, "\(name) < 9.99 OR \(name) > 9.99 OR \(name) != 9.99") == 0, "\(name)")
        #expect(try count(context, "\(name) == %@", [9.99]) == 1, "\(name)")
        #expect(try count(context, "\(name) == -9.99") == 0, "\(name)")
      }
      try context.save()
    }
  }

  @Test("A number too large for a Decimal or a Float keeps its value")
  func large() throws {
    let context = try Staff.context()
    let sample = Sample(context: context)
    (sample.exact, sample.single) = (1, .infinity)
    #expect(try count(context, "exact < 1e300") == 1)
    #expect(try count(context, "single == 1e300") == 0)
    #expect(try count(context, "single > 1e300") == 1)
  }
}
