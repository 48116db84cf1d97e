package import PerdureLog

/// Makes the entries of `SliceExtractor`, except for about one id in five. An engine with this
/// extractor behaves like an engine whose indexes lose entries. The engine's own checks do not
/// detect the loss.
package struct ForgetfulExtractor: IndexExtractorFactory {
  package static let name = "forgetful"

  package init() {}

  package func makeExtractor(
    parameters: [UInt8], in store: borrowing StoredValues
  ) throws -> any IndexExtractor {
    Extractor(whole: try SliceExtractor().makeExtractor(parameters: parameters, in: store))
  }

  private struct Extractor: IndexExtractor {
    let whole: any IndexExtractor

    func extract(
      keyspace: UInt32, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer,
      into entries: inout IndexEntries
    ) {
      if key[0] % 5 != 0 { whole.extract(keyspace: keyspace, key: key, value: value, into: &entries) }
    }
  }
}
