// A set of constant texts. It looks up the text of a row without making a string.

internal import PerdurePredicates

/// Texts in folded form, in the order of their bytes.
struct TextSet {
  private let options: StringOptions
  private let lowers: Bool
  private let members: [[UInt8]]

  /// Nil unless all values are text or null.
  init?(_ values: [Value], _ options: StringOptions) {
    var members: Set<[UInt8]> = []
    for value in values {
      switch value {
      case .string(let text): members.insert(StringFolding.fold(text, options))
      case .null: continue
      default: return nil
      }
    }
    self.options = options
    lowers = options.contains(.caseInsensitive) && !options.contains(.normalized)
    self.members = members.sorted { $0.lexicographicallyPrecedes($1) }
  }

  /// Whether the set contains a text, which is given in UTF-8.
  ///
  /// - Complexity: O(log n) comparisons; allocates only for text that is not ASCII.
  func contains(_ text: UnsafeRawBufferPointer, isASCII: Bool) -> Bool {
    if isASCII { return find(text, lowers: lowers) }
    return StringFolding.fold(text, options).withUnsafeBytes { find($0, lowers: false) }
  }

  private func find(_ text: UnsafeRawBufferPointer, lowers: Bool) -> Bool {
    var low = 0
    var high = members.count
    while low < high {
      let middle = (low + high) / 2
      switch Self.order(members[middle], text, lowers) {
      case .same: return true
      case .ascending: low = middle + 1
      case .descending: high = middle
      }
    }
    return false
  }

  private static func order(
    _ member: [UInt8], _ text: UnsafeRawBufferPointer, _ lowers: Bool
  ) -> ValueOrder {
    for place in 0..<min(member.count, text.count) {
      let byte = lowers ? StringFolding.lowercased(text[place]) : text[place]
      if member[place] != byte { return member[place] < byte ? .ascending : .descending }
    }
    return member.count == text.count ? .same : member.count < text.count ? .ascending : .descending
  }
}
