import Perdure
import PerdureModel
import Testing

@Entity private final class Lender: ManagedObject {
  @Relationship(inverse: "lender") var books: ToMany<Lent>
  @Relationship var others: ToMany<Lent>
  @Attribute(.length(1...3)) var number: Int
}

@Entity private final class Lent: ManagedObject {
  @Relationship(inverse: "others") var lender: Lender?
  @Attribute(derived: "nothing.@count") var count: Int
}

@Suite("Misuse of the macros across two classes")
struct MacroModelTests {
  @Test(
    "When a model is created, errors that involve two classes are reported with entity, property and remedy")
  func model() throws {
    let error = #expect(throws: ModelError.self) {
      try ManagedObjectModel([EntityDescription(from: Lender.self), EntityDescription(from: Lent.self)])
    }
    let problems = try #require(error).problems.map { "\($0.entity).\($0.property ?? "") \($0.rule)" }
    #expect(
      Set(problems).isSuperset(of: [
        "Lender.books inverseMismatch", "Lender.number validationRule",
        "Lent.lender inverseMismatch", "Lent.count derivation",
      ]), "\(problems)")
    #expect(error?.problems.allSatisfy { !$0.remedy.isEmpty } == true)
  }
}
