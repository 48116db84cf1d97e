import PerdureFileIO

/// The inputs of decoders in the repository. Some of them reached new code, and the others once
/// caused an error.
package enum HostileCorpus {
  /// The directory of the inputs, with a folder for each decoder.
  package static let folder =
    #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
    + "/Fuzzing/Corpus"

  /// The inputs of a decoder with their file names; empty if it has no folder.
  package static func inputs(of decoder: HostileDecoder) throws -> [(
    name: String, bytes: [UInt8]
  )] {
    try inputs(in: folder + "/" + decoder.name)
  }

  /// All files of a folder.
  package static func inputs(in folder: String) throws -> [(name: String, bytes: [UInt8])] {
    let fileSystem = POSIXFileSystem()
    guard try fileSystem.kind(of: folder) == .directory else { return [] }
    var inputs: [(name: String, bytes: [UInt8])] = []
    for name in try fileSystem.contents(of: folder) where !name.hasPrefix(".") {
      let file = try fileSystem.open(folder + "/" + name, .read)
      inputs.append((name, try file.read(Int(file.size()), at: 0)))
    }
    return inputs
  }
}
