import Perdure
import PerdurePredicates
import Testing

@testable import Perdure

@Suite("The operator IN and its right side")
struct MembershipTests {
  /// Returns two workers and two companies. One of each is saved.
  private func context() throws -> (ManagedObjectContext, [Employee], [Company]) {
    let context = try Staff.context()
    let saved = context.worker("saved", email: "s")
    let company = context.company("old")
    saved.company = company
    try context.save()
    let unsaved = context.worker("unsaved", email: "u")
    let other = context.company("new")
    unsaved.company = other
    return (context, [saved, unsaved], [company, other])
  }

  private func code(
    _ context: ManagedObjectContext, _ format: String, _ arguments: [(any PredicateArgument)?] = []
  ) throws -> FetchError.Code? {
    let predicate = try FetchPredicate(format: format, argumentArray: arguments)
    let request = FetchRequest<Employee>(predicate: predicate)
    var codes: Set<FetchError.Code?> = []
    let ways: [() throws -> Void] = [
      { _ = try context.fetch(request) }, { _ = try context.count(for: request) },
      { _ = try context.fetchIDs(request) }, { _ = try context.explain(request) },
    ]
    for way in ways {
      do {
        try way()
        codes.insert(nil)
      } catch let error as FetchError {
        codes.insert(error.code)
      }
    }
    #expect(codes.count == 1, "\(format): \(codes)")
    return codes.first ?? nil
  }

  @Test("Unrelated objects and ids are ignored in a list and rejected as a single value")
  func unrelated() throws {
    let (context, workers, companies) = try context()
    let ids = companies.map(\.objectID)
    for format in [
      "SELF IN %@", "mentor IN %@", "company.chief IN %@", "ANY friends IN %@", "ALL friends IN %@",
      "NONE friends IN %@", "NOT SELF IN %@", "objectID IN %@", "mentor.objectID IN %@",
    ] {
      #expect(try code(context, format, [companies]) == nil, "\(format)")
      #expect(try code(context, format, [ids[...]]) == nil, "\(format)")
      #expect(try code(context, format, [Set(ids)]) == nil, "\(format)")
      #expect(try code(context, format, [[workers[0].objectID, ids[1]]]) == nil, "\(format)")
      #expect(try code(context, format, [workers]) == nil, "\(format)")
      #expect(try code(context, format, [workers.map(\.objectID)]) == nil, "\(format)")
      #expect(try code(context, format, [[] as [Employee]]) == nil, "\(format)")
    }
    #expect(try code(context, "%@ IN friends", [companies[0]]) == .typeMismatch)
    #expect(try code(context, "%@ IN friends", [workers[0]]) == nil)
    #expect(try code(context, "company IN %@", [companies]) == nil)
    #expect(try code(context, "SELF IN {%@, %@}", [companies[0], workers[0]]) == nil)
    #expect(try code(context, "name IN %@", [companies]) == .typeMismatch)
  }

  @Test("The right side of IN must be a collection of values with the type of the left side")
  func otherTypes() throws {
    let (context, _, _) = try context()
    for format in [
      "salary IN {1, 'x'}", "salary IN 5", "salary IN 'x'", "name IN 5", "name IN {5}", "SELF IN 'x'",
      "company IN {1}", "ANY friends.salary IN {'x'}", "ANY friends.salary IN 3", "5 IN friends.name",
      "'x' IN friends.salary", "'x' IN friends", "friends CONTAINS 'x'", "friends.name CONTAINS 5",
      "name CONTAINS 5", "salary CONTAINS 5", "salary CONTAINS 'x'", "salary BETWEEN 5", "salary BETWEEN {1}",
      "salary BETWEEN {1, 'x'}", "salary BETWEEN {1, 2, 3}", "5 IN salary",
    ] {
      #expect(try code(context, format) == .typeMismatch, "\(format)")
    }
    for format in [
      "salary IN {}", "salary IN {NULL, 1}", "salary IN NULL", "name IN 'a long text'", "name IN {'x'}",
      "'x' IN name", "friends.name CONTAINS 'x'", "'x' IN friends.name", "5 IN friends.salary",
      "salary BETWEEN NULL", "salary BETWEEN {1, 2}", "salary BETWEEN {1.5, NULL}", "name CONTAINS 'x'",
      "name CONTAINS NULL", "SELF IN NULL", "salary IN friends.salary",
    ] {
      #expect(try code(context, format) == nil, "\(format)")
    }
  }

  @Test("!= and NOT find objects without a value, saved or not, with an index or without")
  func withoutValue() throws {
    let (context, workers, _) = try context()
    workers[0].email = nil
    let named = context.worker("named", email: "s")
    for isSaved in [false, true] {
      for format in ["email != 's'", "NOT email == 's'", "NOT email IN {'s'}", "NOT (email BEGINSWITH 's')"] {
        let predicate = try FetchPredicate(format: format)
        let found = try context.fetch(FetchRequest<Employee>(predicate: predicate))
        #expect(Set(found) == Set(workers), "\(format), saved: \(isSaved)")
        let strict = try FetchPredicate(format: "\(format) AND email != nil")
        #expect(try context.fetch(FetchRequest<Employee>(predicate: strict)) == [workers[1]], "\(format)")
      }
      for format in ["mentor != %@", "NOT mentor == %@"] {
        let request = FetchRequest<Employee>(predicate: try FetchPredicate(format: format, named))
        #expect(try context.count(for: request) == 3, "\(format)")
      }
      try context.save()
    }
  }

  @Test("The error about a wrong operand names the operator of the format string")
  func operatorAsWritten() throws {
    let (context, _, _) = try context()
    for (format, start) in [
      ("5 CONTAINS salary", "CONTAINS needs "), ("5 CONTAINS 3", "CONTAINS needs "),
      ("salary IN 5", "IN needs "),
    ] {
      let request = FetchRequest<Employee>(predicate: try FetchPredicate(format: format))
      let error = #expect(throws: FetchError.self) { try context.fetch(request) }
      #expect(error?.message.hasPrefix(start) == true, "\(String(describing: error))")
    }
  }

  @Test("IN finds objects by index, by rows and among unsaved objects")
  func found() throws {
    let (context, workers, companies) = try context()
    for isSaved in [false, true] {
      func names(_ format: String, _ arguments: (any PredicateArgument)?...) throws -> [String] {
        let predicate = try FetchPredicate(format: format, argumentArray: arguments)
        return try context.fetch(FetchRequest<Employee>(predicate: predicate)).map(\.name).sorted()
      }
      for index in workers.indices {
        let (worker, company) = (workers[index], companies[index])
        for format in ["SELF IN %@", "NOT (NOT SELF IN %@)", "SELF IN %@ AND name != NULL"] {
          #expect(try names(format, [worker]) == [worker.name], "\(format), saved: \(isSaved)")
          #expect(try names(format, [worker.objectID]) == [worker.name], "\(format), saved: \(isSaved)")
        }
        #expect(try names("company IN %@", [company]) == [worker.name])
        #expect(try names("name IN %@", ["x", worker.name]) == [worker.name])
        #expect(try names("email IN %@", Set(["x", worker.email])) == [worker.name])
      }
      #expect(try names("SELF IN NULL").isEmpty)
      #expect(try names("company IN {NULL}").isEmpty)
      #expect(try names("mentor IN {NULL}").count == 2)
      try context.save()
    }
  }
}
