import Foundation
import PerdurePredicates
import PerdureTestSupport
import Testing

@Suite("Order of numbers of all types") struct NumberOrderTests {
  @Test(
    "Numbers of all types compare by decimal value; doubles of a magnitude below 2^53 by shortest decimal")
  func places() throws {
    var random = SeededGenerator.forTest("places of numbers")
    for _ in 0..<60 {
      let values = Self.near(Self.value(&random), &random) + (0..<6).map { _ in Self.value(&random) }
      let places = try values.map { try #require(DecimalPlace($0), "\($0)") }
      for (left, leftPlace) in zip(values, places) {
        for (right, rightPlace) in zip(values, places) {
          let expected = leftPlace.order(rightPlace)
          #expect(Value.sortOrder(left, right) == expected, "\(left) and \(right)")
          #expect(left.equals(right) == (expected == .same), "\(left) and \(right)")
          #expect(left.order(right) == expected, "\(left) and \(right)")
        }
      }
    }
  }

  @Test(
    "A non-negative double's position is before that of the next double, and not before that of its floor")
  func ascending() {
    var random = SeededGenerator.forTest("neighbouring reals")
    for _ in 0..<2_000 {
      let double = abs(Self.double(&random))
      // Greater doubles are integers. Computing their exact digits takes too long.
      if double > 1e60 { continue }
      let (here, next) = (DecimalPlace(double), DecimalPlace(double.nextUp))
      #expect(here.order(next) == .ascending, "\(double)")
      if let whole = Int64(exactly: double.rounded(.down)) {
        let floor = DecimalPlace("\(whole)")
        #expect(floor.order(here) == (double == double.rounded(.down) ? .same : .ascending), "\(double)")
      }
    }
  }

  @Test("In arithmetic with a decimal, a double of a magnitude below 2^53 counts as its shortest decimal")
  func arithmetic() throws {
    for (format, expected) in [
      ("DECIMAL('9.99') + 0.01 == 10", true), ("DECIMAL('9.99') * 1.1 == DECIMAL('10.989')", true),
      ("DECIMAL('0.1') + 0.2 == 0.3", true), ("0.1 + 0.2 == 0.3", false),
      ("0.1 + DECIMAL('0.2') == 0.3", true),
      ("DECIMAL('1') + 1e300 == 1e300", true), ("DECIMAL('1e20') + 1e-30 > DECIMAL('1e20')", false),
      ("9223372036854775807 + DECIMAL('0.5') == DECIMAL('9223372036854775807.5')", true),
      ("sum:(DECIMAL('0.1'), DECIMAL('0.2'), 1) == 1.3", true), ("DECIMAL('1') / 0.25 == 4", true),
      ("DECIMAL('1') / 0.0 == NULL", true),
      ("1152921504606846976.0 + DECIMAL('0') == 1152921504606846976", true),
    ] {
      #expect(try FetchPredicate(format: format).evaluate(with: .null) == expected, "\(format)")
    }
  }

  @Test("A sum of doubles does not depend on their order")
  func sums() throws {
    var random = SeededGenerator.forTest("sums of reals")
    let numbers = (0..<200).map { _ in Double.random(in: -1e6...1e6, using: &random) }
    let expression = try FetchExpression(format: "sum:(%@)", numbers)
    let sum = try expression.value(with: Nobody())
    for _ in 0..<20 {
      let other = try FetchExpression(format: "sum:(%@)", numbers.shuffled(using: &random))
      #expect(try other.value(with: Nobody()) == sum)
    }
  }

  @Test("A Float argument becomes its shortest decimal, alone, in lists and in variables")
  func floats() throws {
    let float: Float = 9.99
    #expect(try FetchPredicate(format: "a == %@", float).description == "a == 9.99")
    #expect(try FetchPredicate(format: "a IN %@", [float, 1]).description == "a IN {9.99, 1.0}")
    #expect(try FetchPredicate(format: "a BETWEEN %@", float...float).description == "a BETWEEN {9.99, 9.99}")
    let open = try FetchPredicate(format: "a == $x")
    #expect(open.withSubstitutionVariables(["x": float]).description == "a == 9.99")
    #expect(try FetchPredicate(format: "$x == 9.99").evaluate(with: .null, variables: ["x": float]))
    for bits in stride(from: UInt32(0), to: 0x7F80_0000, by: 7_654_321) {
      let float = Float(bitPattern: bits)
      guard case .comparison(let comparison) = try FetchPredicate(format: "a == %@", float),
        case .constant(.double(let double)) = comparison.right
      else {
        Issue.record("No constant.")
        continue
      }
      #expect(Float(double) == float)
    }
  }
}

// MARK: - Random numbers

extension NumberOrderTests {
  static func value(_ random: inout SeededGenerator) -> Value {
    switch Int.random(in: 0..<5, using: &random) {
    case 0: .integer(integer(&random))
    case 1: .double(double(&random))
    case 2: .double(Double(Float(double(&random).remainder(dividingBy: 1e9))))
    case 3: .decimal(decimal(&random))
    default: .bool(Bool.random(using: &random))
    }
  }

