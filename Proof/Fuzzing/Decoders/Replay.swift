import PerdureFileIO
import PerdureProving

/// Passes files with inputs to decoders one by one.
package enum Replay {
  /// Passes all files of a folder to the decoder with the folder's name.
  package static func run(_ folder: String) throws {
    let name = folder.split(separator: "/").last.map(String.init) ?? ""
    guard let decoder = Decoders.all.first(where: { $0.name == name }) else {
      let known = Decoders.all.map(\.name).joined(separator: ", ")
      throw Violation("No decoder has the folder's name \"\(name)\". Name the folder after one of: \(known).")
    }
    for (name, bytes) in try HostileCorpus.inputs(in: folder) {
      // Printed before the call, so that the name is known after a trap.
      print("\(decoder.name): \(name), \(bytes.count) bytes")
      try decoder.run(bytes)
    }
  }

  /// Writes the samples of each decoder into its own folder. Existing files stay as they are.
  package static func writeSamples(to folder: String) throws {
    let fileSystem = POSIXFileSystem()
    if try fileSystem.kind(of: folder) == nil { try fileSystem.createDirectory(folder) }
    for decoder in Decoders.all {
      let target = "\(folder)/\(decoder.name)"
      if try fileSystem.kind(of: target) == nil { try fileSystem.createDirectory(target) }
      for (index, bytes) in try decoder.samples().enumerated() {
        let path = "\(target)/sample-\(index)"
        guard try fileSystem.kind(of: path) == nil else { continue }
        try fileSystem.open(path, .create).write(bytes, at: 0)
      }
    }
  }
}
