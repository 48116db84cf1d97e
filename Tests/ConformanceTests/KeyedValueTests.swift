import Foundation
import Perdure
import PerdureTestSupport
import Testing

private enum Grade: Int, AttributeValue, CaseIterable { case low = 1, high = 2 }

@Entity final class PaperForm: ManagedObject {
  var int16: Int16?
  var int32: Int32?
  var int64: Int64?
  var int: Int?
  var flag: Bool?
  var float: Float?
  var double: Double?
  var decimal: Decimal?
  var text: String?
  var date: Date?
  var uuid: UUID?
  var data: Data?
  var url: URL?
  @Attribute(.transient) var shadow: Int?
  @Relationship(inverse: "sheets") var binder: Binder?
  @Relationship(inverse: "ordered") var shelf: Binder?
}

@Entity final class Binder: ManagedObject {
  var title: String = ""
  var weight: Int = 0
  @Attribute(derived: "sheets.@count") private(set) var count: Int
  @Relationship(inverse: "binder") var sheets: ToMany<PaperForm>
  @Relationship(inverse: "shelf") var ordered: OrderedToMany<PaperForm>
}

@Suite("Values that are set by name")
struct KeyedValueTests {
  private static let keys = [
    "int16", "int32", "int64", "int", "shadow", "flag", "float", "double", "decimal", "text", "date", "uuid",
    "data", "url",
  ]

  private static let uuid = "00000000-0000-0000-0000-00000000000A"

  /// Values with equal results: Swift values, and the instances of Foundation's classes with the
  /// same content. `held` has the results of setting each attribute in `keys`. A dot marks a
  /// rejected value.
  private static var rows: [(values: [Any], held: String)] {
    [
      ([5, NSNumber(value: 5), NSDecimalNumber(value: 5)], "5 5 5 5 5 . 5.0 5.0 5 . . . . ."),
      ([Int8(1), NSNumber(value: Int8(1))], "1 1 1 1 1 true 1.0 1.0 1 . . . . ."),
      ([UInt16(70), NSNumber(value: UInt16(70))], "70 70 70 70 70 . 70.0 70.0 70 . . . . ."),
      (
        [-70000, NSNumber(value: -70000), NSDecimalNumber(value: -70000)],
        ". -70000 -70000 -70000 -70000 . -70000.0 -70000.0 -70000 . . . . ."
      ),
      (
        [Int64.max, NSNumber(value: Int64.max)],
        ". . 9223372036854775807 9223372036854775807 9223372036854775807 . . . 9223372036854775807 . . . . ."
      ),
      ([UInt64.max, NSNumber(value: UInt64.max)], ". . . . . . . . 18446744073709551615 . . . . ."),
      ([true, NSNumber(value: true)], "1 1 1 1 1 true 1.0 1.0 1 . . . . ."),
      ([0.0, NSNumber(value: 0.0)], "0 0 0 0 0 false 0.0 0.0 0 . . . . ."),
      (
        [9.99, NSNumber(value: 9.99), NSDecimalNumber(string: "9.99")], ". . . . . . 9.99 9.99 9.99 . . . . ."
      ),
      ([1e300, NSNumber(value: 1e300)], ". . . . . . . 1e+300 . . . . . ."),
      ([Double.nan, NSNumber(value: Double.nan)], ". . . . . . nan nan . . . . . ."),
      ([Float(0.5), NSNumber(value: Float(0.5))], ". . . . . . 0.5 0.5 0.5 . . . . ."),
      (
        [Decimal(string: "1.25")!, NSDecimalNumber(string: "1.25"), NSNumber(value: 1.25)],
        ". . . . . . 1.25 1.25 1.25 . . . . ."
      ),
      ([Decimal(7), NSDecimalNumber(string: "7")], "7 7 7 7 7 . 7.0 7.0 7 . . . . ."),
      (
        [Decimal(string: "12345678901234567890.5")!, NSDecimalNumber(string: "12345678901234567890.5")],
        ". . . . . . . . 12345678901234567890.5 . . . . ."
      ),
      (["5", NSString(string: "5"), NSMutableString(string: "5")], ". . . . . . . . . 5 . . . 5"),
      (["a b".prefix(1), NSString(string: "a")], ". . . . . . . . . a . . . a"),
      (["http://[", NSString(string: "http://[")], ". . . . . . . . . http://[ . . . ."),
      (
        [Date(timeIntervalSinceReferenceDate: 1), NSDate(timeIntervalSinceReferenceDate: 1)],
        ". . . . . . . . . . 1.0 . . ."
      ),
      ([UUID(uuidString: uuid)!, NSUUID(uuidString: uuid)!], ". . . . . . . . . . . \(uuid) . ."),
      (
        [Data([1, 2]), NSData(data: Data([1, 2])), NSMutableData(data: Data([1, 2]))],
        ". . . . . . . . . . . . 2 ."
      ),
      ([URL(string: "http://x")!, NSURL(string: "http://x")!], ". . . . . . . . . . . . . http://x"),
      ([Grade.high], "2 2 2 2 2 . 2.0 2.0 2 . . . . ."),
      (
        [
          NSNull(), Optional<Int>.none as Any, Optional<NSNumber>.none as Any, Optional<NSString>.none as Any,
        ],
        "- - - - - - - - - - - - - -"
      ),
      ([Optional<Int>.some(3) as Any, Optional<NSNumber>.some(3) as Any], "3 3 3 3 3 . 3.0 3.0 3 . . . . ."),
      (
        [Optional<String>.some("u") as Any, Optional<NSString>.some("u") as Any],
        ". . . . . . . . . u . . . u"
      ),
      ([[1, 2], NSArray(array: [1, 2])], ". . . . . . . . . . . . . ."),
      ([["a": 1], NSDictionary(dictionary: ["a": 1])], ". . . . . . . . . . . . . ."),
      ([NSObject(), NSAttributedString(string: "x")], ". . . . . . . . . . . . . ."),
    ]
  }

