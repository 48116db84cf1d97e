import Foundation
import Perdure
import Testing

private struct Colour: Equatable { var red = 0 }
private typealias Name = String?
private typealias Tint = Colour?

@Entity private final class Palette: ManagedObject {
  var title: String?
  @Attribute(.transient) var name: Name
  @Attribute(.transient) var first: Name = "n"
  @Attribute(.transient) var tint: Tint
  @Attribute(.transient) var shade: Tint = Colour(red: 5)
  @Attribute(.transient) var number: Swift.Optional<Int>
  @Attribute(.transient) var other: (Colour?)
  @Attribute(.transient) var plain: Colour? = Colour(red: 4)
  @Attribute(.transient) var certain: Colour = Colour(red: 3)
  @Attribute(.transient) var count: Int
  @Attribute(.transient) var make: () -> Int? = { 7 }
}

/// Behaviour T1 of Core Data (README.md): the type of a transient attribute determines whether the
/// attribute may be nil, in any spelling of the type.
@Suite("Types of transient attributes")
struct TransientTypeTests {
  private func palette() throws -> Palette {
    Palette(context: try Sandbox(Palette.self).container.newContext())
  }

  @Test("An attribute of an optional type is nil until it is set, and after it is set to nil")
  func optional() throws {
    let palette = try palette()
    #expect(palette.name == nil && palette.tint == nil && palette.number == nil && palette.other == nil)
    palette.name = "a"
    palette.tint = Colour(red: 1)
    palette.number = 2
    palette.other = Colour(red: 3)
    #expect(palette.name == "a" && palette.tint == Colour(red: 1))
    #expect(palette.number == 2 && palette.other == Colour(red: 3))
    palette.name = nil
    palette.tint = nil
    palette.number = nil
    palette.other = nil
    #expect(palette.name == nil && palette.tint == nil && palette.number == nil && palette.other == nil)
  }

  @Test("An attribute of an optional type has its default until it is set to nil")
  func defaults() throws {
    let palette = try palette()
    #expect(palette.first == "n" && palette.shade == Colour(red: 5) && palette.plain == Colour(red: 4))
    palette.first = nil
    palette.shade = nil
    palette.plain = nil
    #expect(palette.first == nil && palette.shade == nil && palette.plain == nil)
  }

  @Test("An attribute that is not optional has its default or zero, and may be a function")
  func certain() throws {
    let palette = try palette()
    #expect(palette.certain == Colour(red: 3) && palette.count == 0 && palette.make() == 7)
    palette.certain.red = 9
    palette.count = 1
    palette.make = { nil }
    #expect(palette.certain == Colour(red: 9) && palette.count == 1 && palette.make() == nil)
  }

  @Test("An attribute is optional in the model if its type is optional")
  func model() throws {
    let optional = Dictionary(
      uniqueKeysWithValues: try palette().entity.attributes.map { ($0.name, $0.isOptional) })
    for name in ["name", "first", "tint", "shade", "number", "other", "plain"] {
      #expect(optional[name] == true, "\(name)")
    }
    #expect(optional["count"] == false)
  }
}
