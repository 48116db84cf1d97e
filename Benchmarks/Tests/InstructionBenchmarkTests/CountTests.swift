import Testing

@testable import InstructionBenchmark

@Suite("Counts of callgrind")
struct CountTests {
  private let file = """
    version: 1
    creator: callgrind-3.19.0
    desc: Trigger: --dump-after=perdure_end_of_part
    events: Ir
    fn=(1) perdure_counted
    16 4711
    totals: 120034

    """

  @Test("The count of a part is the total of its file, not the count of one function")
  func totals() throws {
    #expect(try CallgrindProfile(file, named: "profile.1").instructions == 120_034)
  }

  @Test("The instructions are read from their column, even if the file has other columns")
  func columns() throws {
    let text = "events: Dr Ir Dw\ntotals: 1 22 333\n"
    #expect(try CallgrindProfile(text, named: "profile.1").instructions == 22)
  }

  @Test(
    "A file without a total of instructions is an error that names the file",
    arguments: ["", "events: Ir\n", "events: Dr\ntotals: 5\n", "events: Dr Ir\ntotals: 5\n", "totals: 5\n"])
  func truncated(text: String) {
    let error = #expect(throws: CountingError.self) { try CallgrindProfile(text, named: "profile.7") }
    #expect(error?.description.contains("profile.7") == true)
  }

  @Test("The warm-up is ignored, and costs that do not depend on the number cancel out")
  func differences() throws {
    // 1,000 instructions for each operation, and 300 for each part.
    let counts = try PartCounts([999_999, 10_300, 20_300], of: "fetch")
    #expect(counts.perOperation(10) == 1_000)
  }

  @Test("The count of an operation is rounded to a tenth of an instruction")
  func rounding() throws {
    #expect(try PartCounts([1, 100, 307], of: "get").perOperation(16) == 12.9)
  }

  @Test(
    "Missing parts and parts without instructions are errors",
    arguments: [[], [5, 5], [5, 5, 5, 5], [5, 5, 0], [0, 5, 5]])
  func missing(parts: [Int]) {
    let error = #expect(throws: CountingError.self) { try PartCounts(parts, of: "fetch") }
    #expect(error?.description.contains("fetch") == true)
  }
}