  private static var table: [(value: Any, held: String)] {
    rows.flatMap { row in row.values.map { ($0, row.held) } }
  }

  private func shown(_ value: Any?) -> String {
    switch value {
    case nil: "-"
    case let date as Date: "\(date.timeIntervalSinceReferenceDate)"
    case let data as Data: "\(data.count)"
    case .some(let value): "\(value)"
    }
  }

  /// A sheet whose numbers have a value that is not in the table.
  private func sheet(_ context: ManagedObjectContext) -> PaperForm {
    let sheet = PaperForm(context: context)
    (sheet.int16, sheet.int32, sheet.int64, sheet.int, sheet.shadow) = (9, 9, 9, 9, 9)
    (sheet.float, sheet.double, sheet.decimal) = (9, 9, 9)
    return sheet
  }

  @Test(
    "Both setters accept values that fit; for others, setCheckedValue throws, or the save after setValue"
  )
  func everyPair() throws {
    let context = try Sandbox(PaperForm.self, Binder.self).container.newContext()
    for (value, held) in Self.table {
      for (key, expected) in zip(Self.keys, held.split(separator: " ").map(String.init)) {
        let place: Comment = "\(type(of: value)) \(value) for \(key)"
        let (checked, plain) = (sheet(context), sheet(context))
        let before = shown(checked[key])
        do throws(PerdureError) {
          try checked.setCheckedValue(value, forKey: key)
          #expect(shown(checked[key]) == expected, place)
        } catch {
          #expect(expected == "." && error.code == .validation, place)
          #expect(error.details.map(\.property) == [key] && shown(checked[key]) == before, place)
        }
        plain.setValue(value, forKey: key)
        #expect(shown(plain[key]) == shown(checked[key]), place)
        #expect(refusals(context) == (expected == "." ? ["1550 \(key)"] : []), place)
      }
    }
  }

  @Test("An instance of a Foundation class is rejected for the same reason as the Swift value")
  func reasons() throws {
    let context = try Sandbox(PaperForm.self, Binder.self).container.newContext()
    for (values, held) in Self.rows where held.contains(where: { $0 != "." && $0 != " " }) {
      for (key, expected) in zip(Self.keys, held.split(separator: " ")) where expected == "." {
        let reasons = try values.map { value in
          let sheet = sheet(context)
          let error = #expect(throws: PerdureError.self) { try sheet.setCheckedValue(value, forKey: key) }
          let detail = try #require(error?.details.first)
          let words = detail.rule.split(separator: ":", maxSplits: 1).last ?? ""
          return "\(words), \(detail.value == .null)"
        }
        #expect(Set(reasons).count == 1, "\(values) for \(key): \(reasons)")
      }
    }
    context.rollback()
  }

