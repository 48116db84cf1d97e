import Foundation
import Perdure
import PerdureModel
import PerdurePredicates
import Testing

@Composite private struct Money {
  @Attribute(.minimum(0.05), .maximum(99.95)) var amount: Decimal
}

@Entity private final class Article: ManagedObject {
  @Attribute(.minimum(0.05), .maximum(1_000.3)) var price: Decimal = 3.133
  @Attribute(.rules([.minimum(-0.1)])) var tax: Decimal? = 0.1
  @Attribute(.transient) var discount: Decimal = 2.3
  @Attribute(.composite) var shipping: Money?
  @Attribute(.maximum(0.5)) var weight: Double = 0.1
}

@Suite("Literals of Decimal attributes")
struct DecimalAttributeTests {
  private func exact(_ text: String) throws -> Decimal { try #require(Decimal(string: text)) }

  private func context() throws -> ManagedObjectContext {
    let container = try PersistentContainer(name: "Shop", classes: [Article.self], description: .inMemory)
    try container.loadPersistentStores()
    return container.newContext()
  }

  @Test("A default equals its decimal literal exactly, and a query with the same literal finds the object")
  func defaults() throws {
    let context = try context()
    let article = Article(context: context)
    #expect(try article.price == exact("3.133") && article.tax == exact("0.1"))
    #expect(try article.discount == exact("2.3") && article.weight == 0.1)
    #expect(try Article(context: context, price: 1).tax == exact("0.1"))
    try context.save()
    #expect(try context.fetch(Article.fetchRequest { $0.price == 3.133 }) == [article])
    #expect(try context.fetch(Article.fetchRequest { $0.price != 3.133 }).map(\.price) == [1])
    #expect(try context.fetch(Article.fetchRequest { $0.price >= 3.133 && $0.price <= 3.133 }) == [article])
    #expect(try context.count(for: Article.fetchRequest { $0.price < 3.133 || $0.price > 3.133 }) == 1)
    #expect(try context.count(for: Article.fetchRequest { $0.price == 1 && $0.tax == 0.1 }) == 1)
    #expect(try context.count(for: Article.fetchRequest { $0.price == .zero || $0.tax == nil }) == 0)
    #expect(
      try context.count(for: FetchRequest<Article>(predicate: FetchPredicate(format: "price == 3.133"))) == 1)
  }

  @Test("A bound equals its decimal literal exactly, in attributes and in elements of composites")
  func bounds() throws {
    let context = try context()
    let article = Article(context: context)
    for (price, tax, amount, isValid) in [
      ("0.05", "-0.1", "0.05", true), ("1000.3", "5", "99.95", true), ("0.0499", "0", "1", false),
      ("1000.3000001", "0", "1", false), ("1", "-0.1001", "1", false), ("1", "0", "0.049", false),
      ("1", "0", "99.951", false),
    ] {
      (article.price, article.tax) = (try exact(price), try exact(tax))
      article.shipping = Money(amount: try exact(amount))
      if isValid {
        try context.save()
      } else {
        #expect(throws: PerdureError.self, "\(price) \(tax) \(amount)") { try context.save() }
      }
    }
  }
}
