import Foundation
import PerdureModel
import PerdureModelFiles
import Testing

@Suite("The article about models in files")
struct FileArticleTests {
  @Test("The fetched property of the article is read as the article describes")
  func fetchedProperty() throws {
    var root = URL(fileURLWithPath: #filePath)
    for _ in 0..<3 { root.deleteLastPathComponent() }
    let article = try String(
      contentsOf: root.appendingPathComponent("Sources/Perdure/Perdure.docc/ModelFiles.md"), encoding: .utf8)
    let blocks = article.components(separatedBy: "```xml\n").dropFirst()
      .map { $0.components(separatedBy: "```")[0] }
    #expect(blocks.count == 1)
    let text = """
      <model><entity name="Author">\(blocks[0])
      <relationship name="messages" toMany="YES" destinationEntity="Message" inverseName="author" optional="YES"/>
      </entity><entity name="Message"><attribute name="sent" attributeType="Date" optional="YES"/>
      <attribute name="text" attributeType="String" optional="YES"/>
      <relationship name="author" maxCount="1" destinationEntity="Author" inverseName="messages" optional="YES"/>
      </entity></model>
      """
    let model = try ModelDocument(Array(text.utf8), file: "contents").managedObjectModel()
    let fetched = try #require(model.entitiesByName["Author"]?.fetchedProperties.first)
    #expect(
      fetched
        == FetchedPropertyDescription(
          "unread", "Message", "author == $FETCH_SOURCE",
          sortDescriptors: [FetchOrder("sent", ascending: false), FetchOrder("text")], isCached: false))
  }
}
