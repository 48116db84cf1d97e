import Foundation

/// Records like those of programs: small, all different, and all of one kind. Their words come from
/// a list of 4,000 words, some of which are frequent (Zipf).
struct SmallRecords {
  enum Kind: String, CaseIterable, Codable {
    case json = "JSON"
    case binary = "binary rows"
  }

  let kind: Kind
  private static let words = makeWords(4000)
  private static let frequency = Zipfian(count: 4000)

  private static func makeWords(_ count: Int) -> [String] {
    var generator = Scramble(seed: 11)
    return (0..<count).map { _ in
      let letters = (0..<Int.random(in: 3...10, using: &generator)).map { _ in
        UInt8.random(in: 97...122, using: &generator)
      }
      return String(decoding: letters, as: UTF8.self)
    }
  }

  /// The record with this number.
  func record(_ number: Int) -> [UInt8] {
    var generator = Scramble(seed: Scramble.mix(UInt64(number)))
    return kind == .json ? json(number, &generator) : binary(number, &generator)
  }

  private func text(_ count: Int, _ generator: inout Scramble) -> String {
    (0..<count).map { _ in Self.words[Self.frequency.rank(&generator)] }.joined(separator: " ")
  }

  private func json(_ number: Int, _ generator: inout Scramble) -> [UInt8] {
    let name = text(2, &generator)
    let day = Int.random(in: 10...28, using: &generator)
    let second = Int.random(in: 10...59, using: &generator)
    let fields = [
      "\"id\":\(number)", "\"name\":\"\(name)\"",
      "\"email\":\"\(text(1, &generator)).\(text(1, &generator))@example.com\"",
      "\"created\":\"2024-05-\(day)T08:\(second):\(second)Z\"",
      "\"score\":\(Int.random(in: 0..<100_000, using: &generator))",
      "\"active\":\(Bool.random(using: &generator))",
      "\"tags\":[\"\(text(1, &generator))\",\"\(text(1, &generator))\"]",
      "\"note\":\"\(text(12, &generator))\"",
    ]
    return Array("{\(fields.joined(separator: ","))}".utf8)
  }

  /// A layout number, bits, numbers, the ends of texts, and the texts, similar to the rows of an
  /// object graph.
  private func binary(_ number: Int, _ generator: inout Scramble) -> [UInt8] {
    var bytes: [UInt8] = [2, 1, 0, 0, 0x3F, 7]
    func put<T: FixedWidthInteger>(_ value: T) {
      withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }
    put(UInt64(number))
    put((7.2e8 + Double.random(in: 0..<1e8, using: &generator)).bitPattern)
    put(UInt32.random(in: 0..<5000, using: &generator))
    put(generator.next())
    put(UInt64(1) << 48 | UInt64.random(in: 0..<10_000, using: &generator))
    let texts = [text(2, &generator), text(3, &generator), text(18, &generator)]
    var end: UInt32 = 0
    for text in texts {
      end += UInt32(text.utf8.count)
      put(end)
    }
    for text in texts { bytes.append(contentsOf: text.utf8) }
    return bytes
  }
}
