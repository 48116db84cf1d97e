import Foundation
import Perdure
import PerdurePredicates
import Testing

@Entity private final class Holding: ManagedObject {
  @Relationship(inverse: "holding") var works: ToMany<Works>
  @Attribute(derived: "works.tons.@sum") var tons: Int
}

@Entity private final class Works: ManagedObject {
  @Relationship(inverse: "works") var holding: Holding?
  @Relationship(inverse: "works") var loads: ToMany<Load>
  @Attribute(derived: "loads.tons.@sum") var tons: Int16
  @Attribute(derived: "loads.@count") var loadCount: Int
}

@Entity private final class Load: ManagedObject {
  @Relationship(inverse: "loads") var works: Works?
  var tons: Int16 = 0
}

@Suite("Sums over sums that exceed their type")
struct SumOfSumsTests {
  @Test("A sum over sums that exceed their type is exact")
  func exact() throws {
    let context = try Sandbox(Holding.self, Works.self, Load.self).container.newContext()
    let holding = Holding(context: context)
    for tons: [Int16] in [[.max, .max], [5], [.min, .min, .min]] {
      let works = Works(context: context)
      works.holding = holding
      for tons in tons {
        let load = Load(context: context)
        (load.tons, load.works) = (tons, works)
      }
    }
    let sum = 2 * Int(Int16.max) + 5 + 3 * Int(Int16.min)
    for state in ["unsaved", "saved"] {
      #expect(holding.tons == sum, "\(state)")
      #expect(holding.value(forKeyPath: "works.@sum.tons") as? Int == sum, "\(state)")
      #expect(holding.value(forKeyPath: "works.tons.@sum") as? Int == sum, "\(state)")
      #expect(holding.value(forKeyPath: "works.@max.tons") as? Int == 65_534, "\(state)")
      let format = "works.@sum.tons == \(sum) AND tons == \(sum) AND ANY works.tons == 65534"
      let predicate = try FetchPredicate(format: format)
      #expect(try context.count(for: FetchRequest<Holding>(predicate: predicate)) == 1, "\(state)")
      #expect(try predicate.evaluate(with: holding), "\(state)")
      try context.save()
    }
  }

  @Test("Sorting uses the nearest value of the type, so all sums beyond its maximum are equal")
  func orders() throws {
    let context = try Sandbox(Holding.self, Works.self, Load.self).container.newContext()
    // The sums are 65,534 and 40,000. The numbers of loads are in the opposite order.
    for tons: [Int16] in [[.max, .max], [20_000, 10_000, 10_000]] {
      let works = Works(context: context)
      for tons in tons {
        let load = Load(context: context)
        (load.tons, load.works) = (tons, works)
      }
    }
    let orders = [FetchOrder("tons", ascending: false), FetchOrder("loadCount", ascending: false)]
    for state in ["unsaved", "saved"] {
      let found = try context.fetch(FetchRequest<Works>(sortDescriptors: orders))
      #expect(found.map(\.loadCount) == [3, 2], "\(state)")
      #expect(found.map(\.tons) == [.max, .max], "\(state)")
      let path = [FetchOrder("works.tons"), FetchOrder("works.loadCount"), FetchOrder("tons")]
      let loads = try context.fetch(FetchRequest<Load>(sortDescriptors: path))
      #expect(loads.map(\.tons) == [.max, .max, 10_000, 10_000, 20_000], "\(state)")
      try context.save()
    }
  }
}
