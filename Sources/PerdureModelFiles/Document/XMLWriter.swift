/// Writes elements as text: as they were read, or as Xcode writes them.
struct XMLWriter {
  let file: String
  private(set) var text = ""

  init(file: String) { self.file = file }

  /// The space before an element that Xcode writes.
  static func indentation(_ depth: Int) -> String {
    depth == 0 ? "" : "\n" + String(repeating: " ", count: 4 * depth)
  }

  /// An attribute as Xcode writes it.
  static func spelling(_ name: String, _ value: String) -> String {
    " \(name)=\"\(XMLText.escaped(value))\""
  }

  mutating func write(_ element: ModelElement, depth: Int) throws(ModelFileError) {
    text += element.layout.before ?? Self.indentation(depth)
    text += "<\(element.name)"
    for attribute in element.attributes {
      if let character = XMLText.forbidden(in: attribute.value) {
        throw ModelFileError(
          .inexpressible, file: file, place: element["name"],
          "The value of \(attribute.name) contains U+\(String(character.value, radix: 16, uppercase: true)).",
          "Remove the character: XML cannot contain it.")
      }
      text += attribute.spelling ?? Self.spelling(attribute.name, attribute.value)
    }
    text += element.layout.tagEnd ?? ""
    if element.content.isEmpty, element.layout.closing == nil {
      text += "/>"
      return
    }
    text += ">"
    for node in element.content {
      switch node {
      case .element(let child): try write(child, depth: depth + 1)
      case .other(let other): text += other
      }
    }
    let closing = depth == 0 ? "\n" : Self.indentation(depth)
    text += "\(element.layout.closing ?? closing)</\(element.name)\(element.layout.endTag ?? "")>"
  }
}
