import Perdure
import Testing

@Entity private final class Account: ManagedObject {
  var credits: Int16
  var total: Int
  var weight: Double
  var isOpen: Bool
  var name: String
}

@Suite("Required values that were never set")
struct MissingValueTests {
  @Test("The error for a missing value suggests a default or an optional type")
  func remedies() throws {
    let context = try Sandbox(Account.self).container.newContext()
    let account = Account(context: context)
    #expect(account.credits == 0 && account.isOpen == false)
    let error = #expect(throws: PerdureError.self) { try context.save() }
    let rules = (error?.details ?? []).map { "\($0.property) \($0.rule)" }
    #expect(
      rules.sorted() == [
        "credits is required but was never set: set it, or declare it with a default (\"= 0\") or as optional (\"Int16?\")",
        "isOpen is required but was never set: set it, or declare it with a default (\"= false\") or as optional (\"Bool?\")",
        "name is required but was never set: set it, or declare it with a default or as optional",
        "total is required but was never set: set it, or declare it with a default (\"= 0\") or as optional (\"Int?\")",
        "weight is required but was never set: set it, or declare it with a default (\"= 0\") or as optional (\"Double?\")",
      ])
    #expect(error?.details.allSatisfy { $0.code == .missingMandatoryProperty } == true)
  }
}
