/// The maintainer of a package.
public struct Maintainer: Hashable, Sendable {
  /// The name, without quotes.
  public var name: String
  /// The mail address; empty if none is given.
  public var address: String

  /// Makes a maintainer.
  public init(name: String, address: String) {
    self.name = name
    self.address = address
  }
}

/// Reads `Name <address>`.
public enum MaintainerParser {
  /// Parses the maintainer in `field`. Returns nil if it is blank.
  ///
  /// Text without brackets is the name. If it is one word with an @, it is also the address. If
  /// there is no name before the brackets, the address is also the name.
  public static func parse(_ field: ArraySlice<UInt8>) -> Maintainer? {
    let value = field.trimmingSpace()
    guard !value.isEmpty else { return nil }
    guard let open = value.lastIndex(of: UInt8(ascii: "<")) else { return withoutBrackets(value) }
    let inside = value[(open + 1)...]
    let address = inside[..<(inside.firstIndex(of: UInt8(ascii: ">")) ?? inside.endIndex)].trimmingSpace()
      .text
    let name = unquoted(value[..<open].trimmingSpace()).text
    return Maintainer(name: name.isEmpty ? address : name, address: address)
  }

  private static func withoutBrackets(_ value: ArraySlice<UInt8>) -> Maintainer {
    let isAddress = value.contains(UInt8(ascii: "@")) && !value.contains { $0.isSpace }
    return Maintainer(name: unquoted(value).text, address: isAddress ? value.text : "")
  }

  private static func unquoted(_ name: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let quote = UInt8(ascii: "\"")
    guard name.count >= 2, name.first == quote, name.last == quote else { return name }
    return name.dropFirst().dropLast().trimmingSpace()
  }
}
