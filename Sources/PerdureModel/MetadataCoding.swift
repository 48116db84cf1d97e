/// The encoding of a program's metadata about a store: a list of keys and values, like the user
/// info of a stored model.
package enum MetadataCoding {
  /// Encodes metadata for `decode`.
  package static func encode(_ metadata: [String: String]) -> [UInt8] {
    var writer = ByteWriter()
    writer.table(metadata)
    return writer.bytes
  }

  /// Decodes the result of `encode`.
  ///
  /// - Throws: `ModelError` `unreadableModel` with the offset, for any other bytes.
  package static func decode(_ bytes: [UInt8]) throws(ModelError) -> [String: String] {
    var reader = ByteReader(bytes)
    let metadata = try reader.texts()
    guard reader.remainingCount == 0 else { throw reader.fail("bytes follow the end") }
    return metadata
  }
}
