import PerdureFuzzing
import PerdureProving
import PerdureTestSupport

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

// `make fuzz TARGET=record` builds this program with -sanitize=fuzzer and -DFUZZING. libFuzzer then
// searches for inputs that reach new code in one decoder. In other builds this program passes files
// to decoders, or mutates the known inputs.

/// The decoder to test. PERDURE_FUZZ_TARGET contains its name.
private func chosenDecoder() -> HostileDecoder {
  let name = getenv("PERDURE_FUZZ_TARGET").map { String(cString: $0) } ?? ""
  guard let decoder = Decoders.all.first(where: { $0.name == name }) else {
    print("Set PERDURE_FUZZ_TARGET to one of: \(Decoders.all.map(\.name).joined(separator: ", "))")
    exit(2)
  }
  return decoder
}

#if FUZZING
  private let decoder = chosenDecoder()

  /// The function that libFuzzer calls with each input.
  @_cdecl("LLVMFuzzerTestOneInput")
  public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do { try decoder.run(UnsafeRawBufferPointer(start: start, count: count)) } catch {
      fatalError("\(error)")
    }
    return 0
  }

  @_silgen_name("LLVMFuzzerRunDriver")
  private func runDriver(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ body: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
  ) -> CInt

  /// The package manager requires this name for the entry point of the program.
  @_cdecl("perdure_fuzz_main")
  public func fuzzMain(
    _ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
  ) -> CInt {
    // Writes the samples into a folder for each decoder.
    if let folder = getenv("PERDURE_FUZZ_SAMPLES") {
      do { try Replay.writeSamples(to: String(cString: folder)) } catch { fatalError("\(error)") }
      return 0
    }
    var (count, arguments) = (count, arguments)
    return runDriver(&count, &arguments, testOneInput)
  }
#else
  /// `perdure-fuzz samples FOLDER` writes the first inputs of a corpus. `perdure-fuzz FOLDER…`
  /// passes all files of each folder to the decoder with the folder's name. Without arguments, the
  /// program passes the whole corpus and mutations of it to all decoders.
  @main
  struct PerdureFuzz {
    static func main() async throws {
      let arguments = CommandLine.arguments.dropFirst()
      if arguments.first == "samples", let folder = arguments.dropFirst().first {
        try Replay.writeSamples(to: folder)
      } else if arguments.isEmpty {
        let seed = SeededGenerator.seedFromEnvironment()
        print("PERDURE_SEED=\(seed)")
        let result = try await HostileCampaign(Decoders.all).run(
          ProofPlan(seed: seed, scale: 0.1), ProofProgress { print($0) })
        for line in result.report { print(line) }
        for violation in result.violations { print(violation) }
        if !result.violations.isEmpty { exit(1) }
      } else {
        for folder in arguments { try Replay.run(folder) }
      }
    }
  }
#endif
