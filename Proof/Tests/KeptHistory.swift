/// A history that once had a violation, or that tests a limit. The text has the form of
/// `History.description`. Failing histories are printed in this form.
struct KeptHistory: Sendable, CustomStringConvertible {
  let description: String
  let text: String

  private init(_ description: String, _ text: String) {
    self.description = description
    self.text = text
  }

  static let all = [
    KeptHistory(
      "keys from a bound after the last key",
      """
      universe -932493399836489653 150 40 2
      options 16384 1024 2 200 1024 0 1048576 0 0 0 0 0 0
      commit 1 1 39 0 0 2759 0 0 0 0 -1 0
      read -1 5 1 40 40 1 2 0
      read -1 7 1 40 40 1
      read -1 5 1 40 3 0 2 1
      """),
    KeptHistory(
      "a transaction counts an empty range",
      """
      universe -4603483646716410395 12 4 20
      options 8192 2048 0 48 4096 0 16384 0 0 0 0 0 0
      commit 1 1 3 0 0 63 0 0 0 0 -1 0
      transaction 2 0 7 1 4 4 1 1 0 1 20 1 4 0 0 0 0 1
      transaction 2 0 7 1 4 0 0 1 0 1 20 1 5 0 0 0 1 1 3 -1 1
      """),
    KeptHistory(
      "a commit that only puts and removes the same row uses a sequence number",
      """
      universe 1 4 4 2
      options 4096 1024 0 48 1024 0 0 0 0 0 0 0 0
      commit 2 0 1 20 1 5 0 0 0 0 1 -1 0 -1 0
      commit 1 0 1 -1 0 -1 0
      commit 1 0 2 20 1 5 0 0 0 0 -1 0
      read -1 0 0 1
      read -1 8 0
      look
      reopen 0 4096 1024 0 48 1024 0 0 0 0 0 0 0 0
      verify
      """),
    KeptHistory(
      "rows swap a unique number, and a third is refused",
      """
      universe 1 4 4 2
      options 4096 1024 0 48 1024 0 0 2 0 3 0 0 0
      commit 2 0 0 20 0 1 0 0 0 0 1 20 0 2 0 0 0 0 -1 0
      commit 2 0 0 20 0 2 0 0 0 0 1 20 0 1 0 0 0 0 -1 0
      commit 1 0 2 20 0 1 0 0 0 0 -1 0
      commit 3 0 2 20 0 1 0 0 0 0 1 -1 0 3 20 0 3 0 0 0 0 -1 0
      read -1 9 2 0 65536 0 100 0
      read -1 9 1 0 5 0 100 1
      verify
      """),
    KeptHistory(
      "a snapshot keeps its content over compaction, checkpoints and an opening",
      """
      universe 1 4 4 2
      options 4096 1024 0 48 1024 512 0 0 0 0 0 0 0
      commit 3 0 0 600 1 1 2 1 0 0 1 3000 1 2 2 2 2 1 0 200 0 0 1 3 0 0 -1 0
      hold 0
      commit 3 0 0 -1 0 1 -1 1 0 -1 0 -1 0
      compact
      checkpoint
      read 0 4 0 0 4 0 1000 0
      reopen 1 4096 1024 2 48 1024 512 0 2 1 0 1 0 500
      commit 1 0 0 5000 1 1 1 7 0 0 -1 0
      compact
      checkpoint
      read 0 4 0 0 4 0 1000 1
      read 0 3 0 1 128 70000
      read 0 4 1 0 4 0 10 0
      verify
      """),
    KeptHistory(
      "conditions on a state that an earlier opening saw",
      """
      universe 1 4 4 2
      options 4096 1024 0 48 1024 0 0 2 0 0 0 0 0
      commit 2 0 0 20 1 1 0 0 0 0 1 20 1 2 0 0 0 0 -1 0
      hold 0
      reopen 0 4096 1024 0 48 1024 0 0 2 0 0 0 0 0
      commit 1 0 1 20 1 3 0 0 0 0 -1 0
      compact
      commit 1 0 2 30 2 9 0 0 0 2 0 0 0 0 2 0 0 1 0 0 -1 0
      commit 1 0 3 30 1 8 0 0 0 2 0 0 1 0 3 0 1 2 0 0 -1 0
      read -1 8 0
      verify
      """),
    KeptHistory(
      "a reader of another opening continues after compaction and the removal of a blob file",
      """
      universe 1 4 4 2
      options 4096 1024 0 48 1024 0 0 1 0 3 0 0 0
      commit 1 0 0 9000 1 1 2 3 2 0 -1 0
      follow
      commit 1 0 0 -1 0 -1 0
      compact
      checkpoint
      read -2 0 0 0
      follow
      read -2 0 0 0
      unfollow
      """),
  ]
}
