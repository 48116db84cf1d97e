import FoundationEssentials
import PerdureModel
import Testing

@testable import Perdure

@Suite("Values at the end of key paths")
struct KeyPathTests {
  /// Acme with workers that earn 10, 20 and 20, and Void without workers.
  private struct World {
    let context: ManagedObjectContext
    let acme: Company
    let void: Company

    init() throws {
      context = try Staff.context()
      acme = context.company("Acme")
      void = context.company("Void")
      for (name, salary) in [("a", 10), ("b", 20), ("c", 20)] {
        let worker = context.worker(name, email: name == "c" ? nil : "\(name)@acme")
        worker.salary = Int64(salary)
        worker.company = acme
      }
    }
  }

  @Test("An operator before or after the attribute reduces many values to one value")
  func operators() throws {
    let world = try World()
    func value(_ path: String) -> Any? { world.acme.value(forKeyPath: path) }
    #expect(value("workers.@max.salary") as? Int == 20)
    #expect(value("workers.salary.@max") as? Int == 20)
    #expect(value("workers.salary.@max.self") as? Int == 20)
    #expect(value("workers.@min.salary") as? Int == 10)
    #expect(value("workers.@min.name") as? String == "a")
    #expect(value("workers.@sum.salary") as? Int == 50)
    #expect(try #require(value("workers.@avg.salary") as? Double) == 50.0 / 3)
    #expect(value("workers.@count") as? Int == 3)
    #expect(value("workers.salary.@count") as? Int == 3)
    #expect(value("workers.@max.company.name") as? String == "Acme")
    #expect(value("workers.company.workers.@count") as? Int == 9)
  }

  @Test("A path through cycles that leads to too many values is refused")
  func tooManyValues() throws {
    let world = try World()
    KeyPathWalk.$valuesMax.withValue(8) {
      let error = #expect(throws: PerdureError.self) {
        try world.acme.checkedValue(forKeyPath: "workers.company.workers.@count")
      }
      #expect(error?.code == .unknownKey && error?.message.contains("more than 8 values") == true)
      #expect(throws: Never.self) { try world.acme.checkedValue(forKeyPath: "workers.company.name") }
    }
  }

  @Test("Setting a value by key path changes one object or all members")
  func setting() throws {
    let world = try World()
    let worker = try #require(world.acme.workers.first { $0.name == "a" })
    worker.setValue("Ajax", forKeyPath: "company.name")
    #expect(world.acme.name == "Ajax")
    worker.setValue("A", forKeyPath: "name")
    #expect(worker.name == "A")
    world.acme.setValue(30, forKeyPath: "workers.salary")
    #expect(world.acme.workers.allSatisfy { $0.salary == 30 })
    worker.company = nil
    worker.setValue("nobody's", forKeyPath: "company.name")
    #expect(world.acme.name == "Ajax" && world.void.name == "Void")
  }

  @Test("Unions keep every value, and distinct unions keep each value once")
  func unions() throws {
    let world = try World()
    func sorted(_ path: String) -> [Int]? { (world.acme.value(forKeyPath: path) as? [Int])?.sorted() }
    #expect(sorted("workers.@unionOfObjects.salary") == [10, 20, 20])
    #expect(sorted("workers.@distinctUnionOfObjects.salary") == [10, 20])
    #expect(sorted("workers.@distinctUnionOfSets.salary") == [10, 20])
    #expect(sorted("workers.@unionOfArrays.salary") == [10, 20, 20])
    #expect(world.acme.value(forKeyPath: "workers.@distinctUnionOfObjects.company.@count") as? Int == 1)
    let companies = world.acme.value(forKeyPath: "workers.@distinctUnionOfObjects.company") as? [Company]
    #expect(companies == [world.acme])
  }

  @Test("Absent values are skipped, and an empty collection has only a count and a sum of 0")
  func missing() throws {
    let world = try World()
    #expect((world.acme.value(forKeyPath: "workers.email") as? [String])?.sorted() == ["a@acme", "b@acme"])
    #expect(world.acme.value(forKeyPath: "workers.@max.email") as? String == "b@acme")
    #expect(world.void.value(forKeyPath: "workers.@count") as? Int == 0)
    #expect(world.void.value(forKeyPath: "workers.@sum.salary") as? Int == 0)
    for path in ["workers.@avg.salary", "workers.@min.salary", "workers.@max.salary", "chief.leads.name"] {
      #expect(world.void.value(forKeyPath: path) == nil, "\(path)")
    }
    #expect((world.void.value(forKeyPath: "workers.salary") as? [Any])?.isEmpty == true)
    #expect(world.void.value(forKeyPath: "chief.company.workers.@count") == nil)
  }

  @Test("A sum beyond 64 bits is a decimal")
  func largeSum() throws {
    let world = try World()
    for worker in world.acme.workers { worker.salary = .max }
    let sum = try #require(world.acme.value(forKeyPath: "workers.@sum.salary") as? Decimal)
    #expect(sum == Decimal(Int64.max) * 3)
    #expect(world.acme.value(forKeyPath: "workers.@avg.salary") is Decimal)
  }

  #if os(Linux) || os(macOS)
    @Test("An unknown name or operator stops the program")
    func unknown() async {
      await #expect(processExitsWith: .failure) {
        _ = try World().acme.value(forKeyPath: "workers.@most.salary")
      }
      await #expect(processExitsWith: .failure) {
        _ = try World().acme.value(forKeyPath: "workers.@max.salery")
      }
      await #expect(processExitsWith: .failure) {
        _ = try World().acme.value(forKeyPath: "workers.@sum.name")
      }
      await #expect(processExitsWith: .failure) { _ = try World().acme.value(forKeyPath: "@count") }
    }
  #endif
}
