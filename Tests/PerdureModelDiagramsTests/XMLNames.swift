import Foundation

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// Parses XML and collects the texts of its titles.
final class XMLNames: NSObject, XMLParserDelegate {
  private(set) var isWellFormed = false
  private(set) var titles: [String] = []
  private var isInTitle = false

  init(_ text: String) {
    super.init()
    let parser = XMLParser(data: Data(text.utf8))
    parser.delegate = self
    isWellFormed = parser.parse()
  }

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String]
  ) {
    isInTitle = name == "title"
    if isInTitle { titles.append("") }
  }

  func parser(
    _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
  ) { isInTitle = false }

  func parser(_ parser: XMLParser, foundCharacters text: String) {
    if isInTitle { titles[titles.count - 1] += text }
  }
}
