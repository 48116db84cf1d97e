/// A model file as a tree: the content of `contents` in an `.xcdatamodel` folder.
///
/// The document contains the whole file, even elements and attributes that Perdure does not know.
/// An unchanged document is written byte for byte. For a changed attribute, only the bytes of its
/// value change. New elements are written as Xcode writes them.
///
///     var document = try ModelDocument(bytes, file: "Model.xcdatamodel/contents")
///     let model = try document.managedObjectModel()
///     try document.update(to: changedModel)
///     let changed = try document.bytes()
public struct ModelDocument: Sendable, Hashable {
  /// The element that contains all others: `model`.
  public var root: ModelElement
  /// The path of the file, for messages.
  public var file: String
  /// Everything before the root element.
  let prolog: String
  /// Everything after the root element.
  let epilog: String

  /// Parses a file. The meaning of the elements is not checked.
  ///
  /// - Parameter file: The path of the file, for messages.
  /// - Throws: `ModelFileError` with the line, if the bytes are not well-formed XML in UTF-8, or if
  ///   they declare a document type. The same error is thrown if a processing instruction has no
  ///   content, or if elements are nested more than 64 levels deep.
  /// - Complexity: O(n) for n bytes.
  public init(_ bytes: [UInt8], file: String) throws(ModelFileError) {
    (prolog, root, epilog) = try XMLSpellings.parse(bytes, file: file)
    self.file = file
  }

  /// Makes a document of an element.
  ///
  /// - Parameter file: The path of the file, for messages.
  public init(root: ModelElement, file: String) {
    self.root = root
    self.file = file
    prolog = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n"
    epilog = ""
  }

  /// The bytes of the file.
  ///
  /// - Throws: `ModelFileError` for a value with a control character, which XML cannot contain.
  /// - Complexity: O(n) for n bytes.
  public func bytes() throws(ModelFileError) -> [UInt8] {
    var writer = XMLWriter(file: file)
    try writer.write(root, depth: 0)
    return Array((prolog + writer.text + epilog).utf8)
  }
}
