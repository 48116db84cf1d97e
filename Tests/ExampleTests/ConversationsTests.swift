import ChildProcesses
import Testing

@Suite("The example of users with messages and conversations")
struct ConversationsTests {
  @Test("The program prints the documented output")
  func output() throws {
    let run = try ChildRun(built: "Conversations", [])
    #expect(run.status == 0 && run.errors == "")
    #expect(
      run.output == """
        Moon, 2 messages: ada: Are we there? | grace: Not yet.
        ada: Bugs, Moon, Lunch
        grace: Moon, Lunch, Bugs
        Moon, 4 messages: li: Welcome! | ada: Are we there? | grace: Not yet. | li: Soon.
        Moon, 3 messages: ada: Are we there? | li: Soon. | li: Welcome!
        Joan has written 0
        Li has written 2
        0 messages and 4 users are left
        ada: Bugs, Lunch

        """)
  }
}
