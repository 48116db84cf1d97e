import ChildProcesses
import Testing

@Suite("The example of companies with workers")
struct CompaniesTests {
  @Test(
    "The programs with macros and with a model in code print the documented output",
    arguments: ["CompaniesWithMacros", "CompaniesInCode"])
  func output(program: String) throws {
    let run = try ChildRun(built: program, [])
    #expect(run.status == 0 && run.errors == "")
    #expect(
      run.output == """
        Acme has 3 workers
        Ada <ada@example.org> 3000
        Grace <grace@example.org> 2000
        refused: salary must not be negative
        3 workers after the rollback
        0 workers are left
        Acme had Ada, Grace, Li

        """)
  }
}
