/// Bytes in hexadecimal.
package enum Hexadecimal {
  private static let alphabet = Array("0123456789abcdef".utf8)

  /// The bytes as text: two digits for each byte.
  package static func digits(_ bytes: some Sequence<UInt8>) -> String {
    var digits: [UInt8] = []
    digits.reserveCapacity(2 * bytes.underestimatedCount)
    for byte in bytes {
      digits.append(alphabet[Int(byte >> 4)])
      digits.append(alphabet[Int(byte & 15)])
    }
    return String(decoding: digits, as: UTF8.self)
  }

  /// The bytes that the digits represent; nil unless the text is an even number of digits.
  package static func bytes(_ digits: some StringProtocol) -> [UInt8]? {
    let values = digits.compactMap(\.hexDigitValue)
    guard values.count % 2 == 0, values.count == digits.utf8.count else { return nil }
    return stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
  }
}