  @Test("Setting a key path to values that do not fit changes nothing, and the save reports these values")
  func unfitAlongPaths() throws {
    let context = try Sandbox(PaperForm.self, Binder.self).container.newContext()
    let (sheet, binder) = (sheet(context), Binder(context: context))
    (sheet.binder, binder.weight) = (binder, 4)
    for (value, held) in Self.table {
      for (key, expected) in zip(Self.keys, held.split(separator: " ")) where expected == "." {
        let before = shown(sheet[key])
        binder.setValue(value, forKeyPath: "sheets.\(key)")
        #expect(shown(sheet[key]) == before, "\(value) for \(key)")
        #expect(refusals(context) == ["1550 \(key)"], "\(value) for \(key)")
      }
    }
    for value in [5.5, "x", NSNull(), [1], UInt64.max] as [Any] {
      sheet.setValue(value, forKeyPath: "binder.weight")
      #expect(binder.weight == 4 || value is NSNull)
      #expect(!refusals(context).isEmpty, "\(value)")
      binder.weight = 4
    }
    try context.save()
  }

  @Test(
    "Setting a primitive value that does not fit its attribute changes nothing, and the save reports the value"
  )
  func unfitPrimitives() throws {
    let context = try Sandbox(PaperForm.self, Binder.self).container.newContext()
    let sheet = sheet(context)
    for (value, held) in Self.table {
      for (key, expected) in zip(Self.keys, held.split(separator: " ").map(String.init)) {
        let place: Comment = "\(type(of: value)) \(value) for \(key)"
        let before = shown(sheet[key])
        sheet.setPrimitiveValue(value, forKey: key)
        #expect(shown(sheet[key]) == (expected == "." ? before : expected), place)
        #expect(refusals(context) == (expected == "." ? ["1550 \(key)"] : []), place)
      }
    }
  }

