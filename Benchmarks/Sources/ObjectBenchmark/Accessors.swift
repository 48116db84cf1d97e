import Foundation
import Measuring
import Perdure

/// Gets and sets properties of 1,024 objects in turn. The objects fit into the processor's cache.
struct Accessors {
  static let objectCount = 1_024
  let passes: Int
  let rounds: Int

  private var stepCount: Int { Self.objectCount * passes }

  func figures(in container: PersistentContainer) throws -> [ObjectFigure] {
    let context = container.newContext()
    let objects = try fetched(context)
    let plain = (0..<Self.objectCount).map { PlainAccount(number: Int64($0), code: "code \($0)") }
    let owner = PlainOwner(name: "Ada")
    for (position, object) in plain.enumerated() {
      object.note = Self.note(position)
      object.limit = 500
      object.owner = owner
    }
    let gets = gets(objects, plain)
    let sets = try sets(objects, plain, context)
    return gets + sets
  }

  static func note(_ position: Int) -> String { "What is to be said of account number \(position)." }

  private func fetched(_ context: ManagedObjectContext) throws -> [Account] {
    let owner = Owner(context: context)
    owner.name = "Ada"
    for position in 0..<Self.objectCount {
      let account = Account(context: context)
      account.number = Int64(position)
      account.code = "code \(position)"
      account.note = Self.note(position)
      account.limit = 500
      account.owner = owner
    }
    try context.save()
    return try context.fetch(FetchRequest<Account>())
  }

  private func each<T>(_ objects: [T], _ body: (T) -> Void) {
    for _ in 0..<passes {
      for object in objects { body(object) }
    }
  }

  // MARK: Gets

  private func gets(_ objects: [Account], _ plain: [PlainAccount]) -> [ObjectFigure] {
    func get(
      _ name: String, within: Double? = 5, _ plainly: (PlainAccount) -> Int64, _ stored: (Account) -> Int64
    ) -> ObjectFigure {
      Measuring.pair("get " + name, count: stepCount, rounds: rounds, within: within) {
        var sum: Int64 = 0
        each(plain) { sum &+= plainly($0) }
        keep(sum)
      } perdure: {
        var sum: Int64 = 0
        each(objects) { sum &+= stored($0) }
        keep(sum)
      }
    }
    return [
      get("Int64", { $0.number }, { $0.number }),
      get("Int64?", { $0.limit ?? 0 }, { $0.limit ?? 0 }),
      get("Double", { Int64($0.balance) }, { Int64($0.balance) }),
      get("Bool", { $0.isOpen ? 1 : 0 }, { $0.isOpen ? 1 : 0 }),
      get(
        "Date", { Int64($0.opened.timeIntervalSinceReferenceDate) },
        { Int64($0.opened.timeIntervalSinceReferenceDate) }),
      get("String of 9", { Int64($0.code.utf8.count) }, { Int64($0.code.utf8.count) }),
      get("String of 45", { Int64($0.note.utf8.count) }, { Int64($0.note.utf8.count) }),
      // Each read allocates and frees the owner, because objects of Perdure do not retain the
      // objects at the other end of a relationship.
      get(
        "to-one object that nothing else retains", { $0.owner == nil ? 0 : 1 }, { $0.owner == nil ? 0 : 1 }),
      withExtendedLifetime(inMemory(objects.first?.owner)) {
        get("to-one object", { $0.owner == nil ? 0 : 1 }, { $0.owner == nil ? 0 : 1 })
      },
    ]
  }

  /// Reads the row of an owner, and returns the owner.
  private func inMemory(_ owner: Owner?) -> Owner? {
    keep(Int64(owner?.name.utf8.count ?? 0))
    return owner
  }

  // MARK: Sets

  private func sets(
    _ objects: [Account], _ plain: [PlainAccount], _ context: ManagedObjectContext
  ) throws -> [ObjectFigure] {
    func set(
      _ name: String, within: Double? = 40, _ plainly: (PlainAccount, Int64) -> Void,
      _ stored: (Account, Int64) -> Void
    ) -> ObjectFigure {
      var number: Int64 = 0
      return Measuring.pair("set " + name, count: stepCount, rounds: rounds, within: within) {
        number += 1
        each(plain) { plainly($0, number) }
      } perdure: {
        number += 1
        each(objects) { stored($0, number) }
      }
    }
    let texts = (0..<16).map { "text \($0)" }
    let notes = (0..<16).map { Self.note($0) }
    let result = [
      set("Int64", { $0.number = $1 }, { $0.number = $1 }),
      set("Int64?", { $0.limit = $1 }, { $0.limit = $1 }),
      set("Double", { $0.balance = Double($1) }, { $0.balance = Double($1) }),
      set("Bool", { $0.isOpen = $1 % 2 == 0 }, { $0.isOpen = $1 % 2 == 0 }),
      set(
        "Date", { $0.opened = Date(timeIntervalSinceReferenceDate: Double($1)) },
        { $0.opened = Date(timeIntervalSinceReferenceDate: Double($1)) }),
      set("String of 7", { $0.code = texts[Int($1) % 16] }, { $0.code = texts[Int($1) % 16] }),
      set("String of 45", { $0.note = notes[Int($1) % 16] }, { $0.note = notes[Int($1) % 16] }),
    ]
    context.rollback()
    return try result + [firstSet(context, plain)]
  }

  /// The first set of a property of an object without changes, which allocates memory for changes.
  private func firstSet(_ context: ManagedObjectContext, _ plain: [PlainAccount]) throws -> ObjectFigure {
    let objects = try context.fetch(FetchRequest<Account>())
    var costs: (plain: [Double], perdure: [Double]) = ([], [])
    for round in 0..<rounds {
      for object in objects { keep(object.number) }
      costs.plain.append(Measuring.nanoseconds { for object in plain { object.number = Int64(round) } })
      costs.perdure.append(Measuring.nanoseconds { for object in objects { object.number = Int64(round) } })
      context.rollback()
    }
    let count = Double(Self.objectCount)
    return ObjectFigure(
      name: "set Int64, the first change", unit: "ns",
      plain: Measuring.rounded(Measuring.median(costs.plain) / count),
      perdure: Measuring.rounded(Measuring.median(costs.perdure) / count), limit: nil)
  }
}
