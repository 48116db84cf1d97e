import PerdureFileIO
import Testing

extension File {
  func write(utf8 text: String, at offset: UInt64) throws(FileIOError) {
    try write(Array(text.utf8), at: offset)
  }
}

extension FileMapping {
  func bytes(_ count: Int) -> [UInt8] { Array(UnsafeRawBufferPointer(start: base, count: count)) }
}

func expectError(
  _ code: FileIOError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) {
  #expect(sourceLocation: sourceLocation) {
    try body()
  } throws: { error in
    let found = (error as? FileIOError)?.code
    if found != code { Issue.record("\(error)", sourceLocation: sourceLocation) }
    return found == code
  }
}
