import ChildProcesses
import Testing

@Suite("The example of notes")
struct NotesTests {
  @Test("The program whose classes the plugin makes of a model file prints the documented output")
  func output() throws {
    let run = try ChildRun(built: "Notes", [])
    #expect(run.status == 0 && run.errors == "")
    #expect(
      run.output == """
        Travel has 2 notes
        * Café by the river at 48.2, 16.4
        - Night train
        1 note is about a café
        1 note is pinned

        """)
  }
}
