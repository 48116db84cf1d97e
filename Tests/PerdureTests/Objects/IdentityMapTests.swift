import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("The identity map")
struct IdentityMapTests {
  @Test("The map equals a dictionary through growth, removal and shrinking")
  func random() throws {
    var random = SeededGenerator.forTest("identity map")
    let context = try Staff.context()
    let objects = (0..<400).map { context.worker("w\($0)") }
    var map = IdentityMap()
    defer { map.deallocate() }
    var expected: [ObjectReference: Employee] = [:]
    for step in 0..<6000 {
      // Phases of 1,000 steps alternately fill and empty the table.
      let object = random.pick(objects)
      let isFilling = step / 1000 % 2 == 0
      if expected[object.reference] == nil, random.chance(isFilling ? 90 : 10) {
        map.insert(object, object.reference)
        expected[object.reference] = object
      } else if expected[object.reference] != nil, random.chance(isFilling ? 10 : 90) {
        map.remove(object.reference)
        expected[object.reference] = nil
      }
      #expect(map.count == expected.count)
      #expect(map.object(object.reference) === expected[object.reference])
    }
    for object in objects { #expect(map.object(object.reference) === expected[object.reference]) }
    #expect(Set(map.objects) == Set(expected.values))
  }

  @Test("References with equal hash positions are distinguished, and a removal keeps the other references")
  func collisions() throws {
    let context = try Staff.context()
    let objects = (0..<8).map { context.worker("w\($0)") }
    var map = IdentityMap()
    defer { map.deallocate() }
    // The upper bits of the product of a reference and an odd number give its position in the
    // table. These references have equal upper bits.
    let inverse: UInt64 = 0xF1DE_83E1_9937_733D
    let references = objects.indices.map { ObjectReference(rawValue: inverse &* (5 << 40 | UInt64($0 + 1))) }
    for (object, reference) in zip(objects, references) { map.insert(object, reference) }
    for gone in references.indices {
      map.remove(references[gone])
      map.remove(references[gone])
      for other in references.indices {
        let expected = other > gone ? objects[other] : nil
        #expect(map.object(references[other]) === expected)
      }
    }
  }
}
