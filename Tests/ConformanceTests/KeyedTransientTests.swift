import Foundation
import Perdure
import PerdureTestSupport
import Testing

private struct Hint: Equatable { var text = "" }
private protocol Marker {}
extension Hint: Marker {}
private enum Level: Equatable { case low, high }

@Entity private final class Sheet: ManagedObject {
  var title: String = ""
  @Attribute(.transient) var hint: Hint?
  @Attribute(.transient) var level: Level = .low
  @Attribute(.transient) var words: [String] = ["new"]
  @Attribute(.transient) var marker: (any Marker)?
  @Attribute(.transient) var next: Sheet?
}

/// A class with handwritten accessors. Perdure does not know the types of its attributes.
private final class Plain: ManagedObject {
  override class var entityDescription: EntityDescription {
    EntityDescription("Plain", properties: [.string("title"), .transient("hint"), .transient("level")])
  }
  var hint: Hint? {
    get { _transient(1, (Hint?).self) }
    set { _setTransient(1, newValue) }
  }
  var level: Level {
    get { _transient(2, Level.self, default: .low) }
    set { _setTransient(2, newValue) }
  }
}

@Suite("Transient attributes of any type, set by name")
struct KeyedTransientTests {
  private static let keys = ["hint", "level", "words", "marker", "next"]

  /// Values, each with the keys of the attributes that accept it.
  private static var table: [(value: Any, fits: [String])] {
    [
      (Hint(text: "h"), ["hint", "marker"]), (Level.high, ["level"]), (["a"], ["words"]),
      (NSArray(array: ["b"]), ["words"]), ("x", []), (NSString(string: "x"), []), (5, []),
      (NSNumber(value: 5), []), ([1], []), (Data([1]), []), (Date(), []), (["a": 1], []),
      (Optional<Hint>.some(Hint(text: "o")) as Any, ["hint", "marker"]),
    ]
  }

  /// Reads all attributes by their properties.
  private func shown(_ sheet: Sheet) -> String {
    let marker = sheet.marker as? Hint
    let next = sheet.next.map { $0 === sheet }
    return [
      sheet.hint?.text ?? "-", "\(sheet.level)", "\(sheet.words)", marker?.text ?? "-",
      next.map { "\($0)" } ?? "-",
    ]
    .joined(separator: " ")
  }

  @Test("Every setter by name refuses a value of another type, and the property keeps its value")
  func everyPair() throws {
    let context = try Sandbox(Sheet.self).container.newContext()
    for (value, fits) in Self.table {
      for key in Self.keys {
        let place: Comment = "\(type(of: value)) for \(key)"
        for isPrimitive in [false, true] {
          let (checked, plain) = (Sheet(context: context), Sheet(context: context))
          let before = shown(checked)
          let error = problem { () throws(PerdureError) in try checked.setCheckedValue(value, forKey: key) }
          if isPrimitive {
            plain.setPrimitiveValue(value, forKey: key)
          } else {
            plain.setValue(value, forKey: key)
          }
          #expect(shown(plain) == shown(checked), place)
          if fits.contains(key) {
            #expect(error == nil && shown(checked) != before, place)
            #expect(refusals(context).isEmpty, place)
          } else {
            #expect(error?.code == .validation && error?.details.map(\.property) == [key], place)
            #expect(shown(checked) == before && refusals(context) == ["1550 \(key)"], place)
          }
        }
      }
    }
  }

  private func problem(_ body: () throws(PerdureError) -> Void) -> PerdureError? {
    do throws(PerdureError) {
      try body()
      return nil
    } catch {
      return error
    }
  }

  @Test("NSNull and an empty optional remove the value, and a property then reads as its default")
  func nothing() throws {
    let context = try Sandbox(Sheet.self).container.newContext()
    for null in [NSNull(), Optional<Hint>.none as Any, Optional<NSNumber>.none as Any] {
      for isPrimitive in [false, true] {
        let sheet = Sheet(context: context)
        (sheet.hint, sheet.level, sheet.words, sheet.next) = (Hint(text: "h"), .high, ["a"], sheet)
        for key in Self.keys {
          if isPrimitive {
            sheet.setPrimitiveValue(null, forKey: key)
          } else {
            try sheet.setCheckedValue(null, forKey: key)
          }
          #expect(sheet.value(forKey: key) == nil, "\(key)")
        }
        #expect(sheet.hint == nil && sheet.level == .low && sheet.words == ["new"] && sheet.next == nil)
      }
    }
    #expect(refusals(context).isEmpty)
  }

  @Test("An attribute of objects refuses an object of another class, and accepts one of its own class")
  func objects() throws {
    let context = try Sandbox(Sheet.self, Plain.self).container.newContext()
    let sheet = Sheet(context: context)
    #expect(throws: PerdureError.self) {
      try sheet.setCheckedValue(Plain(context: context), forKey: "next")
    }
    try sheet.setCheckedValue(sheet, forKey: "next")
    #expect(sheet.next === sheet)
    sheet.next = nil
  }

  @Test("If the attribute's type is unknown, a property reads a value of another type as absent")
  func unknownType() throws {
    let context = try Sandbox(Plain.self).container.newContext()
    let plain = Plain(context: context)
    for value in ["x", NSNull(), 5, Data()] as [Any] {
      for key in ["hint", "level"] { try plain.setCheckedValue(value, forKey: key) }
      #expect(plain.hint == nil && plain.level == .low)
    }
    try plain.setCheckedValues(["hint": Hint(text: "h"), "level": Level.high])
    #expect(plain.hint == Hint(text: "h") && plain.level == .high)
    try context.save()
  }
}
