// The tool of the plugin PerdureModelPlugin:
//
//     perdure-model-tool MODEL FILE
//
// It generates the classes of a model into a file. The options are in the file `*.perdure.json`
// beside the model. The tool does not use swift-argument-parser, because every package that uses
// the plugin builds the tool. Findings have the format of compiler diagnostics, so build systems
// show them at the lines of the model.

import PerdureFileIO
import PerdureModelGenerating

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

@main
enum ModelTool {
  static func main() {
    let arguments = CommandLine.arguments.dropFirst()
    guard arguments.count == 2, let model = arguments.first, let file = arguments.last else {
      report("usage: perdure-model-tool MODEL FILE")
      exit(64)
    }
    do {
      let generator = try ModelCodeGenerator(contentsOf: model)
      for finding in generator.warnings where finding.severity == .warning { report("\(finding)") }
      try generator.write(to: file)
    } catch {
      report(ModelCodeGenerator.words(for: error, ofModel: model))
      exit(1)
    }
  }

  private static func report(_ text: String) { StandardStreams.say(text + "\n", on: .error) }
}