  /// The same number in other types, its neighbours, and its negative as a decimal.
  private static func near(_ value: Value, _ random: inout SeededGenerator) -> [Value] {
    let double: Double
    switch value {
    case .integer(let integer): double = Double(integer)
    case .decimal(let decimal): double = Double(decimal.description) ?? 0
    case .double(let number): double = number
    default: double = 1
    }
    var values = [value, .double(double), .double(double.nextUp), .double(double.nextDown)]
    values.append(.double(Double(Float(max(-1e30, min(1e30, double))))))
    if let integer = Int64(exactly: double.rounded()) {
      values += [.integer(integer), .integer(integer &+ 1), .integer(integer &- 1)]
    }
    if abs(double) < 1e30, let decimal = Decimal(string: double.description) {
      values += [.decimal(decimal), .decimal(-decimal)]
      if abs(double) > 1e-20 { values.append(.decimal(decimal + Decimal(string: "1e-25")!)) }
    }
    return values
  }

  private static func integer(_ random: inout SeededGenerator) -> Int64 {
    Int64(truncatingIfNeeded: random.next()) >> Int64.random(in: 0...63, using: &random)
  }

  static func double(_ random: inout SeededGenerator) -> Double {
    switch Int.random(in: 0..<5, using: &random) {
    case 0: return Double(integer(&random))
    case 1: return Double(integer(&random)) / 100
    case 2: return 0x1p53 + Double(Int.random(in: -3...3, using: &random)) / 2
    case 3:
      let bits = Double(bitPattern: random.next())
      return bits.isFinite ? bits : 0
    default: return Double.random(in: -10...10, using: &random)
    }
  }

  private static func decimal(_ random: inout SeededGenerator) -> Decimal {
    let digits = Decimal(integer(&random))
    let exponent = Int.random(in: 0..<4, using: &random) == 0 ? -100...100 : -5...2
    let power = Int.random(in: exponent, using: &random)
    return Decimal(string: "\(digits)e\(power)") ?? 0
  }
}

private struct Nobody: PropertySource {
  var reference: ObjectReference? { nil }
  func value(of property: String) -> PropertyResult { .unknown }
}

/// The position of a number in the order of all numbers, as a sign and decimal digits. A double of
/// a magnitude below 2^53 has the position of its shortest decimal.
struct DecimalPlace {
  private var isNegative: Bool
  /// The digits before the point, without leading zeros.
  private var whole: [UInt8]
  /// The digits after the point, without trailing zeros.
  private var fraction: [UInt8]

  init?(_ value: Value) {
    switch value {
    case .bool(let bool): self.init(bool ? "1" : "0")
    case .integer(let integer): self.init("\(integer)")
    case .decimal(let decimal): self.init(decimal.description)
    case .double(let double): self.init(double)
    default: return nil
    }
  }

  init(_ double: Double) {
    guard double.magnitude >= 0x1p53 else {
      self.init(double.description)
      return
    }
    // The double is an integer. Starts with its significand as a 53-bit integer, and doubles it
    // `exponent - 52` times.
    self.init(String(Int64(double.magnitude.significand * 0x1p52)))
    for _ in 0..<(Int(double.exponent) - 52) { double2() }
    isNegative = double < 0
  }

  /// Parses text such as -12.5 or 1.5e-07.
  init(_ text: String) {
    let parts = text.lowercased().split(separator: "e")
    let digits = parts[0].split(separator: ".", omittingEmptySubsequences: false)
    let power = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
    var before = digits[0].utf8.filter { (0x30...0x39).contains($0) }.map { $0 - 0x30 }
    var behind = digits.count > 1 ? digits[1].utf8.map { $0 - 0x30 } : []
    for _ in 0..<max(power, 0) { before.append(behind.isEmpty ? 0 : behind.removeFirst()) }
    for _ in 0..<max(-power, 0) { behind.insert(before.popLast() ?? 0, at: 0) }
    whole = Array(before.drop { $0 == 0 })
    while behind.last == 0 { behind.removeLast() }
    fraction = behind
    isNegative = text.hasPrefix("-") && !(whole.isEmpty && fraction.isEmpty)
  }

  private mutating func double2() {
    var carry: UInt8 = 0
    for position in whole.indices.reversed() {
      let doubled = whole[position] * 2 + carry
      whole[position] = doubled % 10
      carry = doubled / 10
    }
    if carry > 0 { whole.insert(carry, at: 0) }
  }

  func order(_ other: DecimalPlace) -> ValueOrder {
    if isNegative != other.isNegative { return isNegative ? .ascending : .descending }
    let order = magnitudeOrder(other)
    return isNegative ? order.reversed : order
  }

  private func magnitudeOrder(_ other: DecimalPlace) -> ValueOrder {
    if whole.count != other.whole.count { return whole.count < other.whole.count ? .ascending : .descending }
    let (left, right) = (whole + fraction, other.whole + other.fraction)
    if left == right { return .same }
    return left.lexicographicallyPrecedes(right) ? .ascending : .descending
  }
}