  @Test("A number in an NSNumber gives the same result as the Swift number")
  func sameAsSwift() throws {
    let context = try Sandbox(PaperForm.self, Binder.self).container.newContext()
    var random = SeededGenerator.forTest("values by name")
    func check<T>(_ number: T, _ boxed: NSNumber) {
      for key in Self.keys.prefix(9) {
        let (plain, other) = (sheet(context), sheet(context))
        let outcomes = [(plain, number as Any), (other, boxed as Any)].map { sheet, value in
          (try? sheet.setCheckedValue(value, forKey: key)) != nil
        }
        #expect(
          outcomes[0] == outcomes[1] && shown(plain[key]) == shown(other[key]),
          "seed \(random.origin), \(number) of \(T.self) for \(key)")
      }
    }
    for _ in 0..<40 {
      let integer =
        Int64.random(in: .min ... .max, using: &random) >> Int64.random(in: 0..<64, using: &random)
      check(integer, NSNumber(value: integer))
      let unsigned =
        UInt64.random(in: 0 ... .max, using: &random) >> UInt64.random(in: 0..<64, using: &random)
      check(unsigned, NSNumber(value: unsigned))
      let double = Double.random(in: -1e6...1e6, using: &random)
      check(double, NSNumber(value: double))
      check(double.rounded(), NSNumber(value: double.rounded()))
    }
    context.rollback()
  }

  @Test("setCheckedValues sets all members of a JSON object or none")
  func json() throws {
    let context = try Sandbox(PaperForm.self, Binder.self).container.newContext()
    func members(_ json: String) throws -> [String: Any?] {
      try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
    }
    let sheet = PaperForm(context: context)
    let good = #"{"text": "Ada", "int16": 5, "decimal": 9.99, "flag": true, "double": 3, "date": null}"#
    try sheet.setCheckedValues(members(good))
    #expect(sheet.text == "Ada" && sheet.int16 == 5 && sheet.decimal == Decimal(string: "9.99"))
    #expect(sheet.flag == true && sheet.double == 3 && sheet.date == nil)
    let unfit = try members(#"{"text": "Bob", "int32": 5.5}"#)
    let error = #expect(throws: PerdureError.self) { try sheet.setCheckedValues(unfit) }
    #expect(error?.code == .validation && error?.details.map(\.property) == ["int32"] && sheet.text == "Ada")
    let unknown = try members(#"{"text": "Bob", "colour": "red"}"#)
    let other = #expect(throws: PerdureError.self) { try sheet.setCheckedValues(unknown) }
    #expect(other?.code == .unknownKey && other?.message.contains("colour") == true && sheet.text == "Ada")
    try context.save()
  }

  @Test("A relationship accepts any sequence of objects, including views and Foundation's collections")
  func relationships() throws {
    let container = try Sandbox(PaperForm.self, Binder.self).container
    let context = container.newContext()
    let sheets = (0..<3).map { _ in PaperForm(context: context) }
    let (full, copy) = (Binder(context: context), Binder(context: context))
    full.ordered.append(contentsOf: [sheets[2], sheets[0], sheets[1]])
    full.sheets.insert(contentsOf: sheets)
    copy.setValue(full.sheets, forKey: "sheets")
    #expect(copy.sheets.count == 3 && full.sheets.isEmpty)
    copy.setValue(full.ordered, forKey: "ordered")
    #expect(Array(copy.ordered) == [sheets[2], sheets[0], sheets[1]] && full.ordered.isEmpty)
    copy.setValue(copy.ordered, forKey: "ordered")
    #expect(copy.ordered.count == 3)
    full.setValue(copy.mutableSetValue(forKey: "sheets"), forKey: "sheets")
    #expect(full.sheets.count == 3)
    full.setValue(NSSet(array: [sheets[0]]), forKey: "sheets")
    #expect(Array(full.sheets) == [sheets[0]])
    full.setValue(NSOrderedSet(array: [sheets[1], sheets[0]]), forKey: "ordered")
    #expect(Array(full.ordered) == [sheets[1], sheets[0]])
    full.setValue(NSNull(), forKey: "ordered")
    #expect(full.ordered.isEmpty)
    sheets[0].setValue(NSNull(), forKey: "binder")
    #expect(sheets[0].binder == nil && full.sheets.isEmpty)
    try context.save()
    for (object, key, value) in [
      (full, "sheets", full as Any), (full, "sheets", [full]), (full, "ordered", "text"),
      (full, "ordered", 5),
      (sheets[0], "binder", "text"), (sheets[0], "binder", sheets[1]), (sheets[0], "binder", [full]),
    ] as [(ManagedObject, String, Any)] {
      let error = #expect(throws: PerdureError.self) { try object.setCheckedValue(value, forKey: key) }
      #expect(error?.code == .validation && error?.details.map(\.property) == [key])
      object.setValue(value, forKey: key)
      #expect(refusals(context) == ["1550 \(key)"])
    }
    let stranger = Binder(context: container.newContext())
    let error = #expect(throws: PerdureError.self) {
      try sheets[0].setCheckedValue(stranger, forKey: "binder")
    }
    #expect(error?.code == .unknownKey && !context.hasChanges)
  }

  @Test("The throwing functions throw for unknown names and values that do not fit")
  func mistakes() throws {
    let context = try Sandbox(PaperForm.self, Binder.self).container.newContext()
    let (sheet, binder) = (PaperForm(context: context), Binder(context: context))
    sheet.binder = binder
    func code(_ body: () throws -> Void) -> PerdureError.Code? {
      do {
        try body()
        return nil
      } catch {
        return (error as? PerdureError)?.code
      }
    }
    #expect(code { _ = try sheet.checkedValue(forKey: "txet") } == .unknownKey)
    #expect(code { try sheet.setCheckedValue(1, forKey: "txet") } == .unknownKey)
    #expect(code { try binder.setCheckedValue(1, forKey: "count") } == .unknownKey)
    for path in [
      "binder.titel", "text.x", "binder.sheets.@most.int", "binder.sheets.@sum.text", "text.@count",
    ] {
      sheet.text = "x"
      #expect(code { _ = try sheet.checkedValue(forKeyPath: path) } == .unknownKey, "\(path)")
    }
    #expect(code { try sheet.setCheckedValue("x", forKeyPath: "binder.titel") } == .unknownKey)
    #expect(code { try sheet.setCheckedValue("x", forKeyPath: "binder.@count") } == .unknownKey)
    #expect(code { try sheet.setCheckedValue("x", forKeyPath: "binder.weight") } == .validation)
    try sheet.setCheckedValue("T", forKeyPath: "binder.title")
    #expect(try sheet.checkedValue(forKeyPath: "binder.title") as? String == "T")
    #expect(try sheet.checkedValue(forKey: "binder") as? Binder === binder)
  }

  @Test("Key paths that are too long are rejected, and a path may lead to one object many times")
  func limitedPaths() throws {
    let context = try Sandbox(PaperForm.self, Binder.self).container.newContext()
    let binder = Binder(context: context)
    for _ in 0..<40 { PaperForm(context: context).binder = binder }
    let code = { (body: () throws -> Void) -> PerdureError.Code? in
      #expect(throws: PerdureError.self) { try body() }?.code
    }
    let deep = [String](repeating: "self", count: 100_000).joined(separator: ".")
    #expect(code { _ = try binder.checkedValue(forKeyPath: deep + ".title") } == .unknownKey)
    #expect(code { try binder.setCheckedValue("x", forKeyPath: deep + ".title") } == .unknownKey)
    try binder.setCheckedValue("T", forKeyPath: "sheets.binder.sheets.binder.title")
    #expect(binder.title == "T")
    #expect(try (binder.checkedValue(forKeyPath: "sheets.binder.title") as? [Any])?.count == 40)
  }

  @Test("Key paths and operators follow ordered relationships in order")
  func orderedPaths() throws {
    let context = try Sandbox(PaperForm.self, Binder.self).container.newContext()
    let binder = Binder(context: context)
    for number in [3, 1, 2] {
      let sheet = PaperForm(context: context)
      (sheet.int, sheet.text, sheet.shelf, sheet.binder) = (number, "t\(number)", binder, binder)
    }
    func check() {
      for relationship in ["ordered", "sheets"] {
        func value(_ path: String) -> Any? { binder.value(forKeyPath: "\(relationship).\(path)") }
        #expect(value("@count") as? Int == 3 && value("@sum.int") as? Int == 6)
        #expect(value("@max.int") as? Int == 3 && value("int.@min") as? Int == 1)
        #expect(value("@avg.int") as? Double == 2)
        #expect((value("@distinctUnionOfObjects.text") as? [String])?.sorted() == ["t1", "t2", "t3"])
      }
      #expect(binder.value(forKeyPath: "ordered.text") as? [String] == ["t3", "t1", "t2"])
      #expect(binder.value(forKeyPath: "ordered.@unionOfObjects.int") as? [Int] == [3, 1, 2])
      #expect(binder.value(forKeyPath: "ordered.binder.ordered.@count") as? Int == 9)
    }
    check()
    try context.save()
    check()
    binder.setValue("same", forKeyPath: "ordered.text")
    #expect(binder.ordered.allSatisfy { $0.text == "same" })
  }

  @Test("64-bit attributes, counts and sums read by name are Int values")
  func integers() throws {
    let context = try Sandbox(PaperForm.self, Binder.self).container.newContext()
    let (sheet, binder) = (PaperForm(context: context), Binder(context: context))
    (sheet.int, sheet.int64, sheet.int32, sheet.int16, sheet.shadow, sheet.binder) = (1, 2, 3, 4, 5, binder)
    func check(_ values: [String: Any?]) {
      #expect(values["int"] as? Int == 1 && values["int64"] as? Int == 2)
      #expect(values["int32"] as? Int32 == 3 && values["int16"] as? Int16 == 4)
    }
    check(sheet.changedValues())
    check(Dictionary(uniqueKeysWithValues: Self.keys.map { ($0, sheet.value(forKey: $0)) }))
    #expect(sheet.value(forKey: "shadow") as? Int == 5 && binder.value(forKey: "count") as? Int == 1)
    try context.save()
    check(sheet.committedValues(forKeys: nil))
    #expect(binder.committedValues(forKeys: ["count"])["count"] as? Int == 1)
    #expect(binder.value(forKeyPath: "sheets.@count") as? Int == 1)
    #expect(binder.value(forKeyPath: "sheets.@sum.int64") as? Int == 2)
  }
}
