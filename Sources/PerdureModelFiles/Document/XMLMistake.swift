/// The message for a mistake in the text of a file. The parser reports only an error code of
/// libxml2.
struct XMLMistake {
  let message: String
  let remedy: String

  init(code: Int) {
    (message, remedy) =
      Self.words[code] ?? ("The XML is not well-formed (libxml2 error \(code)).", "Correct the line.")
  }

  /// The code of a file that ends inside of an element, and of text after the root element.
  static let earlyEnd = 5

  private typealias Words = (message: String, remedy: String)

  private static let words: [Int: Words] = [
    1: ("The line is not text of an element, a tag or a comment.", "Write &lt; for \"<\"."),
    2: ("The parser has too little memory for the file.", "Make the file smaller."),
    4: ("The file begins with text, or is empty.", "Restore the file, or give a model file."),
    earlyEnd: ("There is text after the end of the root element.", "Remove it."),
    6: number, 7: number, 8: number,
    9: ("The line contains a character that XML does not allow.", "Remove it."),
    22: ("The name of an entity is missing.", "Write &amp; for an ampersand."),
    23: ("The semicolon after an entity's name is missing.", "Write &amp; for an ampersand."),
    26: ("The line refers to an unknown entity.", "Write &amp; for an ampersand."),
    27: ("The line refers to an unknown entity.", "Write &amp; for an ampersand."),
    31: encoding, 32: encoding, 33: declaration, 34: declaration,
    38: ("The value of an attribute contains \"<\".", "Write &lt; or close the quotes."),
    39: ("The value of an attribute has no quotes.", "Write name=\"…\"."),
    40: ("The quotes of an attribute are not closed.", "Close them."),
    41: ("An attribute has no value.", "Write name=\"…\"."),
    42: ("The element has an attribute twice.", "Remove one of them."),
    43: documentType, 44: documentType,
    45: ("A comment is not closed.", "Write --> at its end."),
    46: ("The name of a processing instruction is missing.", "Write &lt; for \"<\", or remove it."),
    47: ("A processing instruction is not closed.", "Write ?> at its end."),
    57: ("The XML declaration is not closed.", "Write ?> at its end."),
    61: documentType,
    62: ("The text contains \"]]>\".", "Write ]]&gt; instead."),
    63: ("A CDATA section is not closed.", "Write ]]> at its end."),
    64: ("There is text before the XML declaration, or a name begins with xml.", "Remove it."),
    65: ("A space is missing.", "Insert it."),
    68: ("A name is missing.", "Write the name of an element, attribute or entity."),
    70: documentType, 71: documentType,
    72: ("A tag is missing.", "Write \"<\" at its start."),
    73: ("A tag is not closed.", "Write the missing \">\"."),
    75: ("A part of the XML declaration has no \"=\".", declaration.remedy),
    76: ("The end tag does not match the start tag.", "Give both the same name."),
    77: ("An element is not closed.", "Write its end tag."),
    78: declaration, 79: encoding,
    80: ("A comment contains \"--\".", "Replace it."),
    81: encoding,
    96: ("The XML declaration has no version.", declaration.remedy),
    97: version,
    99: namespace, 100: namespace, 101: encoding,
    102: ("The value of xml:space is neither default nor preserve.", "Remove the attribute."),
    108: version,
    110: ("A name is too long for the parser.", "Use a name of at most 50000 bytes."),
    200: namespace,
    201: ("The prefix of a name is not declared.", "Remove the prefix, or declare it by xmlns."),
    202: colon,
    203: ("The element has an attribute twice, with two prefixes.", "Remove one of them."),
    204: namespace, 205: colon,
  ]

  private static let number: Words = (
    "The number of a character reference is not the number of a character.", "Write &#10; or &amp;#."
  )
  private static let declaration: Words = (
    "The XML declaration is not valid.", "Write <?xml version=\"1.0\" encoding=\"UTF-8\"?>."
  )
  private static let version: Words = (
    "The XML declaration has another version than 1.0.", declaration.remedy
  )
  private static let encoding: Words = (
    "The encoding of the file is not known, or the text does not have this encoding.",
    "Save the file in UTF-8."
  )
  private static let documentType: Words = ("The document type is not complete.", "Remove it.")
  private static let namespace: Words = (
    "The value of an xmlns attribute is not a namespace.", "Write an absolute URI, or remove the attribute."
  )
  private static let colon: Words = ("A name has a colon where none is allowed.", "Remove the colon.")
}
